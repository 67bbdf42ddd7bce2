//! Relays whole lines between a client's standard streams and the pipes to the background process.
//!
//! One thread with `poll` is faster than two blocking ones, and pipes are faster than the socket itself
//! (`docs/decisions/0047-one-background-process.md`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use crate::lines::LineBuffer;
use crate::open_requests::OpenRequests;
use crate::wire::{ControlMessage, read_message};

/// How much a pipe accepts at least without blocking when it is ready for writing.
const READY_BYTES: usize = 4096;
/// How long the rest of a control message may take after its start.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(1);
/// A longer queue for the other side is freed when it is empty.
const KEPT_BYTES: usize = 1024 * 1024;

/// A connection to the background process.
#[derive(Debug)]
pub struct Link {
    /// Control messages arrive here. Its end is the end of the process.
    control: UnixStream,
    /// `None` after the last message.
    to_process: Option<OwnedFd>,
    from_process: OwnedFd,
}

/// Why a relay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEnd {
    /// The client closed its input, or no longer reads.
    Client,
    /// The process ended unexpectedly.
    Process,
    /// The process has a successor, which continues the session.
    Moved,
}

/// The client's side of a relay. It survives the process.
#[derive(Debug)]
pub struct Relay<'a> {
    input: BorrowedFd<'a>,
    output: BorrowedFd<'a>,
    /// The requests of the client.
    pub open: OpenRequests,
    from_client: LineBuffer,
    for_client: Queue,
}

/// Bytes that could not be written yet.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    written: usize,
}

impl Queue {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn is_empty(&self) -> bool {
        self.bytes.len() == self.written
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.written += count;
        if self.is_empty() {
            self.written = 0;
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes = Vec::new();
            }
        }
    }
}

impl Link {
    /// Creates the pipes of a connection. Returns the ends for the process: where it reads, and where it writes.
    ///
    /// # Errors
    /// Fails if no pipe can be created.
    pub fn new(control: UnixStream) -> io::Result<(Self, [OwnedFd; 2])> {
        // Only the bridge's ends are non-blocking here; the process sets its own.
        let (read_by_process, to_process) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (from_process, written_by_process) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        for end in [&to_process, &from_process] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        control.set_read_timeout(Some(CONTROL_TIMEOUT))?;
        let link = Self {
            control,
            to_process: Some(to_process),
            from_process,
        };
        Ok((link, [read_by_process, written_by_process]))
    }
}

impl<'a> Relay<'a> {
    /// Creates the client's side.
    pub fn new(input: BorrowedFd<'a>, output: BorrowedFd<'a>) -> Self {
        Self {
            input,
            output,
            open: OpenRequests::default(),
            from_client: LineBuffer::default(),
            for_client: Queue::default(),
        }
    }

    /// Relays until one side ends. All that the process wrote has reached the client then, unless the client no longer
    /// reads.
    ///
    /// # Errors
    /// Fails if polling fails.
    pub fn run(&mut self, mut link: Link) -> io::Result<RelayEnd> {
        let mut for_process = Queue::default();
        for_process.push(&self.open.listening_lines());
        // Messages that a former process did not get.
        self.pass_to_process(&mut for_process, &link, false);
        let mut from_process = LineBuffer::default();
        let (mut has_input, mut has_control) = (true, true);
        let (mut must_move, mut is_moving) = (false, false);
        loop {
            is_moving |= must_move && !self.open.is_any_open();
            if for_process.is_empty() && (!has_input || is_moving) {
                // The process answers what it has read, and then closes its pipe.
                link.to_process = None;
            }
            let ready = self.wait(&link, &for_process, has_input && !is_moving, has_control)?;
            if ready.control {
                match read_message(&mut link.control) {
                    Ok(ControlMessage::Session { token }) => self.open.set_token(token),
                    Ok(ControlMessage::Move) => must_move = true,
                    Ok(ControlMessage::Unknown) => {}
                    Err(_) => has_control = false,
                }
            }
            if ready.process {
                match from_process.fill(|space| rustix::io::read(&link.from_process, space)) {
                    Ok(0) => break,
                    Ok(_) => {
                        self.pass_to_client(&mut from_process);
                    }
                    Err(error) if is_transient(&error) => {}
                    Err(_) => break,
                }
            }
            if ready.input {
                let input = self.input;
                match self
                    .from_client
                    .fill(|space| rustix::io::read(input, space))
                {
                    Ok(1..) => {}
                    Err(error) if is_transient(&error) => {}
                    _ => has_input = false,
                }
                self.pass_to_process(&mut for_process, &link, !has_input);
            } else if ready.to_process {
                write_ready(&mut for_process, &link);
            }
            if !self.write_to_client(ready.output) {
                return Ok(RelayEnd::Client);
            }
        }
        self.flush_to_client()?;
        Ok(match (has_input, is_moving) {
            (false, _) => RelayEnd::Client,
            (true, true) => RelayEnd::Moved,
            (true, false) => RelayEnd::Process,
        })
    }

    /// Whether the client has sent whole messages that no process got.
    pub fn has_unsent(&self) -> bool {
        !self.from_client.whole_lines().is_empty()
    }

    /// Takes what was read from the client and not sent, including the start of a message.
    pub fn take_unsent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.from_client).into_bytes()
    }

    /// Writes lines of our own to the client, for example errors for requests that get no response.
    ///
    /// # Errors
    /// Fails if the client no longer reads.
    pub fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        self.for_client.push(lines);
        self.flush_to_client()
    }

    /// Waits until something can be read or written. What is queued for one side stops reading from the other. A side
    /// that is not wanted is not polled: if it has ended, it would wake the loop forever.
    fn wait(
        &self,
        link: &Link,
        for_process: &Queue,
        reads_input: bool,
        has_control: bool,
    ) -> io::Result<Ready> {
        let (has_room, is_read) = (for_process.is_empty(), self.for_client.is_empty());
        let write_end = link.to_process.as_ref().map(AsFd::as_fd);
        let sides = [
            (reads_input && has_room, Some(self.input), PollFlags::IN),
            (is_read, Some(link.from_process.as_fd()), PollFlags::IN),
            (!is_read, Some(self.output), PollFlags::OUT),
            (!has_room, write_end, PollFlags::OUT),
            (has_control, Some(link.control.as_fd()), PollFlags::IN),
        ];
        let wanted = sides.map(|(is_wanted, end, flags)| {
            let end = end.filter(|_| is_wanted);
            end.map(|end| PollFd::from_borrowed_fd(end, flags))
        });
        let mut polled: Vec<PollFd<'_>> = wanted.iter().flatten().cloned().collect();
        while let Err(error) = poll(&mut polled, None) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        let mut results = polled.iter();
        let [input, process, output, to_process, control] = wanted.map(|wanted| {
            let result = wanted.and_then(|_| results.next());
            result.is_some_and(|result| !result.revents().is_empty())
        });
        Ok(Ready {
            input,
            process,
            output,
            to_process,
            control,
        })
    }

    /// Passes the client's whole lines to the process; at the end of the input also an unfinished one.
    fn pass_to_process(&mut self, queue: &mut Queue, link: &Link, is_end: bool) {
        if is_end {
            self.from_client.finish();
        }
        let lines = self.from_client.whole_lines();
        if lines.is_empty() {
            return;
        }
        queue.push(lines);
        write_ready(queue, link);
        // After the write, so that the process can start with the message.
        self.open.sent(lines);
        self.from_client.clear_whole_lines();
    }

    fn pass_to_client(&mut self, from_process: &mut LineBuffer) {
        let lines = from_process.whole_lines();
        if lines.is_empty() {
            return;
        }
        self.for_client.push(lines);
        self.write_to_client(true);
        self.open.received(lines);
        from_process.clear_whole_lines();
    }

    /// Writes as much as the client accepts without blocking. Its end of the stream must not become non-blocking,
    /// because the client may share it. Returns `false` if the client no longer reads.
    fn write_to_client(&mut self, is_worth_trying: bool) -> bool {
        while is_worth_trying && !self.for_client.is_empty() {
            if !is_writable(self.output) {
                break;
            }
            let rest = self.for_client.rest();
            let part = rest.get(..READY_BYTES).unwrap_or(rest);
            match rustix::io::write(self.output, part) {
                Ok(count) => self.for_client.advance(count),
                Err(Errno::INTR | Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        true
    }

    /// Writes everything to the client, waiting for it as long as it takes.
    fn flush_to_client(&mut self) -> io::Result<()> {
        while !self.for_client.is_empty() {
            let mut output = [PollFd::from_borrowed_fd(self.output, PollFlags::OUT)];
            match poll(&mut output, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.write_to_client(true) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(())
    }
}

/// What can be done without blocking.
struct Ready {
    input: bool,
    process: bool,
    output: bool,
    to_process: bool,
    control: bool,
}

/// Writes as much as the pipe to the process accepts. If the process no longer reads, the end of its other pipe follows.
fn write_ready(queue: &mut Queue, link: &Link) {
    let Some(pipe) = &link.to_process else {
        return queue.advance(queue.rest().len());
    };
    while !queue.is_empty() {
        match rustix::io::write(pipe, queue.rest()) {
            Ok(count) => queue.advance(count),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return,
            Err(_) => return queue.advance(queue.rest().len()),
        }
    }
}

fn is_writable(output: BorrowedFd<'_>) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut output = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
    matches!(poll(&mut output, Some(&now)), Ok(1..))
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::write_message;
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Write};

    /// A client, a relay in a thread, and the process's ends.
    struct Setup {
        to_relay: Option<File>,
        from_relay: BufReader<File>,
        input: BufReader<File>,
        output: Option<File>,
        control: UnixStream,
        relay: Option<std::thread::JoinHandle<(RelayEnd, Vec<u8>)>>,
    }

    fn setup() -> Setup {
        let (client_in, to_relay) = rustix::pipe::pipe().unwrap();
        let (from_relay, client_out) = rustix::pipe::pipe().unwrap();
        let (bridge, control) = UnixStream::pair().unwrap();
        let (link, [input, output]) = Link::new(bridge).unwrap();
        let relay = std::thread::spawn(move || {
            let mut relay = Relay::new(client_in.as_fd(), client_out.as_fd());
            let end = relay.run(link).unwrap();
            (end, relay.open.fail_open("ended"))
        });
        Setup {
            to_relay: Some(to_relay.into()),
            from_relay: BufReader::new(from_relay.into()),
            input: BufReader::new(input.into()),
            output: Some(output.into()),
            control,
            relay: Some(relay),
        }
    }

    impl Setup {
        fn end(&mut self) -> (RelayEnd, Vec<u8>) {
            self.relay.take().unwrap().join().unwrap()
        }

        fn send(&mut self, line: &str) {
            let file = self.to_relay.as_mut().unwrap();
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
        }

        fn respond(&mut self, line: &str) {
            let file = self.output.as_mut().unwrap();
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
        }

        fn arrived(&mut self) -> String {
            let mut line = String::new();
            self.input.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        }

        fn answered(&mut self) -> String {
            let mut line = String::new();
            self.from_relay.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        }
    }

    #[test]
    fn r_share_05_lines_pass_in_both_directions_until_the_client_ends() {
        let mut setup = setup();
        setup.send(r#"{"id":1,"method":"ping"}"#);
        assert_eq!(setup.arrived(), r#"{"id":1,"method":"ping"}"#);
        setup.respond(r#"{"id":1,"result":{}}"#);
        assert_eq!(setup.answered(), r#"{"id":1,"result":{}}"#);
        // A last line without an end is passed on too.
        let mut file = setup.to_relay.take().unwrap();
        file.write_all(b"{\"method\":\"bye\"}").unwrap();
        drop(file);
        let mut rest = String::new();
        setup.input.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "{\"method\":\"bye\"}");
        setup.respond("last");
        drop(setup.output.take());
        assert_eq!(setup.answered(), "last");
        assert_eq!(setup.end().0, RelayEnd::Client);
    }

    #[test]
    fn r_share_04_half_a_message_of_a_killed_process_never_reaches_the_client() {
        let mut setup = setup();
        setup.send(r#"{"id":1,"method":"tools/call"}"#);
        setup.send(r#"{"id":2,"method":"tools/call"}"#);
        setup.arrived();
        setup.arrived();
        let mut file = setup.output.take().unwrap();
        file.write_all(b"{\"id\":1,\"result\":{}}\n{\"id\":2,\"resu")
            .unwrap();
        drop(file);
        assert_eq!(setup.answered(), r#"{"id":1,"result":{}}"#);
        let (end, errors) = setup.end();
        assert_eq!(end, RelayEnd::Process);
        let errors = String::from_utf8(errors).unwrap();
        assert!(
            errors.starts_with(r#"{"jsonrpc":"2.0","id":2,"error""#),
            "{errors}"
        );
        assert_eq!(errors.lines().count(), 1);
        assert_eq!(setup.answered(), "", "nothing follows the whole message");
    }

    #[test]
    fn r_share_04_a_process_that_moves_away_answers_what_it_has_read() {
        let mut setup = setup();
        setup.send(r#"{"id":1,"method":"tools/call"}"#);
        setup.arrived();
        write_message(&mut setup.control, &ControlMessage::Move).unwrap();
        // A message that belongs to the open request still reaches the process.
        setup.send(r#"{"id":9,"result":{"action":"accept"}}"#);
        assert_eq!(setup.arrived(), r#"{"id":9,"result":{"action":"accept"}}"#);
        setup.respond(r#"{"id":1,"result":{}}"#);
        let mut rest = Vec::new();
        setup.input.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "the pipe is closed");
        setup.send(r#"{"id":2,"method":"for the successor"}"#);
        drop(setup.output.take());
        let (end, errors) = setup.end();
        assert_eq!((end, errors.len()), (RelayEnd::Moved, 0));
        assert_eq!(setup.answered(), r#"{"id":1,"result":{}}"#);
    }

    #[test]
    fn r_share_05_large_messages_and_a_client_that_reads_late_lose_nothing() {
        let mut setup = setup();
        let large = format!(r#"{{"id":1,"method":"{}"}}"#, "x".repeat(3_000_000));
        let (sent, expected) = (large.clone(), large.len());
        let mut to_relay = setup.to_relay.take().unwrap();
        let writer = std::thread::spawn(move || {
            to_relay.write_all(format!("{sent}\n").as_bytes()).unwrap();
            to_relay
        });
        assert_eq!(setup.arrived().len(), expected);
        let mut output = setup.output.take().unwrap();
        let responses = std::thread::spawn(move || {
            for number in 0..200 {
                let line = format!("{{\"n\":{number},\"text\":\"{}\"}}\n", "y".repeat(20_000));
                output.write_all(line.as_bytes()).unwrap();
            }
        });
        for number in 0..200 {
            let line = setup.answered();
            assert!(line.starts_with(&format!("{{\"n\":{number},")), "{number}");
            assert!(line.ends_with("yyy\"}"), "{number}");
            assert_eq!(line.matches('y').count(), 20_000);
        }
        responses.join().unwrap();
        drop(writer.join().unwrap());
        setup.end();
    }
}

//! Requests to the running process that have one reply.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::start::connect;
use crate::status::ProcessStatus;
use crate::wire::{Reply, Request, read_message, write_message};

/// How long the process may take to reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends a request other than [`Request::Serve`] to the running process of a state folder. Returns its reply, or `None`
/// if no process is running. Never starts a process.
///
/// # Errors
/// Fails with the reason, as text for a person, if a process exists but does not reply.
pub fn send_request(state: &Path, request: &Request) -> Result<Option<Reply>, String> {
    let Some(stream) = connect(state)? else {
        return Ok(None);
    };
    let reply = exchange(stream, request, REPLY_TIMEOUT);
    let reply = reply.map_err(|error| format!("the running process does not reply: {error}"))?;
    Ok(Some(reply))
}

/// Asks the running process for its clients and instances. Returns `None` if no process is running.
///
/// # Errors
/// Fails with the reason, as text for a person, if a process exists but does not reply.
pub fn process_status(state: &Path) -> Result<Option<ProcessStatus>, String> {
    match send_request(state, &Request::Status)? {
        None => Ok(None),
        Some(Reply::Status { status }) => Ok(Some(*status)),
        Some(_) => Err("the running process does not report its status".to_owned()),
    }
}

/// Sends a request on a connection to the process and waits for its reply.
///
/// # Errors
/// Fails if no reply arrives within `timeout`, for example because the process is frozen or just ended.
pub fn exchange(mut stream: UnixStream, request: &Request, timeout: Duration) -> io::Result<Reply> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    write_message(&mut stream, request)?;
    read_message(&mut stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::receive_request;

    #[test]
    fn r_share_01_a_process_that_does_not_reply_is_not_waited_for_forever() {
        let (client, mut process) = UnixStream::pair().unwrap();
        let replying = std::thread::spawn(move || {
            let (request, _) = receive_request(&mut process).unwrap();
            assert_eq!(request, Request::Stop);
            write_message(&mut process, &Reply::Stopping).unwrap();
        });
        let timeout = Duration::from_secs(20);
        let reply = exchange(client, &Request::Stop, timeout).unwrap();
        assert_eq!(reply, Reply::Stopping);
        replying.join().unwrap();
        let (client, frozen) = UnixStream::pair().unwrap();
        let error = exchange(client, &Request::Stop, Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(frozen);
        let (client, gone) = UnixStream::pair().unwrap();
        drop(gone);
        assert!(exchange(client, &Request::Stop, timeout).is_err());
    }
}

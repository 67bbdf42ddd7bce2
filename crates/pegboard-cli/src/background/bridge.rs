//! The bridge: relays a client's messages to the background process.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pegboard_background::{
    Hello, Link, PROTOCOLS, Relay, RelayEnd, Reply, Resume, StartOutcome, find_process,
    read_message, send_hello, start_once, write_message,
};
use pegboard_config::{Environment, Paths};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::start::start_process;
use super::views::wanted_variables;
use super::{build, reason_to_stay_alone};
use crate::args::Global;

/// How long the process may take to accept a client. A frozen one is not waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a process may ask for variables or send the bridge to its successor.
const REPLIES_MAX: usize = 8;
/// A process that ends this often within [`ENDS_WITHIN`] is not started again.
const ENDS_MAX: usize = 5;
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// How long a client that moves waits for the successor. After that, its next message starts one.
const SUCCESSOR_TIMEOUT: Duration = Duration::from_secs(3);
const SUCCESSOR_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// The error of requests that were open when the process ended.
const ENDED_MESSAGE: &str = "The Pegboard process ended before this request was answered. A call may have had its effect already: \
     check before you send it again.";

/// How a bridge ended.
pub(crate) enum Bridged {
    /// The client is gone.
    Done,
    /// The client must be served by this process.
    Alone(Rest),
}

/// What the bridge leaves to this process if it must serve the client itself.
#[derive(Default)]
pub(crate) struct Rest {
    /// Why there is no shared process, for the log.
    pub(crate) reason: String,
    /// The session that a process has begun.
    pub(crate) resume: Option<Resume>,
    /// Messages of the client that were read but not sent.
    pub(crate) unsent: Vec<u8>,
}

/// Serves the client on standard input and output through the background process.
pub(crate) fn bridge(global: &Global, profile: Option<&str>) -> Bridged {
    let environment = Environment::from_process();
    if let Some(reason) = reason_to_stay_alone(&environment) {
        return alone(reason.to_owned(), None);
    }
    let bridge = Bridge {
        state: Paths::from_env(&environment).state_dir,
        hello: hello(global, &environment, profile.unwrap_or_default()),
        environment,
    };
    let (input, output) = (io::stdin(), io::stdout());
    bridge.run(Relay::new(input.as_fd(), output.as_fd()))
}

/// Returns what the process must know about a client with these options.
pub(super) fn hello(global: &Global, environment: &Environment, profile: &str) -> Hello {
    let absolute = |path: &Option<PathBuf>| {
        let path = path.as_ref();
        path.map(|path| environment.working_dir.join(path))
    };
    Hello {
        protocols: PROTOCOLS.to_vec(),
        build: build(),
        folder: environment.working_dir.clone(),
        home: environment.home.clone(),
        config_dir: Paths::from_env(environment).config_dir,
        config: absolute(&global.config),
        project: absolute(&global.project),
        strict: global.strict,
        profile: profile.to_owned(),
        resume: None,
    }
}

/// Returns the names of variables that the process asked for.
pub(super) fn wanted<'a>(
    names: &'a [String],
    prefixes: &'a [String],
    suffixes: &'a [String],
) -> impl Fn(&str) -> bool + 'a {
    move |name| {
        names.iter().any(|wanted| wanted == name)
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
            || suffixes.iter().any(|suffix| name.ends_with(suffix))
    }
}

fn alone(reason: String, relay: Option<&mut Relay<'_>>) -> Bridged {
    Bridged::Alone(match relay {
        Some(relay) => Rest {
            reason,
            resume: relay.open.resume(),
            unsent: relay.take_unsent(),
        },
        None => Rest {
            reason,
            ..Rest::default()
        },
    })
}

struct Bridge {
    state: PathBuf,
    hello: Hello,
    environment: Environment,
}

impl Bridge {
    /// Relays to one process after the other until the client is gone.
    fn run(mut self, mut relay: Relay<'_>) -> Bridged {
        let mut ends: Vec<Instant> = Vec::new();
        loop {
            self.hello.resume = relay.open.resume();
            // The process identifies the bridge while it connects.
            let link = match crate::with_visible_memory(|| self.link()) {
                Ok(link) => link,
                Err(reason) => return alone(reason, Some(&mut relay)),
            };
            let is_moved = match relay.run(link) {
                Ok(RelayEnd::Client) => return Bridged::Done,
                Ok(RelayEnd::Moved) => true,
                Ok(RelayEnd::Process) => false,
                Err(error) => return alone(error.to_string(), Some(&mut relay)),
            };
            if !is_moved {
                ends.push(Instant::now());
            }
            let errors = relay.open.fail_open(ENDED_MESSAGE);
            if relay.write_lines(&errors).is_err() {
                return Bridged::Done;
            }
            ends.retain(|end| end.elapsed() < ENDS_WITHIN);
            if ends.len() >= ENDS_MAX {
                let reason = "the background process ends again and again".to_owned();
                return alone(reason, Some(&mut relay));
            }
            // The next process is started when the client needs it. A successor that exists already is used at once, so
            // that the client misses no notification.
            let is_needed = relay.has_unsent() || (is_moved && self.finds_successor());
            if !is_needed && !wait_for_input(None) {
                return Bridged::Done;
            }
        }
    }

    /// Waits for the successor of a process, but not if the client needs one meanwhile.
    fn finds_successor(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < SUCCESSOR_TIMEOUT {
            if find_process(&self.state).is_some() || wait_for_input(Some(&SUCCESSOR_INTERVAL)) {
                return true;
            }
        }
        false
    }

    /// Connects to the process, which is started if necessary, and is accepted by it.
    fn link(&self) -> Result<Link, String> {
        create_folder(&self.state)
            .map_err(|error| format!("cannot create `{}`: {error}", self.state.display()))?;
        let mut tries = 0;
        loop {
            let outcome = start_once(&self.state, || {
                start_process(&self.state, &self.environment)
            });
            let stream = match outcome {
                StartOutcome::Connected(stream) => stream,
                StartOutcome::Unavailable(reason) => return Err(reason),
            };
            match self.greet(stream)? {
                Some(link) => return Ok(link),
                None => tries += 1,
            }
            if tries >= REPLIES_MAX {
                return Err("no process accepts the client".to_owned());
            }
        }
    }

    /// Sends the hello and follows the replies. Returns `None` if another process should be asked.
    fn greet(&self, stream: UnixStream) -> Result<Option<Link>, String> {
        let failed = |error: io::Error| format!("the background process does not respond: {error}");
        let mut control = stream.try_clone().map_err(failed)?;
        for timeout in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            timeout(&control, Some(REPLY_TIMEOUT)).map_err(failed)?;
        }
        let (link, [input, output]) = Link::new(stream).map_err(failed)?;
        // The timeout of the socket is shared by both handles.
        control
            .set_read_timeout(Some(REPLY_TIMEOUT))
            .map_err(failed)?;
        let descriptors = [input.as_fd(), output.as_fd()];
        match send_hello(&mut control, self.hello.clone(), descriptors) {
            Err(error) if has_ended(&error) => return Ok(None),
            sent => sent.map_err(failed)?,
        }
        drop((input, output));
        for _ in 0..REPLIES_MAX {
            let reply = match read_message(&mut control) {
                // It ended meanwhile, for example because it was idle.
                Err(error) if has_ended(&error) => return Ok(None),
                reply => reply.map_err(failed)?,
            };
            match reply {
                Reply::Serving { notes, .. } => {
                    for note in notes {
                        let _ = rustix::io::write(io::stderr(), format!("{note}\n").as_bytes());
                    }
                    return Ok(Some(link));
                }
                Reply::Variables {
                    names,
                    prefixes,
                    suffixes,
                } => {
                    let wanted = wanted(&names, &prefixes, &suffixes);
                    let values = wanted_variables(&self.environment, wanted);
                    write_message(&mut control, &values).map_err(failed)?;
                }
                Reply::Retry => return Ok(None),
                Reply::Alone { reason } => return Err(reason),
                Reply::Status { .. } | Reply::Stopping => break,
            }
        }
        Err("the background process does not accept the client".to_owned())
    }
}

/// Whether the process closed the connection.
fn has_ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Creates the state folder, accessible only by the owner.
fn create_folder(state: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if state.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
}

/// Waits until the client sends something. Returns `false` if it does not in time, or if standard input cannot be
/// polled.
fn wait_for_input(timeout: Option<&Timespec>) -> bool {
    let input = io::stdin();
    loop {
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

//! The bridge: relays a client's messages to the background process.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pegboard_background::{
    Hello, Link, PROTOCOLS, Relay, RelayEnd, Reply, Resume, StartOutcome, Variables, read_message,
    send_hello, start_once, write_message,
};
use pegboard_config::{Environment, Paths};
use rustix::event::{PollFd, PollFlags, poll};

use super::start::start_process;
use super::{build, reason_to_stay_alone};
use crate::args::Global;

/// How long the process may take to accept a client. A frozen one is not waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a process may ask for variables or send the bridge to its successor.
const REPLIES_MAX: usize = 8;
/// A process that ends this often within [`ENDS_WITHIN`] is not started again.
const ENDS_MAX: usize = 5;
const ENDS_WITHIN: Duration = Duration::from_secs(60);
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
    let paths = Paths::from_env(&environment);
    let bridge = Bridge {
        state: paths.state_dir,
        hello: Hello {
            protocols: PROTOCOLS.to_vec(),
            build: build(),
            folder: environment.working_dir.clone(),
            home: environment.home.clone(),
            config_dir: paths.config_dir,
            config: global
                .config
                .as_ref()
                .map(|path| environment.working_dir.join(path)),
            project: global
                .project
                .as_ref()
                .map(|path| environment.working_dir.join(path)),
            strict: global.strict,
            profile: profile.unwrap_or_default().to_owned(),
            resume: None,
        },
        environment,
    };
    let (input, output) = (io::stdin(), io::stdout());
    bridge.run(Relay::new(input.as_fd(), output.as_fd()))
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
            let link = match self.link() {
                Ok(link) => link,
                Err(reason) => return alone(reason, Some(&mut relay)),
            };
            match relay.run(link) {
                Ok(RelayEnd::Client) => return Bridged::Done,
                Ok(RelayEnd::Moved) => {}
                Ok(RelayEnd::Process) => ends.push(Instant::now()),
                Err(error) => return alone(error.to_string(), Some(&mut relay)),
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
            // The next process is started when the client needs it.
            if !relay.has_unsent() && !wait_for_input() {
                return Bridged::Done;
            }
        }
    }

    /// Connects to the process, which is started if necessary, and is accepted by it.
    fn link(&self) -> Result<Link, String> {
        create_folder(&self.state)
            .map_err(|error| format!("cannot create `{}`: {error}", self.state.display()))?;
        let mut tries = 0;
        loop {
            let outcome = start_once(&self.state, || start_process(&self.environment));
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
        send_hello(&mut control, self.hello.clone(), descriptors).map_err(failed)?;
        drop((input, output));
        for _ in 0..REPLIES_MAX {
            match read_message(&mut control).map_err(failed)? {
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
                    let values = self.variables(&names, &prefixes, &suffixes);
                    write_message(&mut control, &values).map_err(failed)?;
                }
                Reply::Retry => return Ok(None),
                Reply::Alone { reason } => return Err(reason),
                Reply::Status { .. } | Reply::Stopping => break,
            }
        }
        Err("the background process does not accept the client".to_owned())
    }

    fn variables(&self, names: &[String], prefixes: &[String], suffixes: &[String]) -> Variables {
        let is_wanted = |name: &String| {
            names.contains(name)
                || prefixes.iter().any(|prefix| name.starts_with(prefix))
                || suffixes.iter().any(|suffix| name.ends_with(suffix))
        };
        let all = self.environment.vars.iter();
        let wanted = all.filter(|(name, _)| is_wanted(name));
        Variables {
            values: wanted
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }
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

/// Waits until the client sends something. Returns `false` if standard input cannot be polled.
fn wait_for_input() -> bool {
    let input = io::stdin();
    loop {
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], None) {
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

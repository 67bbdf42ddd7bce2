//! The behaviour of a hostile server as data. `pegboard-hostile --script` takes a [`Script`] as JSON; every
//! field is optional, and `{}` is a well-behaved server of both eras without tools.

mod http;
mod list;
mod malformed;
mod response_faults;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use http::{HttpFault, HttpFaultKind, HttpScript};
pub use list::{Cursors, ListScript, Mutation, MutationAt};
pub use malformed::Malformed;
pub use response_faults::{CallScript, Noise, NoiseKind, ResponseFault, ResponseShape};

/// A server's behaviour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The protocol eras it supports.
    pub era: Era,
    /// How a legacy server responds to `server/discover`.
    pub probe: Probe,
    /// The revision in its response to `initialize`, instead of the requested one.
    pub protocol_version: Option<String>,
    /// The revisions in its response to `server/discover`, instead of the correct ones.
    pub supported_versions: Option<Vec<String>>,
    /// Its instructions for models.
    pub instructions: Option<String>,
    /// Delay before it reads or writes anything.
    pub start_delay_ms: u64,
    /// CPU time that it uses before it reads or writes anything.
    pub start_cpu_ms: u64,
    /// From this moment on it sends no responses, but keeps reading.
    pub hang: Option<Moment>,
    /// When it crashes.
    pub crash: Option<Crash>,
    /// Unsolicited output on stdout.
    pub noise: Vec<Noise>,
    /// Faults of its responses.
    pub answers: Vec<ResponseFault>,
    /// `list_changed` notifications that it sends.
    pub list_changed: Option<ListChanged>,
    /// Its tools and how it lists them.
    pub list: ListScript,
    /// The behaviour of calls.
    pub call: CallScript,
    /// The behaviour of its process.
    pub process: ProcessScript,
    /// The behaviour over HTTP.
    pub http: HttpScript,
    /// The file in which it records every start; see [`crate::starts_in`].
    pub count_file: Option<PathBuf>,
    /// Whether it records every received method there too; see [`crate::methods_in`].
    pub count_methods: bool,
}

/// The protocol eras a server supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Both eras.
    #[default]
    Both,
    /// `initialize` only; [`Probe`] defines the response to `server/discover`.
    Legacy,
    /// Stateless requests only; `initialize` is refused with -32022.
    Modern,
}

/// How a legacy server responds to `server/discover`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Error -32601.
    #[default]
    MethodNotFound,
    /// Error -32602.
    InvalidParams,
    /// No response.
    Silent,
    /// The process exits.
    Exit,
}

/// A moment at which a script acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before anything is read.
    Start,
    /// On `server/discover`.
    Discover,
    /// On `initialize`.
    Initialize,
    /// On `tools/list`.
    List,
    /// On `tools/call`.
    Call,
    /// On the n-th message, counted from 1, and all later ones.
    Message(u32),
}

impl Moment {
    /// Whether the n-th message, counted from 1, matches this moment; no message matches `Start`.
    pub fn is_met_by(self, method: &str, number: u32) -> bool {
        match self {
            Self::Start => false,
            Self::Discover => method == "server/discover",
            Self::Initialize => method == "initialize",
            Self::List => method == "tools/list",
            Self::Call => method == "tools/call",
            Self::Message(first) => number >= first,
        }
    }
}

/// How a server crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// The moment.
    pub when: Moment,
    /// The exit code.
    pub code: i32,
    /// Whether it writes the first half of its response before.
    #[serde(default)]
    pub mid_line: bool,
}

/// A stream of `notifications/tools/list_changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListChanged {
    /// The message after whose response they begin.
    pub after: Moment,
    /// The number of notifications.
    pub times: u32,
    /// The pause between two; zero for a flood.
    #[serde(default)]
    pub pause_ms: u64,
}

/// The behaviour of a server's process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessScript {
    /// Ignores SIGTERM; see [`Script::stdio_command`].
    pub ignore_term: bool,
    /// Ignores the end of stdin.
    pub ignore_eof: bool,
    /// A grandchild that keeps stdout and stderr open.
    pub grandchild: Option<Grandchild>,
    /// Number of bytes on stderr at the start.
    pub stderr_bytes: u64,
    /// Writes its environment to stderr at the start.
    pub stderr_env: bool,
    /// Stops reading after this number of messages.
    pub stop_reading_after: Option<u32>,
}

/// A grandchild of a server: `sleep 1000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grandchild {
    /// In the process group of the server.
    SameGroup,
    /// In a session of its own, by `setsid`.
    OwnSession,
}

impl Script {
    /// A well-behaved server of both eras without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools with valid definitions.
    #[must_use]
    pub fn tools<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.list
            .tools
            .extend(names.into_iter().map(crate::tool_json));
        self
    }

    /// Sets the supported eras.
    #[must_use]
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Makes it a legacy server with this response to the probe.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.era = Era::Legacy;
        self.probe = probe;
        self
    }

    /// Sets the delay before it reads or writes anything.
    #[must_use]
    pub fn start_delay_ms(mut self, ms: u64) -> Self {
        self.start_delay_ms = ms;
        self
    }

    /// Stops responding at this moment.
    #[must_use]
    pub fn hang(mut self, when: Moment) -> Self {
        self.hang = Some(when);
        self
    }

    /// Crashes at this moment.
    #[must_use]
    pub fn crash(mut self, when: Moment, code: i32) -> Self {
        self.crash = Some(Crash {
            when,
            code,
            mid_line: false,
        });
        self
    }

    /// Adds noise on stdout.
    #[must_use]
    pub fn noise(mut self, when: Moment, kind: NoiseKind, times: u32) -> Self {
        self.noise.push(Noise { when, kind, times });
        self
    }

    /// Gives the responses at this moment a wrong shape.
    #[must_use]
    pub fn answer(mut self, when: Moment, shape: ResponseShape) -> Self {
        self.answers.push(ResponseFault { when, shape });
        self
    }

    /// Adds a malformed tool.
    #[must_use]
    pub fn malformed(mut self, kind: Malformed) -> Self {
        self.list.malformed.push(kind);
        self
    }

    /// Adds a permanent HTTP fault.
    #[must_use]
    pub fn http(mut self, when: Moment, kind: HttpFaultKind) -> Self {
        self.http.faults.push(HttpFault {
            when,
            kind,
            times: None,
        });
        self
    }

    /// Records its starts and received methods in a file.
    #[must_use]
    pub fn count_in(mut self, file: impl Into<PathBuf>) -> Self {
        self.count_file = Some(file.into());
        self.count_methods = true;
        self
    }

    /// Changes any field.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The script as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a script is plain data")
    }

    /// The arguments of `pegboard-hostile` for this script.
    pub fn stdio_args(&self) -> Vec<String> {
        vec!["--script".to_owned(), self.to_json()]
    }

    /// The command and its arguments for this script over stdio. A server that ignores SIGTERM is started
    /// by a shell that ignores it, because ignored signals are inherited through `exec`.
    pub fn stdio_command(&self) -> (String, Vec<String>) {
        let program = crate::binary("pegboard-hostile").display().to_string();
        if !self.process.ignore_term {
            return (program, self.stdio_args());
        }
        let shell = ["-c", "trap '' TERM; exec \"$0\" \"$@\"", &program].map(str::to_owned);
        (
            "sh".to_owned(),
            shell.into_iter().chain(self.stdio_args()).collect(),
        )
    }

    /// A spec for this script over stdio.
    pub fn stdio_spec(&self, name: &str) -> pegboard_model::ServerSpec {
        let (command, args) = self.stdio_command();
        crate::stdio_spec(name, command, args)
    }

    /// Starts this script as an HTTP server on a free port.
    pub fn serve_http(&self) -> crate::HostileHttp {
        crate::HostileHttp::start(self)
    }
}

//! What a hostile server does, as data. The JSON form of a [`Script`] is what `pegboard-hostile --script`
//! takes; every field may be left out, and `{}` is a well-behaved server of both eras without tools.

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
    /// Which protocol eras it speaks.
    pub era: Era,
    /// What a legacy server does when it is asked `server/discover`.
    pub probe: Probe,
    /// The revision it answers to `initialize`, in place of the one it was asked for.
    pub protocol_version: Option<String>,
    /// The revisions it names in `server/discover`, in place of the right ones.
    pub supported_versions: Option<Vec<String>>,
    /// Its instructions for models.
    pub instructions: Option<String>,
    /// How long it takes to start, before it reads or writes anything.
    pub start_delay_ms: u64,
    /// Processor time that it uses before it reads or writes anything.
    pub start_cpu_ms: u64,
    /// From this moment on it answers nothing any more (but keeps reading).
    pub hang: Option<Moment>,
    /// When it ends by itself.
    pub crash: Option<Crash>,
    /// What it writes to stdout that nobody asked for.
    pub noise: Vec<Noise>,
    /// What is wrong with its answers.
    pub answers: Vec<ResponseFault>,
    /// `list_changed` notifications that it sends.
    pub list_changed: Option<ListChanged>,
    /// Its tools and how it lists them.
    pub list: ListScript,
    /// What calls do.
    pub call: CallScript,
    /// How its process behaves.
    pub process: ProcessScript,
    /// How it behaves over HTTP.
    pub http: HttpScript,
    /// Where it notes every start; see [`crate::starts_in`].
    pub count_file: Option<PathBuf>,
    /// Whether it notes every received method there too; see [`crate::methods_in`].
    pub count_methods: bool,
}

/// The protocol eras a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Whatever the client asks for.
    #[default]
    Both,
    /// `initialize` only; `server/discover` ends as [`Probe`] says.
    Legacy,
    /// `server/discover` and requests that stand alone; `initialize` is refused with -32022.
    Modern,
}

/// What a legacy server does when it is asked `server/discover`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Error -32601.
    #[default]
    MethodNotFound,
    /// Error -32602.
    InvalidParams,
    /// No answer.
    Silent,
    /// The process ends.
    Exit,
}

/// A moment in a server's life.
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
    /// On the n-th message and all later ones, from 1.
    Message(u32),
}

impl Moment {
    /// Whether a message, the n-th one from 1, meets this moment; `Start` is met by none.
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

/// How a server ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// When.
    pub when: Moment,
    /// The exit code.
    pub code: i32,
    /// Whether it writes the first half of its answer before.
    #[serde(default)]
    pub mid_line: bool,
}

/// A stream of `notifications/tools/list_changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListChanged {
    /// After the answer to which message they begin.
    pub after: Moment,
    /// How many.
    pub times: u32,
    /// The pause between two; zero is a flood.
    #[serde(default)]
    pub pause_ms: u64,
}

/// How a server's process behaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessScript {
    /// SIGTERM does nothing. [`Script::stdio_command`] sees to it: ignored signals pass through `exec`.
    pub ignore_term: bool,
    /// The end of stdin does not end it.
    pub ignore_eof: bool,
    /// A grandchild that holds stdout and stderr open.
    pub grandchild: Option<Grandchild>,
    /// So many bytes on stderr at the start.
    pub stderr_bytes: u64,
    /// Its whole environment on stderr at the start.
    pub stderr_env: bool,
    /// After so many messages it reads no more.
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

    /// It has these tools, each with a sound definition.
    #[must_use]
    pub fn tools<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.list
            .tools
            .extend(names.into_iter().map(crate::tool_json));
        self
    }

    /// It speaks these eras.
    #[must_use]
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// It is a legacy server that does this on the probe.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.era = Era::Legacy;
        self.probe = probe;
        self
    }

    /// It needs so long to start.
    #[must_use]
    pub fn start_delay_ms(mut self, ms: u64) -> Self {
        self.start_delay_ms = ms;
        self
    }

    /// It answers nothing from this moment on.
    #[must_use]
    pub fn hang(mut self, when: Moment) -> Self {
        self.hang = Some(when);
        self
    }

    /// It ends by itself.
    #[must_use]
    pub fn crash(mut self, when: Moment, code: i32) -> Self {
        self.crash = Some(Crash {
            when,
            code,
            mid_line: false,
        });
        self
    }

    /// It writes this to stdout, so many times.
    #[must_use]
    pub fn noise(mut self, when: Moment, kind: NoiseKind, times: u32) -> Self {
        self.noise.push(Noise { when, kind, times });
        self
    }

    /// Its answers of this moment have this shape.
    #[must_use]
    pub fn answer(mut self, when: Moment, shape: ResponseShape) -> Self {
        self.answers.push(ResponseFault { when, shape });
        self
    }

    /// It has this malformed tool beside the others.
    #[must_use]
    pub fn malformed(mut self, kind: Malformed) -> Self {
        self.list.malformed.push(kind);
        self
    }

    /// It misbehaves over HTTP like this, always.
    #[must_use]
    pub fn http(mut self, when: Moment, kind: HttpFaultKind) -> Self {
        self.http.faults.push(HttpFault {
            when,
            kind,
            times: None,
        });
        self
    }

    /// It notes its starts, and the methods it receives, in a file.
    #[must_use]
    pub fn count_in(mut self, file: impl Into<PathBuf>) -> Self {
        self.count_file = Some(file.into());
        self.count_methods = true;
        self
    }

    /// Anything else, by the fields.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The script as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a script is plain data")
    }

    /// The arguments of `pegboard-hostile` for this script over stdio.
    pub fn stdio_args(&self) -> Vec<String> {
        vec!["--script".to_owned(), self.to_json()]
    }

    /// The command and its arguments for this script over stdio. A server that ignores SIGTERM is
    /// started through a shell that ignores it, because ignored signals pass through `exec`.
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

    /// A spec of this script over stdio.
    pub fn stdio_spec(&self, name: &str) -> pegboard_model::ServerSpec {
        let (command, args) = self.stdio_command();
        crate::stdio_spec(name, command, args)
    }

    /// Starts this script as an HTTP server on a free port of this machine.
    pub fn serve_http(&self) -> crate::HostileHttp {
        crate::HostileHttp::start(self)
    }
}

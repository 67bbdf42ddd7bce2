//! What the rooms tell about their work, and who may listen: traces and metrics.
//!
//! Facts are borrowed from whoever tells them, so that telling a recorder that does not listen costs one call
//! and no memory.

use std::fmt;
use std::time::Duration;

use crate::{Event, ServerName, SpanContext, Tool, ToolError, TraceId};

/// Who is told. Every method does nothing by itself, so that a recorder takes what it wants.
///
/// A span is opened with [`Recorder::begin`] before the work and told with its facts after it; one that is
/// never told is never exported. What comes from `begin` is the parent of everything done meanwhile.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Whether spans are made at all, so that nobody prepares for one in vain.
    fn is_tracing(&self) -> bool {
        false
    }

    /// Opens a span below `parent`, or as the first of `trace`. `None` when nothing is traced, or when the
    /// caller asked not to be: then `parent` itself is what is handed on.
    fn begin(&self, parent: Option<&SpanContext>, trace: &TraceId) -> Option<SpanContext> {
        let _ = (parent, trace);
        None
    }

    /// Something happened.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// The catalog was read: of how many servers it knew the tools, and of how many it did not.
    fn lookup(&self, span: Option<&SpanContext>, facts: &LookupFacts) {
        let _ = (span, facts);
    }

    /// A server was asked for its tools.
    fn discovery(&self, span: Option<&SpanContext>, facts: &DiscoveryFacts<'_>) {
        let _ = (span, facts);
    }

    /// Tools were searched.
    fn search(&self, span: Option<&SpanContext>, facts: &SearchFacts<'_>) {
        let _ = (span, facts);
    }

    /// A policy was asked.
    fn policy(&self, span: Option<&SpanContext>, facts: &PolicyFacts<'_>) {
        let _ = (span, facts);
    }

    /// A tool was called.
    fn call(&self, span: Option<&SpanContext>, facts: &CallFacts<'_>) {
        let _ = (span, facts);
    }

    /// A client's request was answered.
    fn request(&self, span: Option<&SpanContext>, facts: &RequestFacts<'_>) {
        let _ = (span, facts);
    }

    /// A model answered.
    fn turn(&self, span: Option<&SpanContext>, facts: &TurnFacts<'_>) {
        let _ = (span, facts);
    }

    /// An agent finished its task.
    fn run(&self, span: Option<&SpanContext>, facts: &RunFacts<'_>) {
        let _ = (span, facts);
    }

    /// A model did not have to read so many tokens.
    fn tokens_saved(&self, tokens: u64) {
        let _ = tokens;
    }
}

/// A recorder that does not listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopRecorder;

impl Recorder for NoopRecorder {}

/// How something ended.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// As it should.
    Ok,
    /// The tool ran and says that it failed.
    ToolFailed,
    /// It did not come to a result.
    Failed(&'a ToolError),
}

impl<'a> Outcome<'a> {
    /// The outcome of a result whose success is plain.
    pub fn of<T>(result: &'a Result<T, ToolError>) -> Self {
        match result {
            Ok(_) => Self::Ok,
            Err(error) => Self::Failed(error),
        }
    }
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// Over standard input and output.
    Stdio,
    /// Over HTTP.
    Http,
    /// Within this process.
    InProcess,
}

/// Whether what was known sufficed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// It did; nobody was asked.
    Hit,
    /// The server was asked.
    Miss,
    /// Another process had just asked.
    Shared,
}

/// A reading of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct LookupFacts {
    /// The trace that the reading belongs to.
    pub trace: TraceId,
    /// Enabled servers whose tools were known.
    pub hits: usize,
    /// Enabled servers whose tools were not known, or that were asked before the answer.
    pub misses: usize,
    /// How long the reader waited.
    pub took: Duration,
}

/// A discovery of one server.
#[derive(Clone, Copy, Debug)]
pub struct DiscoveryFacts<'a> {
    /// Which server.
    pub server: &'a ServerName,
    /// How it is spoken to.
    pub transport: TransportKind,
    /// The protocol's revision, when it is known.
    pub protocol: Option<&'a str>,
    /// Its tools after it.
    pub tools: &'a [Tool],
    /// Whether it had to be asked.
    pub cache: CacheUse,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took.
    pub took: Duration,
}

/// A search for tools.
#[derive(Clone, Copy)]
pub struct SearchFacts<'a> {
    /// What was looked for: content, recorded only where that was asked for.
    pub query: &'a str,
    /// How many tools were found.
    pub found: usize,
    /// Their exposed names, best first; asked for only when they are recorded.
    pub names: &'a dyn Fn() -> Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// A decision whether a tool may be called.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFacts<'a> {
    /// The tool's exposed name.
    pub tool: &'a str,
    /// What the policy says: `allow`, `ask`, `deny` or `disable`.
    pub decision: &'a str,
    /// The rule that says so.
    pub rule: &'a str,
    /// Whether the call may go on, after a person was asked if that was the rule.
    pub outcome: Outcome<'a>,
    /// How long it took, with the person's thinking.
    pub took: Duration,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// Its server; none for a tool of the host program, and for one that is not known.
    pub server: Option<&'a ServerName>,
    /// The name that the server uses.
    pub tool: &'a str,
    /// The name that the model uses.
    pub exposed: &'a str,
    /// How the server is spoken to.
    pub transport: TransportKind,
    /// The protocol's revision, when it is known.
    pub protocol: Option<&'a str>,
    /// Whether the server had to be started for it.
    pub started: bool,
    /// The arguments, a JSON text: content, recorded only where that was asked for.
    pub arguments: Option<&'a str>,
    /// The result, a JSON text: content, recorded only where that was asked for.
    pub result: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took.
    pub took: Duration,
}

/// A request of a client that is connected to us.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The protocol's method.
    pub method: &'a str,
    /// What it is about: a tool's or a prompt's name.
    pub name: Option<&'a str>,
    /// How the client is connected.
    pub transport: TransportKind,
    /// The protocol's revision, when it is known.
    pub protocol: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took.
    pub took: Duration,
}

/// One answer of a model.
#[derive(Clone, Copy, Debug)]
pub struct TurnFacts<'a> {
    /// Who runs the model: `anthropic`, `openai`.
    pub provider: &'a str,
    /// The model that was asked for.
    pub model: &'a str,
    /// The model that answered, when the provider says so.
    pub response_model: Option<&'a str>,
    /// The provider's id of the answer.
    pub id: Option<&'a str>,
    /// Tokens read, with those that the provider had kept.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens of the input that the provider had kept.
    pub cached_tokens: u64,
    /// Why the model stopped.
    pub finish: Option<&'a str>,
    /// How many tools it wants called.
    pub tool_calls: usize,
    /// What it was told, a JSON text: content.
    pub input: Option<&'a str>,
    /// What it said, a JSON text: content.
    pub output: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took.
    pub took: Duration,
}

/// A task that an agent worked on.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// What the agent is called.
    pub agent: &'a str,
    /// The servers whose tools it may use: those that are enabled and trusted.
    pub servers: &'a [ServerName],
    /// Whether the tools of some of them were not known when it began.
    pub needs_discovery: bool,
    /// How often a model was asked.
    pub turns: usize,
    /// How many tools were called.
    pub calls: usize,
    /// The task: content.
    pub input: Option<&'a str>,
    /// The answer: content.
    pub output: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Debug for SearchFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = (self.found, self.took);
        f.debug_tuple("SearchFacts").field(&shown).finish()
    }
}

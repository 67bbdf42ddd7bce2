//! The interface through which the other crates report spans and metrics.
//!
//! All data is borrowed from the caller, so a recorder that ignores it costs one virtual call and no allocation.

use std::fmt;
use std::time::Duration;

use crate::{Event, ServerName, SpanContext, Tool, ToolError, TraceId};

/// Receives telemetry. All methods default to no-ops, so an implementation overrides only what it needs.
///
/// A span is opened with [`Recorder::begin`] before the work and recorded with its facts afterwards. A span that is
/// never recorded is never exported. The context that `begin` returns is the parent of all spans opened meanwhile.
pub trait Recorder: Send + Sync + fmt::Debug {
    /// Whether spans are recorded at all; callers skip preparing them otherwise.
    fn is_tracing(&self) -> bool {
        false
    }

    /// Opens a child span of `parent`, or the root span of `trace`. Returns `None` if tracing is off or the caller's
    /// trace is not sampled; then `parent` itself is propagated.
    fn begin(&self, parent: Option<&SpanContext>, trace: &TraceId) -> Option<SpanContext> {
        let _ = (parent, trace);
        None
    }

    /// Records an event.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// Records a read of the catalog.
    fn lookup(&self, span: Option<&SpanContext>, facts: &LookupFacts) {
        let _ = (span, facts);
    }

    /// Records the discovery of a server.
    fn discovery(&self, span: Option<&SpanContext>, facts: &DiscoveryFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a search for tools.
    fn search(&self, span: Option<&SpanContext>, facts: &SearchFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a policy decision.
    fn policy(&self, span: Option<&SpanContext>, facts: &PolicyFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a tool call.
    fn call(&self, span: Option<&SpanContext>, facts: &CallFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a client's request.
    fn request(&self, span: Option<&SpanContext>, facts: &RequestFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a response of a model.
    fn turn(&self, span: Option<&SpanContext>, facts: &TurnFacts<'_>) {
        let _ = (span, facts);
    }

    /// Records a run of the agent.
    fn run(&self, span: Option<&SpanContext>, facts: &RunFacts<'_>) {
        let _ = (span, facts);
    }

    /// Adds to the number of tokens that a model did not have to read.
    fn tokens_saved(&self, tokens: u64) {
        let _ = tokens;
    }
}

/// A recorder that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopRecorder;

impl Recorder for NoopRecorder {}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// Success.
    Ok,
    /// The tool ran and reported a failure.
    ToolFailed,
    /// The operation failed with an error.
    Failed(&'a ToolError),
}

impl<'a> Outcome<'a> {
    /// Converts a result: `Ok` on success, otherwise `Failed`.
    pub fn of<T>(result: &'a Result<T, ToolError>) -> Self {
        match result {
            Ok(_) => Self::Ok,
            Err(error) => Self::Failed(error),
        }
    }
}

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// A call within this process.
    InProcess,
}

/// Whether a discovery could be answered from the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// The stored list was used.
    Hit,
    /// The server was queried.
    Miss,
    /// Another process had just queried the server; its result was used.
    Shared,
}

/// A read of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct LookupFacts {
    /// The trace that the read belongs to.
    pub trace: TraceId,
    /// Enabled servers whose tools were known.
    pub hits: usize,
    /// Enabled servers whose tools were unknown, or that were queried before the response.
    pub misses: usize,
    /// Time that the reader waited.
    pub took: Duration,
}

/// The discovery of one server.
#[derive(Clone, Copy, Debug)]
pub struct DiscoveryFacts<'a> {
    /// The server.
    pub server: &'a ServerName,
    /// The transport.
    pub transport: TransportKind,
    /// The protocol revision, if known.
    pub protocol: Option<&'a str>,
    /// The server's tools after the discovery.
    pub tools: &'a [Tool],
    /// Whether the server had to be queried.
    pub cache: CacheUse,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// The duration.
    pub took: Duration,
}

/// A search for tools.
#[derive(Clone, Copy)]
pub struct SearchFacts<'a> {
    /// The query. Content: recorded only if the user enabled it.
    pub query: &'a str,
    /// Number of tools found.
    pub found: usize,
    /// Their exposed names, best first; called only if they are recorded.
    pub names: &'a dyn Fn() -> Vec<String>,
    /// The duration.
    pub took: Duration,
}

/// The decision whether a tool may be called.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFacts<'a> {
    /// The tool's exposed name.
    pub tool: &'a str,
    /// The policy: `allow`, `ask`, `deny` or `disable`.
    pub decision: &'a str,
    /// The rule that decided.
    pub rule: &'a str,
    /// Whether the call may proceed, including the result of an approval request.
    pub outcome: Outcome<'a>,
    /// The duration, including the time a person took to respond.
    pub took: Duration,
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The server; `None` for a tool of the host program and for an unknown tool.
    pub server: Option<&'a ServerName>,
    /// The name that the server uses.
    pub tool: &'a str,
    /// The name that the model uses.
    pub exposed: &'a str,
    /// The server's transport.
    pub transport: TransportKind,
    /// The protocol revision, if known.
    pub protocol: Option<&'a str>,
    /// Whether the server was started for this call.
    pub started: bool,
    /// The arguments as JSON text. Content: recorded only if the user enabled it.
    pub arguments: Option<&'a str>,
    /// The result as JSON text. Content: recorded only if the user enabled it.
    pub result: Option<&'a str>,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// The duration.
    pub took: Duration,
}

/// A request from a connected client.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The MCP method.
    pub method: &'a str,
    /// The name of the tool or prompt, if the request has one.
    pub name: Option<&'a str>,
    /// The client's transport.
    pub transport: TransportKind,
    /// The protocol revision, if known.
    pub protocol: Option<&'a str>,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// The duration.
    pub took: Duration,
}

/// One response of a model.
#[derive(Clone, Copy, Debug)]
pub struct TurnFacts<'a> {
    /// The provider: `anthropic` or `openai`.
    pub provider: &'a str,
    /// The requested model.
    pub model: &'a str,
    /// The model that responded, if the provider reports it.
    pub response_model: Option<&'a str>,
    /// The provider's response id.
    pub id: Option<&'a str>,
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cached_tokens: u64,
    /// The finish reason.
    pub finish: Option<&'a str>,
    /// Number of tool calls in the response.
    pub tool_calls: usize,
    /// The input messages as JSON text. Content.
    pub input: Option<&'a str>,
    /// The output messages as JSON text. Content.
    pub output: Option<&'a str>,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// The duration.
    pub took: Duration,
}

/// A run of the agent.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// The enabled and trusted servers, whose tools the agent may use.
    pub servers: &'a [ServerName],
    /// Whether some of these servers were undiscovered at the start.
    pub needs_discovery: bool,
    /// Number of model requests.
    pub turns: usize,
    /// Number of tool calls.
    pub calls: usize,
    /// The task. Content.
    pub input: Option<&'a str>,
    /// The final response. Content.
    pub output: Option<&'a str>,
    /// The outcome.
    pub outcome: Outcome<'a>,
    /// The duration.
    pub took: Duration,
}

impl fmt::Debug for SearchFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = (self.found, self.took);
        f.debug_tuple("SearchFacts").field(&shown).finish()
    }
}

//! Runs the tool calls of a model.

use std::sync::Arc;
use std::time::Duration;

use pegboard_guard::{coerce_arguments, estimate_tokens};
use pegboard_hub::{CallOutcome, CallRequest, Hub, OutcomeKind, SessionId};
use pegboard_metatools::{CallToolArgs, MetaCall, ResultStore, is_call_tool, is_meta_tool};
use pegboard_model::{Limits, Reason, ServerName, SpanContext, ToolError, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::content::{Content, parts};
use crate::definitions::{Definitions, Loading};
use crate::lookup::offload;
use crate::message::{ToolOutput, ToolOutputBody, ToolUse, ToolUseKind};
use crate::report::UsedTool;

/// Tools that a provider's built-in search returns.
const MAX_FOUND: usize = 8;
/// Maximum size of arguments, so that one call cannot exhaust the memory.
const MAX_ARGUMENTS_BYTES: usize = 16 * 1024 * 1024;
/// Results up to this size are processed on the current thread.
const SMALL_RESULT_BYTES: usize = 256 * 1024;
/// The part of a stored result's note that applies only if the meta tools are offered.
const THROUGH_CALL_TOOL: &str = "; all through call_readonly_tool.";

/// Runs the tool calls of one model. Stores large results so that they can be read in parts.
pub struct Toolbox {
    pub(crate) hub: Hub,
    pub(crate) session: SessionId,
    /// The caller's name in approval requests.
    client: Option<Arc<str>>,
    /// Whether the session can make more calls.
    is_lasting: bool,
    pub(crate) result_store: Arc<ResultStore>,
    result_tokens: usize,
}

/// A call that was run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutedCall {
    /// The output for the model.
    pub output: ToolOutput,
    /// The tool that was called; `None` for searches and other lookups.
    pub used: Option<UsedTool>,
    /// Estimated tokens of an output that replaces definitions.
    pub(crate) lookup_tokens: u64,
}

impl Toolbox {
    /// Creates a toolbox. `session` identifies the caller in grants and in the activity log.
    pub fn new(hub: Hub, session: SessionId, limits: &Limits, result_tokens: usize) -> Self {
        Self {
            hub,
            session,
            client: None,
            is_lasting: true,
            result_store: Arc::new(ResultStore::new(limits)),
            result_tokens: result_tokens.max(1),
        }
    }

    /// Returns a toolbox for another session, with the same stored results. `client` is its name in approval requests;
    /// a session that is not lasting cannot make another call, so tools are not allowed for the session.
    #[must_use]
    pub fn for_session(&self, session: SessionId, client: Arc<str>, is_lasting: bool) -> Self {
        Self {
            hub: self.hub.clone(),
            session,
            client: Some(client),
            is_lasting,
            result_store: self.result_store.clone(),
            result_tokens: self.result_tokens,
        }
    }

    /// Returns the hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns the tool of a call and its server. An unknown tool is returned as the model wrote it.
    pub fn target(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
    ) -> (String, Option<ServerName>) {
        let arguments = call.arguments.as_ref().unwrap_or(&Value::Null);
        let restored = definitions.restore(&call.name, arguments);
        let (mut name, arguments) = restored.unwrap_or_else(|| (call.name.clone(), Value::Null));
        if is_call_tool(&name)
            && let Some(inner) = crate::transcript::called_through(&arguments)
        {
            name = inner.to_owned();
        }
        match self.hub.catalog().find(&name) {
            Ok(view) => (view.exposed().to_string(), view.server().cloned()),
            Err(_) => (name, None),
        }
    }

    /// Runs one call. Errors become an output that the model can read.
    pub async fn run(&self, definitions: &Definitions, call: &ToolUse) -> ExecutedCall {
        self.run_within(definitions, call, None).await
    }

    pub(crate) async fn run_within(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
        span: Option<&SpanContext>,
    ) -> ExecutedCall {
        let started = Instant::now();
        match self.execute(definitions, call, span, started).await {
            Ok(executed) => executed,
            Err(error) => {
                let (tool, server) = self.target(definitions, call);
                let used = UsedTool {
                    tool,
                    server,
                    outcome: error.reason.code().to_owned(),
                    took: started.elapsed(),
                };
                let is_lookup = is_meta_tool(&used.tool) || call.kind == ToolUseKind::Search;
                ExecutedCall {
                    output: ToolOutput::failure(call, error.model_message()),
                    used: (!is_lookup).then_some(used),
                    lookup_tokens: 0,
                }
            }
        }
    }

    async fn execute(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
        span: Option<&SpanContext>,
        started: Instant,
    ) -> ToolResult<ExecutedCall> {
        let given = call.arguments.as_ref().map_err(|why| {
            ToolError::new(Reason::ArgsInvalid, format!("invalid arguments: {why}"))
                .with_remedy("Repeat the call with all arguments in one JSON object.")
        })?;
        let is_search = definitions.loading() == Loading::Deferred
            && (call.kind == ToolUseKind::Search
                || call.name == pegboard_formats::SEARCH_TOOL_NAME);
        if is_search {
            return self.search_tools(definitions, call, given, span).await;
        }
        let (name, arguments) = definitions
            .restore(&call.name, given)
            .unwrap_or_else(|| (call.name.clone(), given.clone()));
        let arguments = raw(&arguments)?;
        // If the meta tools are offered, they take precedence over static tools of the same name.
        let is_own = is_meta_tool(&name)
            && (definitions.loading() == Loading::Meta
                || self.hub.catalog().static_tool(&name).is_none());
        if !is_own {
            let args = CallToolArgs {
                tool_name: name,
                arguments,
                read_only: false,
            };
            return self.call_tool(definitions, call, args, span, started).await;
        }
        match MetaCall::parse(&name, Some(&arguments), &self.hub.catalog())? {
            MetaCall::Lookup(lookup) => {
                let text = self.look_up(lookup, span).await?;
                Ok(ExecutedCall {
                    lookup_tokens: u64::from(estimate_tokens(&text)),
                    output: ToolOutput::text(call, text),
                    used: None,
                })
            }
            MetaCall::Tool(args) => self.call_tool(definitions, call, args, span, started).await,
        }
    }

    async fn call_tool(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
        args: CallToolArgs,
        span: Option<&SpanContext>,
        started: Instant,
    ) -> ToolResult<ExecutedCall> {
        let tool = args.tool_name.as_str();
        let arguments = coerce_arguments(&args.arguments)?;
        let mut request = CallRequest::new(self.session.clone(), tool, arguments);
        request.client = Some("agent".into());
        request.span = span.cloned();
        request.read_only = args.read_only;
        request.client = self.client.clone();
        request.is_lasting = self.is_lasting;
        let outcome = self.hub.call(&request).await?;
        if outcome.kind == OutcomeKind::InputRequired {
            let message =
                format!("`{tool}` requires input from the user, which is not available here");
            return Err(ToolError::new(Reason::ToolFailed, message));
        }
        let (exposed, server) = match self.hub.catalog().find(tool) {
            Ok(view) => (view.exposed().to_string(), view.server().cloned()),
            Err(_) => (tool.to_owned(), None),
        };
        let used = UsedTool {
            tool: exposed,
            server,
            outcome: outcome_code(&outcome).to_owned(),
            took: started.elapsed(),
        };
        self.executed(definitions, call, outcome, used).await
    }

    async fn executed(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
        outcome: CallOutcome,
        used: UsedTool,
    ) -> ToolResult<ExecutedCall> {
        let (result_store, limit) = (self.result_store.clone(), self.result_tokens);
        let is_slow = outcome.result.get().len() > SMALL_RESULT_BYTES;
        let shorten = move || {
            let now = Instant::now().into_std();
            let shortened = result_store.shorten(&outcome.result, limit, now);
            parts(shortened.as_deref().unwrap_or(&outcome.result))
        };
        let mut content = offload(is_slow, shorten).await?;
        if definitions.loading() != Loading::Meta {
            for part in &mut content {
                if let Content::Text(text) = part
                    && let Some(kept) = text.strip_suffix(&format!("{THROUGH_CALL_TOOL}]"))
                {
                    *text = format!("{kept}.]");
                }
            }
        }
        Ok(ExecutedCall {
            output: ToolOutput {
                id: call.id.clone(),
                kind: ToolUseKind::Call,
                is_error: used.outcome != "ok",
                body: ToolOutputBody::Content(content),
            },
            used: Some(used),
            lookup_tokens: 0,
        })
    }

    /// Runs a provider's built-in search.
    async fn search_tools(
        &self,
        definitions: &Definitions,
        call: &ToolUse,
        arguments: &Value,
        span: Option<&SpanContext>,
    ) -> ToolResult<ExecutedCall> {
        let query = arguments.get("query").and_then(Value::as_str);
        let query = query.unwrap_or_default().to_owned();
        let exposed = self.search(query, MAX_FOUND, span).await?;
        let (names, definitions) = definitions.found(&exposed);
        let lookup_tokens: u64 = definitions
            .iter()
            .map(|tool| u64::from(estimate_tokens(&tool.to_string())))
            .sum();
        Ok(ExecutedCall {
            output: ToolOutput {
                id: call.id.clone(),
                kind: call.kind,
                body: ToolOutputBody::Tools { names, definitions },
                is_error: false,
            },
            used: None,
            lookup_tokens,
        })
    }
}

/// Returns the output of a call that was not run to its end.
pub(crate) fn unfinished_call(
    toolbox: &Toolbox,
    definitions: &Definitions,
    call: &ToolUse,
    why: (&str, Reason),
    took: Duration,
) -> ExecutedCall {
    let (tool, server) = toolbox.target(definitions, call);
    let is_lookup = is_meta_tool(&tool) || call.kind == ToolUseKind::Search;
    let used = UsedTool {
        tool,
        server,
        outcome: why.1.code().to_owned(),
        took,
    };
    ExecutedCall {
        output: ToolOutput::failure(call, why.0),
        used: (!is_lookup).then_some(used),
        lookup_tokens: 0,
    }
}

fn outcome_code(outcome: &CallOutcome) -> &'static str {
    match outcome.is_error {
        true => Reason::ToolFailed.code(),
        false => "ok",
    }
}

fn raw(arguments: &Value) -> ToolResult<Box<RawValue>> {
    let text = arguments.to_string();
    if text.len() > MAX_ARGUMENTS_BYTES {
        let message = format!("the arguments have more than {MAX_ARGUMENTS_BYTES} bytes");
        return Err(ToolError::new(Reason::ArgsInvalid, message));
    }
    RawValue::from_string(text)
        .map_err(|error| ToolError::new(Reason::ArgsInvalid, error.to_string()))
}

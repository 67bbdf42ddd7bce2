//! What a program that embeds Pegboard does with it.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_agent::{
    Agent, CalledTool, Definitions, ExecutedCall, Loading, Provider, ToolUse, Toolbox,
};
use pegboard_agent::{ToolUseKind, called_tools};
use pegboard_catalog::{Description, StaticTool, ToolSearch, describe};
use pegboard_formats::Format;
use pegboard_hub::ToolHandler;
use pegboard_hub::{
    CallOutcome, CallRequest, PendingDiscoveries, RefreshOutcome, RefreshScope, SessionId,
};
use pegboard_model::{Event, Reason, ServerName, ToolError, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use crate::Pegboard;

/// Who an embedding program is, in consents and in the record of activity.
const SESSION: &str = "library";

/// A tool that a search found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct FoundTool {
    /// The name that models see.
    pub name: String,
    /// Its server; none for a tool of the host program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// One line of at most 80 characters.
    pub summary: String,
    /// How well it matches; comparable within one answer only.
    pub score: f32,
}

impl Pegboard {
    /// Registers a tool of this program: a name, what it does, the schema of its arguments, and what runs it.
    ///
    /// A static tool wins over a server's tool of the same exposed name. It passes the same policies and the same
    /// check of arguments as every other tool.
    ///
    /// ```
    /// # async fn example(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    /// pegboard.register("order_status", "Says where an order is.", schema, |arguments| async move {
    ///     Ok(json!({"id": arguments["id"], "status": "on its way"}))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn register<H, F>(
        &self,
        name: &str,
        description: &str,
        input_schema: Value,
        handler: H,
    ) -> ToolResult<()>
    where
        H: Fn(Value) -> F + Send + Sync + 'static,
        F: Future<Output = ToolResult<Value>> + Send + 'static,
    {
        let tool = StaticTool::new(name, description, input_schema)?;
        self.register_tool(tool, Arc::new(Closure(handler)))
    }

    /// Registers a tool whose handler is a type of its own.
    pub fn register_tool(&self, tool: StaticTool, handler: Arc<dyn ToolHandler>) -> ToolResult<()> {
        self.hub().register(tool, handler)
    }

    /// Asks the servers that were never seen for their tools, side by side, and waits for them no longer than
    /// `answer_deadline`. Everything that needs tools does it by itself at its first use; a server that fails is left
    /// out, and its [`crate::ServerEntry`] says why.
    pub async fn ensure_known(&self) -> PendingDiscoveries {
        let pending = self.hub().ensure_known().await;
        self.hub().refresh_stale_in_background();
        pending
    }

    /// The tools for a model, ready for a request: the meta tools and this program's own, whatever is configured.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard, mut request: serde_json::Value) {
    /// use pegboard::Format;
    ///
    /// let tools = pegboard.definitions(Format::Anthropic).await;
    /// request["tools"] = tools.document().clone();
    /// request["system"] = pegboard.context_summary().into();
    /// # }
    /// ```
    pub async fn definitions(&self, format: Format) -> Definitions {
        let loading = match format.is_deferred() {
            true => Loading::Deferred,
            false => Loading::Meta,
        };
        self.definitions_by(format, loading).await
    }

    /// The tools for a model, loaded in a way of the caller's choice: the meta tools, all definitions, or the
    /// provider's own search, which [`Pegboard::answer`] answers.
    pub async fn definitions_by(&self, format: Format, loading: Loading) -> Definitions {
        self.ensure_known().await;
        Definitions::of(&self.hub().catalog(), format, loading)
    }

    /// Runs a call that a model made: a meta tool, a tool by its name, or a search of the provider's own kind. The
    /// name and arguments are the model's; they are turned back into the tool's own first. Whatever goes wrong is an
    /// answer that the model can read, so the agent goes on.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard, tools: &pegboard::agent::Definitions, block: serde_json::Value) {
    /// // `block` is a `tool_use` block of Anthropic.
    /// let call = pegboard::tool_use(block["id"].as_str(), block["name"].as_str(), block["input"].clone());
    /// let result = pegboard.answer(tools, &call).await;
    /// println!("{:?} by {:?}", result.output.body, result.used);
    /// # }
    /// ```
    pub async fn answer(&self, definitions: &Definitions, call: &ToolUse) -> ExecutedCall {
        self.toolbox().run(definitions, call).await
    }

    /// Finds tools by words and meaning, the best first. No server is started that is known.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<FoundTool> {
        self.ensure_known().await;
        let hub = self.hub();
        hub.load_vectors_once().await;
        let catalog = hub.catalog();
        let finder = hub.finder(Some(SessionId(SESSION.to_owned())));
        let query = query.to_owned();
        let look = move || {
            let found = finder.find(&catalog, &query, limit);
            let tools = found.hits.iter().map(|hit| FoundTool {
                name: hit.tool.exposed().to_string(),
                server: hit.tool.server().cloned(),
                summary: hit.tool.summary().to_owned(),
                score: hit.score,
            });
            tools.collect()
        };
        // Encoding a query takes milliseconds that others on this thread would wait.
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Everything about one tool: description, parameters, examples, hints, policy, and the server's own definition.
    /// The name may be written as `server__tool`, as `server/tool`, or bare when only one server has it.
    pub async fn describe(&self, tool: &str) -> ToolResult<Description> {
        if self.hub().catalog().find(tool).is_err() {
            self.ensure_known().await;
        }
        Ok(describe(&self.hub().catalog().find(tool)?))
    }

    /// Calls a tool; exactly its server is started. The policy gate is asked first. A tool's own failure is an `Ok`
    /// with `is_error`.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
    /// let sum = pegboard.call("example/add_numbers", serde_json::json!({"a": 1, "b": 2})).await?;
    /// println!("{}", sum.result);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolResult<CallOutcome> {
        let arguments = RawValue::from_string(arguments.to_string())
            .map_err(|error| ToolError::new(Reason::ArgsInvalid, error.to_string()))?;
        let session = SessionId(SESSION.to_owned());
        self.hub()
            .call(&CallRequest::new(session, tool, arguments))
            .await
    }

    /// Asks servers for their tools and says what is different; `None` asks all of them. A list that is fresh is left
    /// alone unless `force` is given, and a server that fails is an `Err` in its own outcome.
    pub async fn refresh(
        &self,
        server: Option<&ServerName>,
        force: bool,
    ) -> ToolResult<Vec<RefreshOutcome>> {
        let which = server.map_or(RefreshScope::All, |name| RefreshScope::One(name.clone()));
        self.hub().refresh(which, force).await
    }

    /// What happens to servers and tools from now on. A listener that falls behind loses the oldest events.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.hub().subscribe()
    }

    /// The tools that a model called in messages of any provider, each with its server.
    pub fn tools_seen(&self, messages: &Value) -> Vec<CalledTool> {
        called_tools(messages, &self.hub().catalog())
    }

    /// An agent with these tools that asks this model.
    pub fn agent(&self, provider: impl Provider + 'static) -> Agent {
        Agent::new(self.hub().clone(), provider)
            .essential(self.essential_patterns())
            .recorder(self.recorder().clone())
            .result_tokens(self.configured().loaded.settings.result_tokens)
    }

    /// What runs the calls of a model; large results are kept aside in it.
    pub fn toolbox(&self) -> &Toolbox {
        self.tools.get_or_init(|| {
            let configured = self.configured();
            let session = SessionId(SESSION.to_owned());
            let tokens = configured.loaded.settings.result_tokens;
            Toolbox::new(self.hub().clone(), session, &configured.limits, tokens)
        })
    }
}

/// A call that a model made, as a [`ToolUse`]: its id, the name and arguments as the model wrote them. Arguments that
/// came as a text, as OpenAI sends them, are read.
pub fn tool_use(id: Option<&str>, name: Option<&str>, arguments: Value) -> ToolUse {
    let arguments = match arguments {
        Value::String(text) if text.trim().is_empty() => Ok(Value::Null),
        Value::String(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        value => Ok(value),
    };
    ToolUse {
        id: id.unwrap_or_default().to_owned(),
        name: name.unwrap_or_default().to_owned(),
        arguments,
        kind: ToolUseKind::Call,
    }
}

struct Closure<H>(H);

#[async_trait]
impl<H, F> ToolHandler for Closure<H>
where
    H: Fn(Value) -> F + Send + Sync + 'static,
    F: Future<Output = ToolResult<Value>> + Send + 'static,
{
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        (self.0)(arguments).await
    }
}

//! Registering, searching, describing and calling tools.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_catalog::{Description, StaticTool, ToolSearch, describe};
use pegboard_hub::{
    CallOutcome, CallRequest, PendingDiscoveries, RefreshOutcome, RefreshScope, SessionId,
    ToolHandler,
};
use pegboard_model::{Event, Reason, ServerName, ToolError, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use crate::Pegboard;

/// The session of an embedding program in grants and in the activity log.
pub(crate) const SESSION: &str = "library";

/// A tool found by [`Pegboard::search`].
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct FoundTool {
    /// The name that models see.
    pub name: String,
    /// The server; `None` for a tool of the host program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// One line of at most 80 characters.
    pub summary: String,
    /// The score; comparable only within one search.
    pub score: f32,
}

/// Which servers [`Pegboard::refresh`] discovers again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Refresh {
    scope: RefreshScope,
    force: bool,
}

impl Refresh {
    /// Every enabled server whose list is not fresh.
    pub fn all() -> Self {
        Self {
            scope: RefreshScope::All,
            force: false,
        }
    }

    /// One server, if its list is not fresh.
    pub fn server(name: ServerName) -> Self {
        Self {
            scope: RefreshScope::One(name),
            force: false,
        }
    }

    /// Also discovers servers whose list is fresh.
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }
}

impl Pegboard {
    /// Registers a tool of this program with a JSON Schema of its arguments.
    ///
    /// It takes precedence over a server's tool of the same exposed name. Policies and the check of arguments apply as
    /// for every other tool.
    ///
    /// ```
    /// # async fn example(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    /// pegboard.register("order_status", "Returns the status of an order.", schema, |arguments| async move {
    ///     Ok(json!({"id": arguments["id"], "status": "shipped"}))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the name or the schema is invalid, or if the name is taken by another registered tool.
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
        self.register_tool(tool, Arc::new(FnHandler(handler)))
    }

    /// Registers a tool whose arguments are a Rust type; the JSON Schema is derived from it.
    ///
    /// ```
    /// # async fn example(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
    /// use pegboard::schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[schemars(crate = "pegboard::schemars")]
    /// struct Order {
    ///     /// The order number.
    ///     id: u64,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Status {
    ///     status: &'static str,
    /// }
    ///
    /// pegboard.register_typed("order_status", "Returns the status of an order.", |order: Order| async move {
    ///     Ok(Status { status: if order.id > 100 { "packed" } else { "shipped" } })
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails like [`Pegboard::register`].
    #[cfg(feature = "typed-tools")]
    pub fn register_typed<A, R, H, F>(
        &self,
        name: &str,
        description: &str,
        handler: H,
    ) -> ToolResult<()>
    where
        A: serde::de::DeserializeOwned + schemars::JsonSchema + Send + 'static,
        R: serde::Serialize + 'static,
        H: Fn(A) -> F + Send + Sync + 'static,
        F: Future<Output = ToolResult<R>> + Send + 'static,
    {
        let schema = schemars::schema_for!(A).to_value();
        let handler = Arc::new(handler);
        self.register(name, description, schema, move |arguments| {
            let handler = handler.clone();
            async move {
                let arguments = serde_json::from_value(arguments)
                    .map_err(|error| ToolError::new(Reason::ArgsInvalid, error.to_string()))?;
                let result = handler(arguments).await?;
                serde_json::to_value(result)
                    .map_err(|error| ToolError::new(Reason::Internal, error.to_string()))
            }
        })
    }

    /// Registers a tool whose handler is its own type.
    ///
    /// # Errors
    /// Fails if the name is taken by another registered tool.
    pub fn register_tool(&self, tool: StaticTool, handler: Arc<dyn ToolHandler>) -> ToolResult<()> {
        self.hub().register(tool, handler)
    }

    /// Discovers the servers that were never discovered, concurrently, and waits for them at most `answer_deadline`.
    /// Every method that needs tools does this on its own. A server that fails is left out, and its
    /// [`ServerEntry`](crate::ServerEntry) has the error.
    pub async fn discover_missing(&self) -> PendingDiscoveries {
        let pending = self.hub().ensure_known().await;
        self.hub().refresh_stale_in_background();
        pending
    }

    /// Searches tools by words and meaning and returns the best first. Starts no server that was discovered before.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<FoundTool> {
        self.discover_missing().await;
        let hub = self.hub();
        hub.load_vectors_once().await;
        let catalog = hub.catalog();
        let finder = hub.finder(Some(SessionId(SESSION.to_owned())));
        let query = query.to_owned();
        let search = move || {
            let results = finder.find(&catalog, &query, limit);
            let tools = results.hits.iter().map(|hit| FoundTool {
                name: hit.tool.exposed().to_string(),
                server: hit.tool.server().cloned(),
                summary: hit.tool.summary().to_owned(),
                score: hit.score,
            });
            tools.collect()
        };
        // Encoding a query takes milliseconds, which would block other tasks on this thread.
        tokio::task::spawn_blocking(search)
            .await
            .unwrap_or_default()
    }

    /// Returns everything about one tool: description, parameters, examples, hints, policy, and the server's own
    /// definition. The name can be `server__tool`, `server/tool`, or bare if only one server has it.
    ///
    /// # Errors
    /// Fails if the tool is unknown, or if a bare name is ambiguous.
    pub async fn describe(&self, tool: &str) -> ToolResult<Description> {
        if self.hub().catalog().find(tool).is_err() {
            self.discover_missing().await;
        }
        Ok(describe(&self.hub().catalog().find(tool)?))
    }

    /// Calls a tool; starts only its server.
    ///
    /// ```no_run
    /// # async fn example(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
    /// let sum = pegboard.call("example/add_numbers", serde_json::json!({"a": 1, "b": 2})).await?;
    /// println!("{}", sum.result);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the tool is unknown, the arguments do not match its schema, a policy denies the call, or the server
    /// cannot be started or does not respond. An error reported by the tool itself is an `Ok` with `is_error`.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolResult<CallOutcome> {
        let arguments = RawValue::from_string(arguments.to_string())
            .map_err(|error| ToolError::new(Reason::ArgsInvalid, error.to_string()))?;
        let session = SessionId(SESSION.to_owned());
        self.hub()
            .call(&CallRequest::new(session, tool, arguments))
            .await
    }

    /// Discovers tools again and returns what changed. A server that fails is an `Err` in its own outcome.
    ///
    /// # Errors
    /// Fails if the server is not configured.
    pub async fn refresh(&self, refresh: Refresh) -> ToolResult<Vec<RefreshOutcome>> {
        self.hub().refresh(refresh.scope, refresh.force).await
    }

    /// Returns the events of servers and tools from now on. A receiver that falls behind loses the oldest events.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.hub().subscribe()
    }
}

/// A handler that is a function.
struct FnHandler<H>(H);

#[async_trait]
impl<H, F> ToolHandler for FnHandler<H>
where
    H: Fn(Value) -> F + Send + Sync + 'static,
    F: Future<Output = ToolResult<Value>> + Send + 'static,
{
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        (self.0)(arguments).await
    }
}

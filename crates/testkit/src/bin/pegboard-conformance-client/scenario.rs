//! The run against one server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pegboard_guard::admit;
use pegboard_model::{DefinitionParts, Limits, ServerName, Tool, ToolResult};
use pegboard_upstream::{
    CallOptions, CallOutcome, Caller, ForwardedRequest, InputResponses, OfferKind, OutcomeKind,
    Upstream, mirrored_headers,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::arguments::sample_arguments;
use crate::user::AutoAcceptUser;

/// Timeout of one call; one scenario makes the client wait and reconnect.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest number of input requests in one call.
const MAX_ROUNDS: usize = 5;

/// The run against one server.
pub(crate) struct ScenarioRun<'a> {
    server: &'a Arc<dyn Upstream>,
    name: ServerName,
    context: Value,
    user: Arc<dyn Caller>,
}

impl<'a> ScenarioRun<'a> {
    pub(crate) fn new(server: &'a Arc<dyn Upstream>, name: ServerName, context: Value) -> Self {
        Self {
            server,
            name,
            context,
            user: Arc::new(AutoAcceptUser),
        }
    }

    /// Runs everything. Returns whether all of it succeeded.
    pub(crate) async fn all(&self) -> bool {
        let tools = self.tools().await;
        let prompts = self.each(OfferKind::Prompts, "prompts/get", "name").await;
        let resources = self
            .each(OfferKind::Resources, "resources/read", "uri")
            .await;
        tools && prompts && resources
    }

    async fn tools(&self) -> bool {
        let listing = match self.server.list_tools().await {
            Ok(listing) => listing,
            Err(error) => return report(&error),
        };
        let admission = admit(&self.name, true, &listing.tools, &Limits::default());
        for rejection in &admission.rejections {
            eprintln!("rejected: {rejection:?}");
        }
        // Concurrently, to detect mix-ups between calls.
        let calls = admission
            .tools
            .iter()
            .map(|tool| self.call(tool, &admission.tools));
        let outcomes = join_all(calls).await;
        outcomes.into_iter().all(succeeded)
    }

    async fn call(&self, tool: &Tool, all: &[Tool]) -> ToolResult<CallOutcome> {
        let schema = schema_of(tool);
        let arguments = self.arguments(tool, schema.as_deref(), all);
        let headers = match &schema {
            Some(schema) => mirrored_headers(schema, &arguments)?,
            None => Vec::new(),
        };
        let mut options = CallOptions {
            headers,
            ..self.options()
        };
        let mut outcome = self
            .server
            .call(&tool.name, &arguments, options.clone())
            .await?;
        for _ in 0..MAX_ROUNDS {
            if outcome.kind != OutcomeKind::InputRequired {
                break;
            }
            options.input = Some(self.input(&outcome.result).await);
            outcome = self
                .server
                .call(&tool.name, &arguments, options.clone())
                .await?;
        }
        Ok(outcome)
    }

    /// The arguments of the scenario, or sample arguments.
    fn arguments(&self, tool: &Tool, schema: Option<&RawValue>, all: &[Tool]) -> Box<RawValue> {
        let given = self.context["toolCalls"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|call| call["name"] == tool.name.as_str())
            .map(|call| call["arguments"].clone());
        let arguments = given.unwrap_or_else(|| match tool.name.as_str() {
            // It checks how another tool's schema arrived here.
            "json_schema_echo" => {
                let other = all.iter().find(|other| other.name != tool.name);
                let schema = other.and_then(schema_of);
                let schema = schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
                serde_json::json!({ "schema": schema })
            }
            _ => sample_arguments(schema),
        });
        to_raw_value(&arguments).unwrap_or_default()
    }

    /// The user's responses to the input requests of a result.
    async fn input(&self, result: &RawValue) -> InputResponses {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Required {
            #[serde(default)]
            input_requests: serde_json::Map<String, Value>,
            request_state: Option<Box<RawValue>>,
        }
        let required: Required = serde_json::from_str(result.get()).unwrap_or_default();
        let mut responses = serde_json::Map::new();
        for (key, request) in required.input_requests {
            let params = to_raw_value(&request["params"]).unwrap_or_default();
            let method = request["method"].as_str().unwrap_or_default();
            if let Ok(response) = self.user.send_request(method, Some(&params)).await {
                let response = serde_json::from_str(response.get()).unwrap_or_default();
                responses.insert(key, response);
            }
        }
        InputResponses {
            responses: to_raw_value(&responses).unwrap_or_default(),
            state: required.request_state,
        }
    }

    /// Reads every entry of a list.
    async fn each(&self, kind: OfferKind, method: &str, key: &str) -> bool {
        let offers = match self.server.list_offers(kind).await {
            Ok(offers) => offers,
            Err(error) => return report(&error),
        };
        let mut all_well = true;
        for offer in offers {
            let offer: Value = serde_json::from_str(offer.get()).unwrap_or_default();
            let forward = ForwardedRequest {
                method,
                members: &format!("\"{key}\":{}", offer[key]),
                name: offer[key].as_str(),
            };
            all_well &= succeeded(self.server.request(forward, self.options()).await);
        }
        all_well
    }

    fn options(&self) -> CallOptions {
        CallOptions {
            caller: Some(Arc::clone(&self.user)),
            ..CallOptions::with_timeout(CALL_TIMEOUT)
        }
    }
}

fn schema_of(tool: &Tool) -> Option<Box<RawValue>> {
    let parts: DefinitionParts<'_> = serde_json::from_str(&tool.definition).ok()?;
    parts.input_schema.map(ToOwned::to_owned)
}

fn succeeded(outcome: ToolResult<CallOutcome>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => report(&error),
    }
}

/// Prints an error and returns `false`.
fn report(error: &pegboard_model::ToolError) -> bool {
    crate::login::note(error);
    eprintln!("{error}");
    false
}

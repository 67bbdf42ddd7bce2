//! Requests of servers to the clients that call them.
//!
//! Every request to a server is sent by [`Inner::send_checked`], so that nothing from a server reaches a client
//! without [`check_client_request`]: requests of legacy servers through the caller, `input_required` results of
//! modern servers, and the elicitations in a `-32042` error.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_guard::{Refusal, check_client_request};
use pegboard_jsonrpc::code;
use pegboard_model::{
    ActivityKind, ClientRequests, Reason, RpcError, ServerName, ServerSpec, ToolError, ToolResult,
    UntrustedText,
};
use pegboard_upstream::{
    CallOptions, CallOutcome, Caller, ClientCapabilities, InputResponses, Listener, OutcomeKind,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::request::SessionId;
use crate::hub::Inner;

const ELICITATION: &str = "elicitation/create";
/// Limit for the requests in one `input_required` result.
const REQUESTS_MAX: usize = 64;
/// How often a server may repeat a declined request before its call fails.
const DECLINED_ROUNDS_MAX: usize = 3;

impl Inner {
    /// Sends a request to a server. Requests of the server to the client are attributed, escaped and bounded on the
    /// way; those that must not reach the client are declined here.
    pub(crate) async fn send_checked<F>(
        self: &Arc<Self>,
        spec: &ServerSpec,
        session: &SessionId,
        mut options: CallOptions,
        send: impl Fn(CallOptions) -> F,
    ) -> ToolResult<CallOutcome>
    where
        F: Future<Output = ToolResult<CallOutcome>>,
    {
        let check = ClientRequestCheck {
            inner: self.clone(),
            server: spec.name.clone(),
            allowed: spec.rules.client_requests,
            session: session.clone(),
        };
        options.caller = options
            .caller
            .map(|caller| Arc::new(CheckedCaller::new(caller, check.clone())) as Arc<dyn Caller>);
        for _ in 0..=DECLINED_ROUNDS_MAX {
            let mut outcome = match send(options.clone()).await {
                Ok(outcome) if outcome.kind == OutcomeKind::InputRequired => outcome,
                Ok(outcome) => return Ok(outcome),
                Err(error) => return Err(check.error(error)),
            };
            match check.input_required(&outcome.result)? {
                Round::Ask(result) => {
                    outcome.result = result;
                    return Ok(outcome);
                }
                Round::Decline(input) => options.input = Some(input),
            }
        }
        Err(check.failure("it repeats a declined request"))
    }
}

/// What to do with an `input_required` result.
enum Round {
    /// Return it to the client.
    Ask(Box<RawValue>),
    /// Call the server again with these responses.
    Decline(InputResponses),
}

#[derive(Deserialize)]
struct InputRequest<'a> {
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Checks the requests of one server during one call.
#[derive(Clone)]
struct ClientRequestCheck {
    inner: Arc<Inner>,
    server: ServerName,
    allowed: ClientRequests,
    session: SessionId,
}

impl ClientRequestCheck {
    /// Checks one request. A refusal is logged and recorded as activity.
    fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Option<Box<RawValue>>, Refusal> {
        let checked = check_client_request(&self.server, self.allowed, method, params);
        if let Err(refusal) = &checked {
            let (server, method) = (
                &self.server,
                UntrustedText::new(method).shortened(60).to_string(),
            );
            tracing::warn!(target: "pegboard", %server, method, "request to the client refused: {}", refusal.message);
            let (telemetry, outcome) = (&self.inner.telemetry, Reason::InputRefused.code());
            telemetry.record(ActivityKind::Request, outcome, |line| {
                line.session = Some(self.session.0.clone());
                line.tool = Some(method);
                line.server = Some(server.clone());
            });
        }
        checked
    }

    /// Checks an `input_required` result of a modern server.
    fn input_required(&self, result: &RawValue) -> ToolResult<Round> {
        let malformed = |what: &str| self.failure(what);
        let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(result.get())
            .map_err(|_| malformed("its request for input is not an object"))?;
        let Some(requests) = members.get("inputRequests") else {
            return Ok(Round::Ask(result.to_owned()));
        };
        let requests: BTreeMap<String, InputRequest<'_>> = serde_json::from_str(requests.get())
            .map_err(|_| malformed("its `inputRequests` cannot be read"))?;
        if requests.len() > REQUESTS_MAX {
            let what = format!("it makes more than {REQUESTS_MAX} requests at once");
            return Err(malformed(&what));
        }
        let (mut passed, mut declined) = (Map::new(), Map::new());
        for (key, wanted) in requests {
            match self.request(&wanted.method, wanted.params) {
                Ok(params) => {
                    let params = params.and_then(|raw| serde_json::from_str(raw.get()).ok());
                    let mut request = json!({"method": wanted.method});
                    if let (Some(params), Some(request)) = (params, request.as_object_mut()) {
                        let _: Option<Value> = request.insert("params".to_owned(), params);
                    }
                    passed.insert(key, request);
                }
                // Only an elicitation can be declined; other requests have no negative response.
                Err(_) if wanted.method == ELICITATION => {
                    declined.insert(key, json!({"action": "decline"}));
                }
                Err(refusal) => return Err(self.failure(&refusal.message)),
            }
        }
        let raw = |value: &Map<String, Value>| {
            to_raw_value(value).map_err(|error| malformed(&error.to_string()))
        };
        if !declined.is_empty() {
            // The server repeats the requests that were not declined.
            return Ok(Round::Decline(InputResponses {
                responses: raw(&declined)?,
                state: members.remove("requestState"),
            }));
        }
        members.insert("inputRequests".to_owned(), raw(&passed)?);
        let checked = to_raw_value(&members).map_err(|error| malformed(&error.to_string()))?;
        Ok(Round::Ask(checked))
    }

    /// Checks the elicitations in a server's error and removes the refused ones.
    fn error(&self, mut error: ToolError) -> ToolError {
        let Some(rpc) = error
            .rpc
            .as_mut()
            .filter(|rpc| rpc.code == code::URL_ELICITATION_REQUIRED)
        else {
            return error;
        };
        rpc.message = format!("Server `{}` asks you to open a URL first", self.server);
        let data = rpc.data.as_deref().unwrap_or("{}");
        let Ok(Value::Object(mut data)) = serde_json::from_str(data) else {
            rpc.data = None;
            return error;
        };
        if let Some(Value::Array(pages)) = data.get_mut("elicitations") {
            let checked = std::mem::take(pages).into_iter().take(REQUESTS_MAX);
            let checked = checked.filter_map(|page| {
                let page = to_raw_value(&page).ok()?;
                let params = self.request(ELICITATION, Some(&page)).ok()??;
                serde_json::from_str(params.get()).ok()
            });
            *pages = checked.collect();
        }
        rpc.data = Some(Value::Object(data).to_string());
        error
    }

    fn failure(&self, what: &str) -> ToolError {
        let what = UntrustedText::new(what).shortened(300);
        let message = format!(
            "the call of server `{}` cannot continue, because its request to the client is refused: {what}",
            self.server
        );
        ToolError::new(Reason::InputRefused, message).at_server(&self.server)
    }
}

/// A client as one server can reach it.
struct CheckedCaller {
    caller: Arc<dyn Caller>,
    /// Without the capabilities that are disabled for this server.
    capabilities: ClientCapabilities,
    check: ClientRequestCheck,
}

impl CheckedCaller {
    fn new(caller: Arc<dyn Caller>, check: ClientRequestCheck) -> Self {
        let capabilities = caller.capabilities().allowed_by(check.allowed);
        Self {
            caller,
            capabilities,
            check,
        }
    }
}

#[async_trait]
impl Caller for CheckedCaller {
    fn session(&self) -> &str {
        self.caller.session()
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        self.caller.wants_progress()
    }

    fn progress(&self, params: &RawValue) {
        self.caller.progress(params);
    }

    fn message(&self, params: &RawValue) {
        self.caller.message(params);
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.caller.listener()
    }

    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        match self.check.request(method, params) {
            Ok(params) => self.caller.send_request(method, params.as_deref()).await,
            Err(refusal) => Err(RpcError {
                code: code::INVALID_PARAMS,
                message: refusal.message,
                data: None,
            }),
        }
    }
}

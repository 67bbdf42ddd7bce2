//! Runs a request to a server until it completes or needs input from the client.
//!
//! Client and server may each be legacy or modern. A legacy client is asked during its request, whatever the server's
//! era. A modern client gets an `input_required` result and retries with its responses: for a modern server they are
//! forwarded; for a legacy server they go to its call, which was parked in the meantime. Pegboard's own approval
//! requests take the same paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use pegboard_hub::{
    CallOutcome, CallRequest, Caller, ForwardRequest, Hub, InputResponses, OutcomeKind,
};
use pegboard_jsonrpc::{Members, quoted};
use pegboard_model::{Era, Reason, RpcError, ServerName, ToolError, ToolResult, UntrustedText};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::adapt_result::adapt_result;
use crate::caller::{InputDelivery, InputRequest};
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::parked::ParkedCall;
use crate::request_state::{RequestState, open_state, seal_parked, seal_server_state};

/// How many times a server may request input during one call.
const MAX_ROUNDS: usize = 20;

/// A request to be sent to a server.
#[derive(Clone)]
pub(crate) enum UpstreamRequest {
    /// A tool call.
    Tool(ToolCall),
    /// Any other forwarded request.
    Other(ForwardRequest),
}

impl UpstreamRequest {
    fn with(mut self, caller: Arc<dyn Caller>, input: Option<InputResponses>) -> Self {
        match &mut self {
            Self::Tool(call) => {
                (call.request.caller, call.request.input) = (Some(caller), input);
            }
            Self::Other(request) => (request.caller, request.input) = (Some(caller), input),
        }
        self
    }

    async fn run(&self, hub: &Hub) -> ToolResult<CallOutcome> {
        match self {
            Self::Tool(call) => hub.call(&call.request).await,
            Self::Other(request) => hub.forward(request).await,
        }
    }

    /// Whether input may be requested during the call: by a legacy server, or by us for a tool that needs approval.
    fn may_request_input(&self, ctx: &RequestContext<'_>) -> bool {
        match self {
            Self::Tool(call) => call.may_request_input,
            Self::Other(request) => {
                let hub = &ctx.conversation.shared.hub;
                hub.needs_approval_for(&request.server, &request.about)
                    || server_era(ctx, &request.server) != Some(Era::Modern)
            }
        }
    }
}

/// The era of a server, if known.
fn server_era(ctx: &RequestContext<'_>, server: &ServerName) -> Option<Era> {
    let catalog = ctx.conversation.shared.hub.catalog();
    catalog.server(server)?.record.era
}

/// A tool call, and what its resolved tool says about it.
#[derive(Clone)]
pub(crate) struct ToolCall {
    pub(crate) request: CallRequest,
    /// Whether the server or the policy may request input during the call.
    pub(crate) may_request_input: bool,
}

/// Why a request failed.
pub(crate) enum ForwardError {
    /// The call failed, with our error or the server's own.
    Tool(ToolError),
    /// The client's request is invalid.
    Request(RequestError),
}

impl From<ToolError> for ForwardError {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<RequestError> for ForwardError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<RpcError> for ForwardError {
    fn from(error: RpcError) -> Self {
        Self::Request(error.into())
    }
}

impl From<ForwardError> for RequestError {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::Tool(error) => error.into(),
            ForwardError::Request(error) => error,
        }
    }
}

/// The outcome of one round.
pub(crate) enum RoundOutcome {
    /// The final result.
    Done(CallOutcome),
    /// A serialized `input_required` result.
    InputRequired(String),
}

/// Forwards a request and returns the result in the form that the client's revision expects. Failures are protocol
/// errors.
pub(crate) async fn forward_request(
    ctx: &RequestContext<'_>,
    request: ForwardRequest,
) -> HandlerResult {
    let is_read = request.method == "resources/read";
    let server = request.server.clone();
    match run(ctx, UpstreamRequest::Other(request)).await? {
        RoundOutcome::InputRequired(result) => Ok(result.into()),
        RoundOutcome::Done(outcome) => {
            let is_legacy = server_era(ctx, &server) == Some(Era::Legacy);
            Ok(adapt_result(ctx, outcome.result, is_legacy, is_read))
        }
    }
}

/// Runs one round of a request.
pub(crate) async fn run(
    ctx: &RequestContext<'_>,
    request: UpstreamRequest,
) -> Result<RoundOutcome, ForwardError> {
    if !ctx.is_modern {
        let caller = Arc::new(ctx.caller(InputDelivery::Inline));
        let outcome = run_rounds(ctx, request, caller.clone()).await;
        caller.report_dropped();
        return Ok(RoundOutcome::Done(outcome?));
    }
    let carried = match ctx.params.state.as_deref() {
        Some(state) => Some(open_state(ctx, state)?),
        None => None,
    };
    let responses = ctx.params.responses;
    let (input, parked) = match carried {
        Some(RequestState::Parked { call, .. }) => (None, Some(call)),
        Some(RequestState::Server { state, .. }) => (Some(input(responses, Some(state))), None),
        None => (responses.map(|_| input(responses, None)), None),
    };
    if let Some(name) = parked {
        let Some(call) = ctx.conversation.shared.parked.take(&name) else {
            let message = "the call that requested this input is no longer waiting";
            let error = ToolError::new(Reason::InputExpired, message);
            return Err(error.into());
        };
        call.caller.resume(ctx.client_channel());
        return drive(ctx, deliver_responses(call, responses)).await;
    }
    let hub = ctx.conversation.shared.hub.clone();
    let accepts_requests = ctx.meta.capabilities.is_some_and(|raw| raw.get().len() > 2);
    if accepts_requests && request.may_request_input(ctx) {
        let (sender, input_requests) = mpsc::unbounded_channel();
        let caller = Arc::new(ctx.caller(InputDelivery::Collect(sender)));
        let call = ParkedCall {
            work: {
                let request = request.with(caller.clone(), input);
                Box::pin(async move { request.run(&hub).await })
            },
            caller,
            input_requests,
            open_requests: BTreeMap::new(),
        };
        return drive(ctx, call).await;
    }
    let caller = Arc::new(ctx.caller(InputDelivery::Refuse));
    let outcome = request.with(caller.clone(), input).run(&hub).await;
    caller.report_dropped();
    finish(ctx, outcome?)
}

/// Converts the outcome of a modern client's call. A server of unknown era may turn out to be modern.
fn finish(ctx: &RequestContext<'_>, outcome: CallOutcome) -> Result<RoundOutcome, ForwardError> {
    match outcome.kind {
        OutcomeKind::InputRequired => {
            let sealed = seal_server_state(ctx, &outcome.result);
            let sealed = sealed.ok_or_else(|| malformed("it is not an object"))?;
            Ok(RoundOutcome::InputRequired(sealed))
        }
        _ => Ok(RoundOutcome::Done(outcome)),
    }
}

/// Runs a legacy client's request. Input that a modern server requires is requested during the call.
async fn run_rounds(
    ctx: &RequestContext<'_>,
    mut request: UpstreamRequest,
    caller: Arc<dyn Caller>,
) -> Result<CallOutcome, ForwardError> {
    let mut next = None;
    for _ in 0..MAX_ROUNDS {
        request = request.with(caller.clone(), next);
        let outcome = request.run(&ctx.conversation.shared.hub).await?;
        if outcome.kind != OutcomeKind::InputRequired {
            return Ok(outcome);
        }
        let required: InputRequiredResult<'_> = serde_json::from_str(outcome.result.get())
            .map_err(|error| malformed(&error.to_string()))?;
        let mut responses = serde_json::Map::new();
        for (key, input_request) in required.input_requests {
            // The server knows the client's capabilities and must not request anything else.
            let InputRequestBody { method, params } = input_request;
            if !caller.capabilities().supports(&method, params) {
                let method = UntrustedText::new(&method);
                let why = format!("it requests `{method}`, which the client did not declare");
                return Err(malformed(&why).into());
            }
            let response = caller.send_request(&method, params).await?;
            let response = serde_json::from_str(response.get());
            let response = response.map_err(|error| malformed(&error.to_string()))?;
            responses.insert(key, response);
        }
        let responses = serde_json::value::to_raw_value(&responses);
        next = Some(InputResponses {
            responses: responses.map_err(|error| malformed(&error.to_string()))?,
            state: required.state.map(RawValue::to_owned),
        });
    }
    Err(malformed("it requests input too many times").into())
}

#[derive(Deserialize)]
struct InputRequiredResult<'a> {
    #[serde(borrow, default, rename = "inputRequests")]
    input_requests: BTreeMap<String, InputRequestBody<'a>>,
    #[serde(borrow, default, rename = "requestState")]
    state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct InputRequestBody<'a> {
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn malformed(why: &str) -> ToolError {
    let message = format!("invalid `input_required` result from the server: {why}");
    ToolError::new(Reason::FrameInvalid, message)
}

fn input(responses: Option<&RawValue>, state: Option<Box<RawValue>>) -> InputResponses {
    let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_default();
    InputResponses {
        responses: responses.map_or_else(empty, RawValue::to_owned),
        state,
    }
}

/// Delivers the client's responses to a parked call. Requests without a response stay open.
fn deliver_responses(mut call: ParkedCall, responses: Option<&RawValue>) -> ParkedCall {
    let responses = responses.and_then(|raw| Members::of(raw.get()));
    let open = std::mem::take(&mut call.open_requests);
    for (key, input_request) in open {
        let given = responses.as_ref().and_then(|responses| responses.get(&key));
        match given.and_then(|given| RawValue::from_string(given.to_owned()).ok()) {
            // The server may have given up in the meantime.
            Some(given) => drop(input_request.response.send(Ok(given))),
            None => drop(call.open_requests.insert(key, input_request)),
        }
    }
    call
}

/// Drives a call until it completes or its server requests input.
async fn drive(
    ctx: &RequestContext<'_>,
    mut call: ParkedCall,
) -> Result<RoundOutcome, ForwardError> {
    // Drop requests whose responses are no longer awaited.
    call.open_requests
        .retain(|_, input_request| !input_request.response.is_closed());
    if call.open_requests.is_empty() {
        let input_request = tokio::select! {
            biased;
            outcome = &mut call.work => {
                call.caller.report_dropped();
                return finish(ctx, outcome?);
            }
            Some(input_request) = call.input_requests.recv() => input_request,
        };
        call.add_request(input_request);
    }
    while let Ok(input_request) = call.input_requests.try_recv() {
        call.add_request(input_request);
    }
    let input_requests: Vec<String> = (call.open_requests.iter())
        .map(|(key, input_request)| format!("{}:{}", quoted(key), input_request.json()))
        .collect();
    let shared = &ctx.conversation.shared;
    let Some(name) = shared.parked.park(call) else {
        let message = "too many calls are waiting for input from their clients";
        return Err(ToolError::new(Reason::Overloaded, message).into());
    };
    let state = seal_parked(ctx, name);
    Ok(RoundOutcome::InputRequired(format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":"{state}"}}"#,
        input_requests.join(",")
    )))
}

impl ParkedCall {
    fn add_request(&mut self, input_request: InputRequest) {
        let open = &mut self.open_requests;
        let mut keys = (open.len() + 1..).map(|number| format!("question_{number}"));
        if let Some(key) = keys.find(|key| !open.contains_key(key)) {
            open.insert(key, input_request);
        }
    }
}

impl InputRequest {
    fn json(&self) -> String {
        let params = self.params.as_deref().map_or("{}", RawValue::get);
        format!(r#"{{"method":{},"params":{params}}}"#, quoted(&self.method))
    }
}

//! A request to a server, until it is done or the client has to answer something first.
//!
//! Four pairs meet here. A legacy client is asked in the middle of its request, whatever its server speaks. A
//! modern client gets a result that says `input_required` and comes back with its answers: those of a modern
//! server are passed on, those of a legacy one go to its call, which was parked meanwhile. Pegboard's own question
//! whether a tool may run travels the same ways.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use pegboard_hub::{
    CallOutcome, CallRequest, Caller, ForwardRequest, Hub, InputResponses, OutcomeKind, declares,
};
use pegboard_model::{Era, Policy, Reason, RpcError, ToolError, ToolResult, UntrustedText};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::caller::{InputDelivery, InputRequest};
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::legacy_result::for_legacy;
use crate::members::{Members, quoted};
use crate::parked::{PARK_TIMEOUT, ParkedCall};

/// How often one request may ask for more before it is given up.
const MAX_ROUNDS: usize = 20;
const PURPOSE: &str = "request state";

/// What a request is about to do.
#[derive(Clone)]
pub(crate) enum UpstreamRequest {
    /// Call a tool.
    Tool(CallRequest),
    /// Something else, passed on.
    Other(ForwardRequest),
}

impl UpstreamRequest {
    fn with(mut self, caller: Arc<dyn Caller>, input: Option<InputResponses>) -> Self {
        match &mut self {
            Self::Tool(request) => (request.caller, request.input) = (Some(caller), input),
            Self::Other(request) => (request.caller, request.input) = (Some(caller), input),
        }
        self
    }

    async fn run(&self, hub: &Hub) -> ToolResult<CallOutcome> {
        match self {
            Self::Tool(request) => hub.call(request).await,
            Self::Other(request) => hub.forward(request).await,
        }
    }

    /// Whether a question may come up in the middle of it: of a server that asks inside its calls, or of our own
    /// about a tool that needs a person's consent.
    fn may_ask(&self, ctx: &RequestContext<'_>) -> bool {
        let catalog = ctx.conversation.shared.hub.catalog();
        let (server, needs_approval) = match self {
            Self::Tool(request) => match catalog.find(&request.tool) {
                Ok(view) => {
                    let is_free = view.policy() == Policy::Allow && !view.asks_if_possible();
                    (view.entry(), !is_free)
                }
                Err(_) => return true,
            },
            Self::Other(request) => {
                let hub = &ctx.conversation.shared.hub;
                let needs_approval = hub.needs_approval_for(&request.server, &request.about);
                (catalog.server(&request.server), needs_approval)
            }
        };
        needs_approval || server.is_none_or(|entry| entry.record.era != Some(Era::Modern))
    }

    /// The era of its server, as far as it is known.
    fn era(&self, ctx: &RequestContext<'_>) -> Option<Era> {
        let catalog = ctx.conversation.shared.hub.catalog();
        match self {
            Self::Tool(request) => {
                let view = catalog.find(&request.tool).ok()?;
                view.entry()?.record.era
            }
            Self::Other(request) => catalog.server(&request.server)?.record.era,
        }
    }
}

/// Why a request has no result.
pub(crate) enum ForwardError {
    /// It did not work, in our words or with the server's own error.
    Tool(Box<ToolError>),
    /// What the client sent is no good.
    RequestError(RequestError),
}

impl From<ToolError> for ForwardError {
    fn from(error: ToolError) -> Self {
        Self::Tool(Box::new(error))
    }
}

impl From<RequestError> for ForwardError {
    fn from(fault: RequestError) -> Self {
        Self::RequestError(fault)
    }
}

impl From<RpcError> for ForwardError {
    fn from(error: RpcError) -> Self {
        Self::RequestError(error.into())
    }
}

impl From<ForwardError> for RequestError {
    fn from(failure: ForwardError) -> Self {
        match failure {
            ForwardError::Tool(error) => (*error).into(),
            ForwardError::RequestError(fault) => fault,
        }
    }
}

/// How far a request came.
pub(crate) enum RoundOutcome {
    /// Its result.
    Done(CallOutcome),
    /// A result that asks for more, ready to be sent.
    InputRequired(String),
}

/// What a client carries between two rounds.
#[derive(Serialize, Deserialize)]
enum RequestState {
    /// A server's own state, for the same request.
    Server {
        digest: String,
        state: Box<RawValue>,
        until: u64,
    },
    /// A call that is parked here.
    Parked { digest: String, call: String },
}

/// Passes a request on and gives its result as it goes to the client; a failure is a protocol error.
pub(crate) async fn forward_request(
    ctx: &RequestContext<'_>,
    request: ForwardRequest,
) -> HandlerResult {
    let is_read = request.method == "resources/read";
    let target = UpstreamRequest::Other(request);
    match run(ctx, target.clone()).await? {
        RoundOutcome::InputRequired(result) => Ok(result.into()),
        RoundOutcome::Done(outcome) => {
            let is_legacy = target.era(ctx) == Some(Era::Legacy);
            Ok(adapt_result(ctx, outcome.result, is_legacy, is_read))
        }
    }
}

/// Runs a request as far as it goes.
pub(crate) async fn run(
    ctx: &RequestContext<'_>,
    target: UpstreamRequest,
) -> Result<RoundOutcome, ForwardError> {
    if !ctx.is_modern {
        return Ok(RoundOutcome::Done(run_legacy(ctx, target).await?));
    }
    let carried = match ctx.params.state.as_deref() {
        Some(state) => Some(open(ctx, state)?),
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
            let message = "the call that asked for this input is no longer waiting";
            let error = ToolError::new(Reason::InputExpired, message);
            return Err(error.into());
        };
        call.caller.resume(ctx.reach());
        return wait(ctx, answered(call, responses)).await;
    }
    let hub = ctx.conversation.shared.hub.clone();
    let can_answer = ctx.meta.capabilities.is_some_and(|raw| raw.get().len() > 2);
    if can_answer && target.may_ask(ctx) {
        let (sender, questions) = mpsc::unbounded_channel();
        let caller = Arc::new(ctx.caller(InputDelivery::Collect(sender)));
        let call = ParkedCall {
            work: {
                let target = target.with(caller.clone(), input);
                Box::pin(async move { target.run(&hub).await })
            },
            caller,
            questions,
            open: BTreeMap::new(),
        };
        return wait(ctx, call).await;
    }
    let caller = Arc::new(ctx.caller(InputDelivery::Refuse));
    let outcome = target.with(caller.clone(), input).run(&hub).await;
    caller.report_dropped();
    finished(ctx, outcome?)
}

/// What a server answered a modern client. A server whose era was not known before may turn out to be modern.
fn finished(ctx: &RequestContext<'_>, outcome: CallOutcome) -> Result<RoundOutcome, ForwardError> {
    match outcome.kind {
        OutcomeKind::InputRequired => Ok(RoundOutcome::InputRequired(seal_state(
            ctx,
            &outcome.result,
        )?)),
        _ => Ok(RoundOutcome::Done(outcome)),
    }
}

/// Runs a legacy client's request; what a modern server wants is asked for in the middle of it.
async fn run_legacy(
    ctx: &RequestContext<'_>,
    target: UpstreamRequest,
) -> Result<CallOutcome, ForwardError> {
    let caller = Arc::new(ctx.caller(InputDelivery::Ask));
    let outcome = run_rounds(ctx, target, caller.clone()).await;
    caller.report_dropped();
    outcome
}

async fn run_rounds(
    ctx: &RequestContext<'_>,
    mut target: UpstreamRequest,
    caller: Arc<dyn Caller>,
) -> Result<CallOutcome, ForwardError> {
    let mut next = None;
    for _ in 0..MAX_ROUNDS {
        target = target.with(caller.clone(), next);
        let outcome = target.run(&ctx.conversation.shared.hub).await?;
        if outcome.kind != OutcomeKind::InputRequired {
            return Ok(outcome);
        }
        let wanted: InputRequiredResult<'_> = serde_json::from_str(outcome.result.get())
            .map_err(|error| malformed(&error.to_string()))?;
        let mut responses = serde_json::Map::new();
        for (key, question) in wanted.questions {
            // A server that knows what the client can do asks for nothing else.
            if !declares(caller.capabilities(), &question.method, question.params) {
                let method = UntrustedText::new(&question.method);
                return Err(malformed(&format!("the client did not declare `{method}`")).into());
            }
            let answer = caller.ask(&question.method, question.params).await?;
            let answer = serde_json::from_str(answer.get());
            responses.insert(key, answer.map_err(|error| malformed(&error.to_string()))?);
        }
        let responses = serde_json::value::to_raw_value(&responses);
        next = Some(InputResponses {
            responses: responses.map_err(|error| malformed(&error.to_string()))?,
            state: wanted.state.map(RawValue::to_owned),
        });
    }
    Err(malformed("it asked for input again and again").into())
}

#[derive(Deserialize)]
struct InputRequiredResult<'a> {
    #[serde(borrow, default, rename = "inputRequests")]
    questions: BTreeMap<String, InputRequestBody<'a>>,
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
    let message = format!("the server's wish for input cannot be met: {why}");
    ToolError::new(Reason::FrameInvalid, message)
}

fn input(responses: Option<&RawValue>, state: Option<Box<RawValue>>) -> InputResponses {
    let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_default();
    InputResponses {
        responses: responses.map_or_else(empty, RawValue::to_owned),
        state,
    }
}

/// Gives a parked call the answers that the client brought; what it did not answer stays open.
fn answered(mut call: ParkedCall, responses: Option<&RawValue>) -> ParkedCall {
    let responses = responses.and_then(|raw| Members::of(raw.get()));
    let open = std::mem::take(&mut call.open);
    for (key, question) in open {
        let given = responses.as_ref().and_then(|responses| responses.get(&key));
        match given.and_then(|given| RawValue::from_string(given.to_owned()).ok()) {
            // The server may have given up meanwhile.
            Some(given) => drop(question.answer.send(Ok(given))),
            None => drop(call.open.insert(key, question)),
        }
    }
    call
}

/// Lets a call go on until it is done or its server asks something.
async fn wait(
    ctx: &RequestContext<'_>,
    mut call: ParkedCall,
) -> Result<RoundOutcome, ForwardError> {
    // Whoever waits for an answer no longer is not asked again.
    call.open.retain(|_, question| !question.answer.is_closed());
    if call.open.is_empty() {
        let question = tokio::select! {
            biased;
            outcome = &mut call.work => {
                call.caller.report_dropped();
                return finished(ctx, outcome?);
            }
            Some(question) = call.questions.recv() => question,
        };
        call.note(question);
    }
    while let Ok(question) = call.questions.try_recv() {
        call.note(question);
    }
    let questions: Vec<String> = (call.open.iter())
        .map(|(key, question)| format!("{}:{}", quoted(key), question.json()))
        .collect();
    let shared = &ctx.conversation.shared;
    let Some(name) = shared.parked.park(call) else {
        let message = "too many calls wait for input of their clients";
        return Err(ToolError::new(Reason::Overloaded, message).into());
    };
    let state = RequestState::Parked {
        digest: digest(ctx),
        call: name,
    };
    let state = shared.sealer.seal(PURPOSE, &state).unwrap_or_default();
    Ok(RoundOutcome::InputRequired(format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":"{state}"}}"#,
        questions.join(",")
    )))
}

impl ParkedCall {
    fn note(&mut self, question: InputRequest) {
        let mut number = self.open.len() + 1;
        while self.open.contains_key(&format!("question_{number}")) {
            number += 1;
        }
        self.open.insert(format!("question_{number}"), question);
    }
}

impl InputRequest {
    fn json(&self) -> String {
        let params = self.params.as_deref().map_or("{}", RawValue::get);
        format!(r#"{{"method":{},"params":{params}}}"#, quoted(&self.method))
    }
}

/// A modern server's wish for input, with its state sealed so that it comes back for this request alone.
fn seal_state(ctx: &RequestContext<'_>, result: &RawValue) -> Result<String, ForwardError> {
    let malformed = || malformed("it is no object");
    let mut members = Members::of(result.get()).ok_or_else(malformed)?;
    let state = members.get("requestState").map(str::to_owned);
    if let Some(state) = state.and_then(|state| RawValue::from_string(state).ok()) {
        let state = RequestState::Server {
            digest: digest(ctx),
            state,
            until: now().saturating_add(PARK_TIMEOUT.as_secs()),
        };
        let sealed = ctx.conversation.shared.sealer.seal(PURPOSE, &state);
        members.set("requestState", quoted(&sealed.unwrap_or_default()));
    }
    Ok(members.to_string())
}

fn open(ctx: &RequestContext<'_>, state: &str) -> Result<RequestState, RequestError> {
    let state: Option<RequestState> = ctx.conversation.shared.sealer.open(PURPOSE, state);
    let expected = digest(ctx);
    match state {
        Some(RequestState::Server { until, .. }) if until < now() => Err(RequestError::invalid(
            "`requestState` is too old; make the request again without it",
        )),
        Some(state @ (RequestState::Server { .. } | RequestState::Parked { .. }))
            if state.digest() == expected =>
        {
            Ok(state)
        }
        _ => Err(RequestError::invalid(
            "`requestState` is not from us, or is for another request",
        )),
    }
}

impl RequestState {
    fn digest(&self) -> &str {
        match self {
            Self::Server { digest, .. } | Self::Parked { digest, .. } => digest,
        }
    }
}

/// What a request is about, in short: the same for each of its rounds.
fn digest(ctx: &RequestContext<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    let arguments = ctx.params.arguments.map_or("", RawValue::get);
    let subject = ctx.message.subject().unwrap_or_default();
    for part in [
        &ctx.conversation.profile,
        ctx.message.method(),
        subject,
        arguments,
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher
        .finalize()
        .to_hex()
        .get(..32)
        .unwrap_or_default()
        .to_owned()
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A result as the client's revision wants it. A legacy server's has no `resultType`, which a modern client
/// needs; a modern server's has members that a legacy client does not know. Everything else stays as it is.
pub(crate) fn adapt_result(
    ctx: &RequestContext<'_>,
    result: Box<RawValue>,
    is_legacy: bool,
    is_read: bool,
) -> Bytes {
    let text = String::from(Box::<str>::from(result));
    if !ctx.is_modern {
        return for_legacy(text, is_read).into();
    }
    if !is_legacy {
        return text.into();
    }
    let Some(rest) = text.strip_prefix('{') else {
        return text.into();
    };
    let mut added = vec![("resultType", r#""complete""#)];
    if is_read {
        added.extend([("ttlMs", "0"), ("cacheScope", r#""private""#)]);
    }
    // A server may say it though its revision does not ask for it, and no member may stand there twice.
    if added.iter().any(|(key, _)| text.contains(key))
        && let Some(members) = Members::of(&text)
    {
        added.retain(|(key, _)| members.get(key).is_none());
    }
    let mut added: Vec<String> = (added.iter())
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    if !rest.trim_start().starts_with('}') || added.is_empty() {
        added.push(String::new());
    }
    format!("{{{}{rest}", added.join(",")).into()
}

//! Finds the response to a request among the events of a stream, and resumes streams that broke.

use std::sync::Arc;
use std::time::Duration;

use pegboard_jsonrpc::{Message, MessageError, Request, RpcResponse, parse};
use pegboard_model::{Reason, ToolError, ToolResult};
use reqwest::StatusCode;
use reqwest::header::HeaderValue;

use crate::callers::MessageSource;
use crate::http::body::{self, ContentKind};
use crate::http::exchange::Channel;
use crate::http::response::Response;
use crate::http::sse::{Event, EventName, Parser};
use crate::inbound::RequestAction;
use crate::malformed::{Diagnosis, diagnose};

/// Requests of a server within one response that we answer at once.
const MAX_REPLIES: usize = 100;
/// The default, minimum and maximum delay before a broken stream is resumed.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where a stream broke off.
#[derive(Default)]
pub(crate) struct StreamPosition {
    pub(crate) last_event: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl StreamPosition {
    /// Records the position and retry delay of the stream so far.
    pub(crate) fn note(&mut self, parser: &Parser) {
        if let Some(id) = parser.last_id() {
            self.last_event = HeaderValue::from_str(id).ok();
        }
        self.retry = parser.retry().or(self.retry);
    }

    /// Returns the delay that the server asked for, clamped.
    pub(crate) fn retry_delay(&self) -> Option<Duration> {
        self.retry
            .map(|pause| pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
    }
}

impl Channel {
    /// Returns the response among the events. A legacy server may break off and let the client resume the stream.
    pub(crate) async fn response_among_events(
        self: &Arc<Self>,
        mut response: Response,
        wanted: u64,
        limit: usize,
    ) -> ToolResult<RpcResponse> {
        let mut position = StreamPosition::default();
        let mut replies = 0;
        loop {
            let mut parser = Parser::new(limit);
            let mut response_budget = self.response_budget();
            let broken = loop {
                let chunk = match response.chunk().await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break None,
                    Err(error) => break Some(self.broken(error)),
                };
                for event in parser
                    .push(&chunk)
                    .map_err(|_| body::too_large(&self.errors, limit))?
                {
                    if let Some(rpc_response) =
                        self.handle_event(&event, Some(wanted), &mut replies)
                    {
                        return rpc_response;
                    }
                }
                let counted = response_budget.resize(parser.held_bytes()).await;
                counted.map_err(|full| body::over_budget(&self.errors, full))?;
            };
            position.note(&parser);
            response = match self.resume(&position).await {
                Some(response) => response,
                None => {
                    return Err(broken.unwrap_or_else(|| {
                        self.errors.error(
                            Reason::ConnectFailed,
                            "ended the stream before the response",
                        )
                    }));
                }
            };
        }
    }

    /// Resumes a stream; `None` if that is not possible. The caller limits the time.
    async fn resume(&self, position: &StreamPosition) -> Option<Response> {
        let last_event = position.last_event.as_ref()?;
        // Only a legacy session has a negotiated revision; modern streams cannot be resumed.
        self.legacy_session().version.as_ref()?;
        loop {
            tokio::time::sleep(position.retry_delay().unwrap_or(PAUSE)).await;
            match self.get(Some(last_event)).await {
                Ok(response) if is_stream(&response) => return Some(response),
                Ok(response) if !may_be_temporary(response.status()) => return None,
                // A temporary failure.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Handles one event. Returns the response if it is the wanted one.
    pub(crate) fn handle_event(
        self: &Arc<Self>,
        event: &Event,
        wanted: Option<u64>,
        replies: &mut usize,
    ) -> Option<ToolResult<RpcResponse>> {
        if event.data.is_empty() {
            return None;
        }
        if event.name == EventName::Endpoint && wanted.is_some() {
            self.clues.note_endpoint();
            let what = "answered with the event `endpoint` of the old HTTP+SSE transport";
            return Some(Err(self.errors.error(Reason::HttpProtocol, what)));
        }
        let source = wanted.map_or(MessageSource::Side, MessageSource::Call);
        match parse(&event.data, self.limits.json_depth) {
            Ok(Message::Response { id, response }) if Some(id) == wanted => {
                return Some(response.map_err(|why| self.invalid_response(why)));
            }
            Ok(Message::Response { .. }) => self.inbound.count_dropped(),
            Ok(Message::UnaddressedError(error)) => self.inbound.handle_unaddressed_error(&error),
            Ok(Message::Notification { method, params }) => {
                self.inbound.handle_notification(&method, params, source);
                self.inbound.flush();
            }
            Ok(Message::Request(request)) => self.handle_server_request(&request, source, replies),
            Err(error) => {
                self.inbound.count_invalid();
                if let Some(wanted) = wanted
                    && error == MessageError::NotJson
                {
                    return self.damaged(&event.data, wanted).map(Err);
                }
            }
        }
        None
    }

    /// Returns the error for an event that was meant to be the wanted response but is not JSON.
    fn damaged(&self, data: &str, wanted: u64) -> Option<ToolError> {
        let (traces, why) = match diagnose(data) {
            Diagnosis::Whole(_) => return None,
            Diagnosis::PartialMessage(traces) => (traces, "ends in the middle".to_owned()),
            Diagnosis::Broken(traces, error) => (traces, format!("is not valid JSON: {error}")),
        };
        let is_wanted = traces.is_response() && traces.id.is_none_or(|id| id == wanted);
        is_wanted.then(|| self.invalid_response(&why))
    }

    fn handle_server_request(
        self: &Arc<Self>,
        request: &Request<'_>,
        source: MessageSource,
        replies: &mut usize,
    ) {
        let is_legacy = self.legacy_session().version.is_some();
        match self.inbound.handle_request(request, !is_legacy, source) {
            RequestAction::Respond(frame) => {
                *replies += 1;
                if is_legacy && *replies <= MAX_REPLIES {
                    tokio::spawn(self.detached_post(frame));
                }
            }
            later => {
                let channel = Arc::clone(self);
                tokio::spawn(async move {
                    if let Some(frame) = later.frame().await {
                        channel.post_detached(frame).await;
                    }
                });
            }
        }
    }
}

/// Returns whether a response is an event stream.
pub(crate) fn is_stream(response: &Response) -> bool {
    response.status().is_success() && body::kind(response) == ContentKind::Events
}

/// Returns whether a failure with this status may be temporary.
pub(crate) fn may_be_temporary(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

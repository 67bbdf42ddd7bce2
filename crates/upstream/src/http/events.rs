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
use crate::http::sse::{Event, Parser};
use crate::inbound::RequestAction;
use crate::malformed::{Diagnosis, diagnose};

/// Requests of a server within one response that we answer at once.
const REPLIES_PER_ANSWER: usize = 100;
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
    pub(crate) async fn answer_among_events(
        self: &Arc<Self>,
        mut response: Response,
        wanted: u64,
        limit: usize,
    ) -> ToolResult<RpcResponse> {
        let mut position = StreamPosition::default();
        let mut replies = 0;
        loop {
            let mut parser = Parser::new(limit);
            let mut room = self.room();
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
                    if let Some(answer) = self.take_event(&event, Some(wanted), &mut replies) {
                        return answer;
                    }
                }
                let counted = room.resize(parser.held_bytes()).await;
                counted.map_err(|full| body::over_budget(&self.errors, full))?;
            };
            position.note(&parser);
            response = match self.rest(&position).await {
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
    async fn rest(&self, position: &StreamPosition) -> Option<Response> {
        let last_event = position.last_event.as_ref()?;
        // Only a legacy session has a negotiated revision; modern streams cannot be resumed.
        self.state().version.as_ref()?;
        loop {
            tokio::time::sleep(position.retry_delay().unwrap_or(PAUSE)).await;
            match self.get(Some(last_event)).await {
                Ok(response) if is_stream(&response) => return Some(response),
                Ok(response) if !may_pass(response.status()) => return None,
                // A temporary failure.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Handles one event. Returns the response if it is the wanted one.
    pub(crate) fn take_event(
        self: &Arc<Self>,
        event: &Event,
        wanted: Option<u64>,
        replies: &mut usize,
    ) -> Option<ToolResult<RpcResponse>> {
        if event.data.is_empty() {
            return None;
        }
        let place = wanted.map_or(MessageSource::Aside, MessageSource::Call);
        match parse(&event.data, self.limits.json_depth) {
            Ok(Message::Response { id, response }) if Some(id) == wanted => {
                return Some(response.map_err(|why| self.no_answer(why)));
            }
            Ok(Message::Response { .. }) => self.inbound.count_dropped(),
            Ok(Message::UnaddressedError(error)) => self.inbound.handle_unaddressed_error(&error),
            Ok(Message::Notification { method, params }) => {
                self.inbound.handle_notification(&method, params, place);
                self.inbound.flush();
            }
            Ok(Message::Request(request)) => self.take_request(&request, place, replies),
            Err(flaw) => {
                self.inbound.count_invalid();
                if let Some(wanted) = wanted
                    && flaw == MessageError::NotJson
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
        let is_wanted = traces.is_answer() && traces.id.is_none_or(|id| id == wanted);
        is_wanted.then(|| self.no_answer(&why))
    }

    fn take_request(
        self: &Arc<Self>,
        request: &Request<'_>,
        place: MessageSource,
        replies: &mut usize,
    ) {
        let is_legacy = self.state().version.is_some();
        match self.inbound.handle_request(request, !is_legacy, place) {
            RequestAction::Reply(frame) => {
                *replies += 1;
                if is_legacy && *replies <= REPLIES_PER_ANSWER {
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
pub(crate) fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

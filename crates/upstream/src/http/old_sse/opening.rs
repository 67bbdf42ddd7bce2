//! Opens a connection: the stream, the endpoint, the handshake.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Reason, ToolError, ToolResult};
use reqwest::Url;

use super::endpoint::endpoint_url;
use super::failure::{OpenFailure, explain_gone};
use super::upstream::{SseLink, SseUpstream};
use crate::contract::Upstream;
use crate::errors::format_duration;
use crate::http::body;
use crate::http::events::is_stream;
use crate::http::exchange::Channel;
use crate::http::response::Response;
use crate::http::sse::{Event, EventName, Parser};
use crate::session::{Session, SessionConfig};
use crate::subscriptions::Subscriptions;

/// How long the head of the stream and the event `endpoint` may take. Some servers never send it.
const ENDPOINT_TIME: Duration = Duration::from_secs(10);
/// Events before `endpoint` that are skipped.
const EVENTS_BEFORE_ENDPOINT: usize = 16;

/// A stream whose endpoint is known.
pub(super) struct OpenStream {
    pub(super) response: Response,
    pub(super) parser: Parser,
    pub(super) endpoint: Url,
    /// Events that arrived together with the endpoint.
    pub(super) early: Vec<Event>,
}

/// Opens a connection. Returns the unused configuration if that fails.
pub(crate) async fn open(
    channel: Arc<Channel>,
    setup: SessionConfig,
) -> Result<Arc<dyn Upstream>, (SessionConfig, OpenFailure)> {
    let stream = match tokio::time::timeout(ENDPOINT_TIME, open_stream(&channel)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(failure)) => return Err((setup, failure)),
        Err(_) => return Err((setup, OpenFailure::NoEndpoint(no_endpoint(&channel)))),
    };
    let link = SseLink::start(Arc::clone(&channel), stream);
    let handshake = link.handshake_client(&setup).initialize_legacy().await;
    let handshake = match handshake {
        Ok(handshake) => handshake,
        Err(error) => return Err((setup, OpenFailure::Failed(error))),
    };
    let subscriptions = Arc::new(Subscriptions::new(setup.limits.subscriptions_per_server));
    Ok(Arc::new(SseUpstream {
        session: Session::new(link, setup, handshake, subscriptions),
        started: crate::now(),
    }))
}

async fn open_stream(channel: &Channel) -> Result<OpenStream, OpenFailure> {
    let response = channel.get(None).await.map_err(OpenFailure::Failed)?;
    let response = check_head(channel, response).await?;
    let read = read_endpoint(channel, response).await;
    read.map_err(|error| match error.reason {
        Reason::HttpProtocol => OpenFailure::NoEndpoint(error),
        _ => OpenFailure::Failed(error),
    })
}

/// Checks that the response is an event stream.
async fn check_head(channel: &Channel, mut response: Response) -> Result<Response, OpenFailure> {
    if is_stream(&response) {
        return Ok(response);
    }
    if let Some(error) = channel.login_error(&mut response).await {
        return Err(OpenFailure::Failed(error));
    }
    let status = response.status();
    let what = match status {
        _ if status.is_redirection() => {
            let what = "redirects its event stream to another address, which is not followed";
            let error = channel.errors.error(Reason::HttpRedirectRefused, what);
            return Err(OpenFailure::NotOffered(error));
        }
        _ if status.is_success() => {
            let preview = channel.errors.preview(&body::preview(&mut response).await);
            format!("has no event stream at its URL, but: \"{preview}\"")
        }
        _ => format!("refused the event stream with HTTP {}", status.as_u16()),
    };
    let reason = match status.is_success() {
        true => Reason::HttpProtocol,
        false => Reason::HttpStatus,
    };
    let mut error = channel.errors.error(reason, what);
    let is_temporary = crate::http::events::may_be_temporary(status);
    error.retryable = is_temporary;
    let error = explain_gone(error, status.as_u16());
    Err(match is_temporary {
        true => OpenFailure::Failed(error),
        false => OpenFailure::NotOffered(error),
    })
}

/// Reads up to the event `endpoint`. The caller limits the time.
async fn read_endpoint(channel: &Channel, mut response: Response) -> ToolResult<OpenStream> {
    let errors = &channel.errors;
    let limit = channel.limits.result_bytes.max(channel.limits.frame_bytes);
    let mut parser = Parser::new(channel.limits.frame_bytes);
    let mut skipped = 0;
    loop {
        let chunk = response
            .chunk()
            .await
            .map_err(|error| channel.broken(error))?;
        let Some(chunk) = chunk else {
            let what = "ended its event stream before the event `endpoint`";
            return Err(errors.error(Reason::HttpProtocol, what));
        };
        let too_large = |_| body::too_large(errors, channel.limits.frame_bytes);
        let mut events = parser.push(&chunk).map_err(too_large)?.into_iter();
        while let Some(event) = events.next() {
            if event.name == EventName::Endpoint {
                let endpoint = resolve(channel, &event.data)?;
                parser.set_limit(limit);
                return Ok(OpenStream {
                    response,
                    parser,
                    endpoint,
                    early: events.collect(),
                });
            }
            skipped += 1;
            if skipped > EVENTS_BEFORE_ENDPOINT {
                return Err(no_endpoint(channel));
            }
        }
    }
}

/// Returns the URL for our messages.
pub(super) fn resolve(channel: &Channel, data: &str) -> ToolResult<Url> {
    endpoint_url(&channel.target.url, data).map_err(|flaw| {
        let what = format_args!("named an endpoint for messages that {flaw}");
        let error = channel.errors.error(Reason::HttpProtocol, what);
        error.with_remedy(flaw.remedy())
    })
}

fn no_endpoint(channel: &Channel) -> ToolError {
    let what = format_args!(
        "opened an event stream, but did not send the event `endpoint` within {}",
        format_duration(ENDPOINT_TIME)
    );
    let error = channel.errors.error(Reason::HttpProtocol, what);
    error.with_remedy(
        "Check that the URL is the one for the HTTP+SSE transport, which usually ends in `/sse`.",
    )
}

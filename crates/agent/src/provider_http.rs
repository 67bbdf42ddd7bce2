//! HTTP code shared by the providers: JSON requests, event streams, error statuses.

use std::time::Duration;

use bytes::Bytes;
use pegboard_model::{Reason, ToolError, UntrustedText};
use pegboard_upstream::{ApiEndpoint, ApiResponse, ApiResponseLimits};
use serde_json::Value;

use crate::provider::ModelError;

/// Limits of one response.
pub(crate) const LIMITS: ApiResponseLimits = ApiResponseLimits {
    // OpenAI's last event repeats the whole response.
    event_bytes: 32 * 1024 * 1024,
    total_bytes: 128 * 1024 * 1024,
    // A model may think for long before its first token; providers send keep-alive events meanwhile.
    silence: Duration::from_secs(300),
};

/// Parts of one response; a model writes a few.
pub(crate) const MAX_PARTS: usize = 1_000;

/// Characters of a provider's error message that are shown.
const EXCERPT_CHARS: usize = 600;

/// Statuses after which a retry may succeed.
const TRANSIENT: [u16; 9] = [408, 409, 425, 429, 500, 502, 503, 504, 529];

/// Sends a request and checks the status.
pub(crate) async fn post(service: &ApiEndpoint, body: &Value) -> Result<ApiResponse, ModelError> {
    let body = Bytes::from(body.to_string());
    let mut reply = service.post(body, LIMITS).await.map_err(transport_error)?;
    match reply.status() {
        200..=299 => Ok(reply),
        status => Err(refused(service, status, &mut reply).await),
    }
}

/// Returns the next event as JSON, or `None` at the end of the stream.
pub(crate) async fn next_event(reply: &mut ApiResponse) -> Result<Option<Value>, ModelError> {
    loop {
        let event = match reply.next_event().await.map_err(transport_error)? {
            Some(event) => event,
            None => return Ok(None),
        };
        if event.is_empty() || event == "[DONE]" {
            continue;
        }
        let read = serde_json::from_str(&event);
        return read.map(Some).map_err(|error| {
            let message = format!("the model's provider sent an event that is not JSON: {error}");
            ModelError::transient(ToolError::new(Reason::ModelUnavailable, message))
        });
    }
}

/// Returns the error for a stream that ended in the middle of a response.
pub(crate) fn truncated_stream() -> ModelError {
    let message = "the model's provider ended the stream before the response was complete";
    ModelError::transient(ToolError::new(Reason::ModelUnavailable, message))
}

/// Returns the error for a response with too many parts.
pub(crate) fn too_many_parts() -> ModelError {
    let message = format!("the model's response has more than {MAX_PARTS} parts");
    ModelError::last(ToolError::new(Reason::ModelRefused, message))
}

/// Returns the error for an error event in the stream.
pub(crate) fn stream_error(kind: &str, message: &str) -> ModelError {
    let is_transient = [
        "overloaded",
        "rate_limit",
        "api_error",
        "server_error",
        "timeout",
    ]
    .iter()
    .any(|word| kind.contains(word));
    let reason = match is_transient {
        true => Reason::ModelUnavailable,
        false => Reason::ModelRefused,
    };
    let (kind, message) = (UntrustedText::new(kind).shortened(80), excerpt(message));
    let error = ToolError::new(
        reason,
        format!("the model's provider reported {kind}: {message}"),
    );
    ModelError {
        error,
        is_transient,
        retry_after: None,
    }
}

fn transport_error(error: ToolError) -> ModelError {
    let is_transient = matches!(error.reason, Reason::ConnectFailed | Reason::ConnectTimeout);
    ModelError {
        error,
        is_transient,
        retry_after: None,
    }
}

async fn refused(service: &ApiEndpoint, status: u16, reply: &mut ApiResponse) -> ModelError {
    let retry_after = retry_after(reply);
    let body = reply.body_prefix().await;
    let reason = message_in(&body);
    let place = service.shown();
    let message = format!(
        "`{place}` responded with status {status}: {}",
        excerpt(&reason)
    );
    let is_transient = TRANSIENT.contains(&status);
    let error = match status {
        401 | 403 => ToolError::new(Reason::LoginNeeded, message).with_remedy(
            "Set a valid key: `api_key` under `[agent]`, or the provider's variable in the environment.",
        ),
        300..=399 => ToolError::new(Reason::HttpRedirectRefused, message),
        _ if is_transient => ToolError::new(Reason::ModelUnavailable, message),
        _ => ToolError::new(Reason::ModelRefused, message),
    };
    ModelError {
        error,
        is_transient,
        retry_after,
    }
}

/// Returns how long the provider asks to wait, in seconds (possibly fractional) or milliseconds.
fn retry_after(reply: &ApiResponse) -> Option<Duration> {
    let number = |name: &str| reply.header(name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|millis| millis / 1000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the message of a JSON error document, or the whole text if it is not one.
fn message_in(body: &str) -> String {
    let document = serde_json::from_str::<Value>(body).ok();
    let message = document.as_ref().and_then(|document| {
        let error = document.get("error").unwrap_or(document);
        let message = error.get("message").and_then(Value::as_str)?;
        let kind = error
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Some(format!("{message} ({kind})"))
    });
    message.unwrap_or_else(|| body.to_owned())
}

fn excerpt(text: &str) -> String {
    UntrustedText::new(text)
        .shortened(EXCERPT_CHARS)
        .to_string()
}

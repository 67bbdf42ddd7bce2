//! The event stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use pegboard_hub::InboxWatch;
use pegboard_model::Reason;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::role::Authorized;
use crate::state::WebState;

/// Interval of keep-alive comments.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

type EventReceiver = Receiver<pegboard_model::Event>;

/// The state of one event stream.
struct Listener {
    servers: EventReceiver,
    calls: EventReceiver,
    /// For administrators. While it exists, approvals can be requested from a person.
    inbox: Option<InboxWatch>,
    greeting: Option<Event>,
    _permit: Arc<OwnedSemaphorePermit>,
}

/// Streams events as server-sent events, each with its name and the event as JSON. After `lagged` some were lost: read
/// the displayed data again. An administrator also receives `approvals.changed`, and counts as a person who can be
/// asked.
#[utoipa::path(
    get,
    operation_id = "listenToEvents",
    path = "/events",
    tag = "state",
    responses(
        (status = 200, description = "An endless stream", content_type = "text/event-stream", body = String),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 503, description = "Too many event streams", body = ErrorBody),
    )
)]
pub(super) async fn listen(
    client: Authorized,
    State(state): State<WebState>,
) -> ApiResult<Response> {
    let Ok(permit) = state.listeners().clone().try_acquire_owned() else {
        let error = ApiError::new(Reason::Overloaded, "too many event streams are open");
        return Err(error.with_remedy("Close some dashboard pages or programs that read events."));
    };
    let hub = state.hub();
    let inbox = match client.is_admin() {
        true => Some(hub.watch_approvals()?),
        false => None,
    };
    let greeting = sse_event("hello", &json!({ "version": state.version() }));
    let listener = Listener {
        servers: hub.subscribe(),
        calls: hub.subscribe_calls(),
        inbox,
        greeting: Some(greeting),
        _permit: Arc::new(permit),
    };
    let events = Sse::new(event_stream(listener)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(([(CACHE_CONTROL, "no-store")], events).into_response())
}

fn event_stream(listener: Listener) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(listener, |mut listener| async move {
        if let Some(greeting) = listener.greeting.take() {
            return Some((Ok(greeting), listener));
        }
        let received = tokio::select! {
            received = listener.servers.recv() => received,
            received = listener.calls.recv() => received,
            () = changed(&mut listener.inbox) => {
                return Some((Ok(sse_event("approvals.changed", &json!({}))), listener));
            }
        };
        let event = match received {
            Ok(event) => {
                let value = serde_json::to_value(&event).unwrap_or_default();
                let name = value.get("event").and_then(Value::as_str);
                sse_event(name.unwrap_or("event"), &value)
            }
            Err(RecvError::Lagged(lost)) => sse_event("lagged", &json!({ "lost": lost })),
            Err(RecvError::Closed) => return None,
        };
        Some((Ok(event), listener))
    })
}

async fn changed(inbox: &mut Option<InboxWatch>) {
    match inbox {
        Some(inbox) => inbox.changed().await,
        None => std::future::pending().await,
    }
}

/// Serialised JSON contains no line breaks, so it fits into one line of the stream.
fn sse_event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

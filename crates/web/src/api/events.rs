//! What happens, told as it happens.

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

/// How often a listener hears that we are still there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

type EventReceiver = Receiver<pegboard_model::Event>;

/// One listener.
struct Listener {
    servers: EventReceiver,
    calls: EventReceiver,
    /// Whoever may answer calls that wait is there for them as long as the stream is open.
    inbox: Option<InboxWatch>,
    greeting: Option<Event>,
    _permit: Arc<OwnedSemaphorePermit>,
}

/// Streams what happens as server-sent events: each has the name of its kind, and the event as JSON. After `lagged`
/// some were lost: read again what is shown. A listener that may administer also hears `approvals.changed`, and
/// counts as a person who can be asked.
#[utoipa::path(
    get,
    operation_id = "listenToEvents",
    path = "/events",
    tag = "state",
    responses(
        (status = 200, description = "A stream without an end", content_type = "text/event-stream", body = String),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 503, description = "Too many listen already", body = ErrorBody),
    )
)]
pub(super) async fn listen(who: Authorized, State(state): State<WebState>) -> ApiResult<Response> {
    let Ok(permit) = state.listeners().clone().try_acquire_owned() else {
        let fault = ApiError::new(Reason::Overloaded, "too many listen to events already");
        return Err(fault.with_remedy("Close some of the pages or programs that listen."));
    };
    let hub = state.hub();
    let inbox = match who.is_admin() {
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
    let events =
        Sse::new(event_stream(listener)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL));
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

/// JSON holds no line breaks, so that it fits into one line of the stream.
fn sse_event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

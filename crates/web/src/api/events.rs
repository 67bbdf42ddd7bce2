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

use crate::fault::{Answered, ErrorBody, Fault};
use crate::role::Anybody;
use crate::state::WebState;

/// How often a listener hears that we are still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

type Told = Receiver<pegboard_model::Event>;

/// One listener.
struct Listener {
    servers: Told,
    calls: Told,
    /// Whoever may answer calls that wait is there for them as long as the stream is open.
    inbox: Option<InboxWatch>,
    greeting: Option<Event>,
    _place: Arc<OwnedSemaphorePermit>,
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
pub(super) async fn listen(who: Anybody, State(state): State<WebState>) -> Answered<Response> {
    let Ok(place) = state.listeners().clone().try_acquire_owned() else {
        let fault = Fault::new(Reason::Overloaded, "too many listen to events already");
        return Err(fault.with_remedy("Close some of the pages or programs that listen."));
    };
    let hub = state.hub();
    let inbox = match who.is_admin() {
        true => Some(hub.watch_approvals()?),
        false => None,
    };
    let greeting = named("hello", &json!({ "version": state.version() }));
    let listener = Listener {
        servers: hub.subscribe(),
        calls: hub.subscribe_calls(),
        inbox,
        greeting: Some(greeting),
        _place: Arc::new(place),
    };
    let events = Sse::new(told(listener)).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok(([(CACHE_CONTROL, "no-store")], events).into_response())
}

fn told(listener: Listener) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(listener, |mut listener| async move {
        if let Some(greeting) = listener.greeting.take() {
            return Some((Ok(greeting), listener));
        }
        let heard = tokio::select! {
            heard = listener.servers.recv() => heard,
            heard = listener.calls.recv() => heard,
            () = changed(&mut listener.inbox) => {
                return Some((Ok(named("approvals.changed", &json!({}))), listener));
            }
        };
        let event = match heard {
            Ok(event) => {
                let value = serde_json::to_value(&event).unwrap_or_default();
                let name = value.get("event").and_then(Value::as_str);
                named(name.unwrap_or("event"), &value)
            }
            Err(RecvError::Lagged(lost)) => named("lagged", &json!({ "lost": lost })),
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
fn named(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

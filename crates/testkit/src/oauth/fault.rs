//! Faults of single endpoints: what a broken or hostile server sends in place of its answer.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};

use super::reply;
use super::route::Route;

/// How long a drip waits between two bytes: far below any timeout for silence.
const DRIP: std::time::Duration = std::time::Duration::from_millis(100);

/// What an endpoint does in place of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status with an empty body.
    Status(u16),
    /// This status, with `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// This status and body, as JSON.
    Json(u16, String),
    /// This status with a page of HTML that has a script in it.
    Html(u16),
    /// 200 with text that is not JSON.
    NotJson,
    /// A JSON text of this many bytes.
    Large(usize),
    /// A JSON text that never ends, as fast as it is read.
    Endless,
    /// A JSON text that never ends, ten bytes each second.
    Drip,
    /// No answer at all.
    Silence,
    /// A redirect with this status to this URL.
    Redirect(u16, String),
    /// The request is carried out, then the connection breaks.
    LostAnswer,
}

/// A fault of an endpoint.
#[derive(Clone, Debug)]
pub struct FaultRule {
    /// Where.
    pub route: Route,
    /// What.
    pub fault: Fault,
    /// How many requests it affects; without end if `None`.
    pub times: Option<usize>,
}

impl FaultRule {
    /// A fault of every request.
    pub fn always(route: Route, fault: Fault) -> Self {
        Self {
            route,
            fault,
            times: None,
        }
    }

    /// A fault of the next requests.
    pub fn times(times: usize, route: Route, fault: Fault) -> Self {
        Self {
            route,
            fault,
            times: Some(times),
        }
    }
}

impl Fault {
    /// The answer; `None` for a request that is carried out first.
    pub(super) async fn answer(self) -> Option<Response> {
        let endless = || stream::repeat(Ok::<_, Infallible>(Bytes::from_static(b"[\"more\",")));
        Some(match self {
            Self::Status(status) => reply::text(status, "text/plain", String::new()),
            Self::RetryAfter(status, seconds) => reply::with_header(
                reply::text(status, "text/plain", String::new()),
                "retry-after",
                &seconds.to_string(),
            ),
            Self::Json(status, body) => reply::text(status, "application/json", body),
            Self::Html(status) => reply::html(status, "<script>alert('fault')</script>"),
            Self::NotJson => reply::text(200, "application/json", "certainly not JSON".to_owned()),
            Self::Large(bytes) => {
                let body = format!("{{\"filler\":\"{}\"}}", "x".repeat(bytes));
                reply::text(200, "application/json", body)
            }
            Self::Endless => reply::streamed("application/json", Body::from_stream(endless())),
            Self::Drip => {
                let slow = endless().then(|piece| async {
                    tokio::time::sleep(DRIP).await;
                    piece.map(|bytes| bytes.slice(..1))
                });
                reply::streamed("application/json", Body::from_stream(slow))
            }
            Self::Silence => std::future::pending().await,
            Self::Redirect(status, to) => reply::redirect(status, &to),
            Self::LostAnswer => return None,
        })
    }
}

/// An answer that breaks off before its body.
pub(super) fn lost() -> Response {
    let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("a lost answer")) });
    reply::streamed("application/json", Body::from_stream(broken))
}

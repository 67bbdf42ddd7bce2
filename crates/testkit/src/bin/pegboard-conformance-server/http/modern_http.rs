//! Modern requests: a JSON response, or a stream that ends with the response.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::context::{Emission, send};
use crate::http::{empty_response, headers, reply};
use crate::message::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION, response,
};
use crate::modern;
use crate::shared::SharedState;

pub(crate) async fn take(
    shared: Arc<SharedState>,
    headers: &HeaderMap,
    message: Value,
) -> Response {
    if message.get("id").is_none() {
        return empty_response(StatusCode::ACCEPTED);
    }
    let checked =
        headers::check_modern(headers, &message).and_then(|()| modern::check(&message["params"]));
    if let Err(rpc_error) = checked {
        return reply::refused(StatusCode::BAD_REQUEST, &message["id"], rpc_error);
    }
    let mut running = Running::start(shared, message);
    match running.emissions.recv().await {
        Some(Emission::Message(first)) if is_response(&first) => {
            reply::json(status(&first), &first)
        }
        Some(first) => reply::events(running.events(first)),
        None => empty_response(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// A running request; dropping it cancels the work, as closing the connection does.
struct Running {
    emissions: mpsc::UnboundedReceiver<Emission>,
    work: AbortHandle,
}

impl Running {
    fn start(shared: Arc<SharedState>, message: Value) -> Self {
        let (sender, emissions) = mpsc::unbounded_channel();
        let work = tokio::spawn(async move {
            let (id, params) = (&message["id"], &message["params"]);
            let method = message["method"].as_str().unwrap_or_default();
            if method == modern::LISTEN {
                return modern::listen(shared.changes(), id, params, &sender).await;
            }
            let answer = modern::answer(&shared, method, params, sender.clone()).await;
            send(&sender, response(id, answer));
        });
        Self {
            emissions,
            work: work.abort_handle(),
        }
    }

    fn events(
        self,
        first: Emission,
    ) -> impl stream::Stream<Item = Result<axum::body::Bytes, std::convert::Infallible>> {
        stream::unfold((self, Some(first)), |(mut running, first)| async move {
            let mut next = first;
            loop {
                let emission = match next.take() {
                    Some(emission) => emission,
                    None => running.emissions.recv().await?,
                };
                if let Emission::Message(message) = emission {
                    return Some((Ok(reply::event(None, &message)), (running, None)));
                }
            }
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.work.abort();
    }
}

fn is_response(message: &Value) -> bool {
    message.get("method").is_none()
}

fn status(answer: &Value) -> StatusCode {
    match answer["error"]["code"].as_i64() {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

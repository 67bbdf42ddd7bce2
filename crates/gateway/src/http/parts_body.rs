//! Sends the parts of a response as one body of known length, without concatenating them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::refusal::json;

/// Converts a JSON-RPC response to an HTTP response.
pub(super) fn into_http(response: crate::Response) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::OK);
    match <[Bytes; 1]>::try_from(response.parts) {
        Ok([one]) => json(status, one),
        Err(parts) => {
            let remaining = parts.iter().map(|part| part.len() as u64).sum();
            let body = PartsBody {
                parts: parts.into(),
                remaining,
            };
            json(status, Body::new(body))
        }
    }
}

struct PartsBody {
    parts: VecDeque<Bytes>,
    remaining: u64,
}

impl HttpBody for PartsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.parts.pop_front();
        let length = part.as_ref().map_or(0, |part| part.len() as u64);
        self.remaining = self.remaining.saturating_sub(length);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

//! An answer of several pieces as one body of known length, written without copying it together.

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

/// The HTTP answer for an answer of the protocol.
pub(super) fn into_http(answer: crate::Response) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    match <[Bytes; 1]>::try_from(answer.parts) {
        Ok([one]) => json(status, one),
        Err(parts) => {
            let left = parts.iter().map(|part| part.len() as u64).sum();
            let pieces = PartsBody {
                parts: parts.into(),
                left,
            };
            json(status, Body::new(pieces))
        }
    }
}

struct PartsBody {
    parts: VecDeque<Bytes>,
    left: u64,
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
        self.left = self.left.saturating_sub(length);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

//! Reads a request body within its limits, without copying if it arrives in one frame.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use pegboard_model::Limits;
use pegboard_upstream::{ByteBudget, ByteReservation};
use tokio::time::Sleep;

use super::headers::content_length;
use super::refusal::protocol_error;
use crate::response::code;

/// Maximum initial buffer. The client's `Content-Length` is not trusted beyond it.
const INITIAL_CAPACITY_MAX: usize = 256 * 1024;

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is larger than this limit in bytes.
    TooLarge(usize),
    /// The connection closed before the end of the body.
    Incomplete,
    /// No data arrived for too long.
    TimedOut,
    /// The large bodies of all clients together exceed this limit in bytes.
    OverBudget(usize),
}

/// Reads a body, with errors as JSON-RPC responses.
pub(super) async fn read(
    headers: &HeaderMap,
    body: impl HttpBody<Data = Bytes> + Unpin,
    limits: &Limits,
    budget: &ByteBudget,
) -> Result<Bytes, Response> {
    let read = read_within_budget(headers, body, limits, Some(budget)).await;
    read.map_err(|error| {
        let (status, why) = match error {
            BodyError::TooLarge(max) => {
                let why = format!("the message is larger than {max} bytes");
                (StatusCode::PAYLOAD_TOO_LARGE, why)
            }
            BodyError::Incomplete => {
                let why = "the body ended too early".to_owned();
                (StatusCode::BAD_REQUEST, why)
            }
            BodyError::TimedOut => {
                let why = "the body did not arrive in time".to_owned();
                (StatusCode::REQUEST_TIMEOUT, why)
            }
            BodyError::OverBudget(max) => {
                let why = format!(
                    "too many large messages at once (limit: {max} bytes in total); send it again in a moment"
                );
                (StatusCode::SERVICE_UNAVAILABLE, why)
            }
        };
        protocol_error(status, code::INVALID_REQUEST, &why)
    })
}

/// Reads a complete body within the request limits.
///
/// # Errors
/// Fails if the body exceeds its limit, is incomplete, or arrives too slowly.
pub async fn read_body(
    headers: &HeaderMap,
    body: impl HttpBody<Data = Bytes> + Unpin,
    limits: &Limits,
) -> Result<Bytes, BodyError> {
    read_within_budget(headers, body, limits, None).await
}

/// Like [`read_body`]. A large body uses the budget for as long as it is in memory.
async fn read_within_budget(
    headers: &HeaderMap,
    body: impl HttpBody<Data = Bytes> + Unpin,
    limits: &Limits,
    budget: Option<&ByteBudget>,
) -> Result<Bytes, BodyError> {
    let max = limits.request_bytes;
    if content_length(headers).is_some_and(|length| length > max) {
        return Err(BodyError::TooLarge(max));
    }
    let mut body = TimedBody {
        body,
        time: limits.http_body_time,
        pause: None,
    };
    let Some(first) = body.next().await? else {
        return Ok(Bytes::new());
    };
    if first.len() > max {
        return Err(BodyError::TooLarge(max));
    }
    let Some(second) = body.next().await? else {
        return Ok(first);
    };
    let mut held = budget.map(ByteBudget::reserve);
    let expected = content_length(headers).unwrap_or(2 * first.len());
    let mut whole = BytesMut::with_capacity(expected.min(INITIAL_CAPACITY_MAX));
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(piece) = next {
        if whole.len() + piece.len() > max {
            return Err(BodyError::TooLarge(max));
        }
        if let Some(held) = &mut held {
            let reserved = held.resize(whole.len() + piece.len()).await;
            reserved.map_err(|full| BodyError::OverBudget(full.bytes))?;
        }
        whole.extend_from_slice(&piece);
        next = body.next().await?;
    }
    Ok(match held {
        Some(held) => Bytes::from_owner(BudgetedBody { whole, _held: held }),
        None => whole.freeze(),
    })
}

/// A body that uses a budget until its last reference is dropped.
struct BudgetedBody {
    whole: BytesMut,
    _held: ByteReservation,
}

impl AsRef<[u8]> for BudgetedBody {
    fn as_ref(&self) -> &[u8] {
        &self.whole
    }
}

/// A body with a timeout between frames. The timer is only created when a frame is not ready.
struct TimedBody<B> {
    body: B,
    time: Duration,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<B: HttpBody<Data = Bytes> + Unpin> TimedBody<B> {
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyError>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(BodyError::Incomplete)),
                Poll::Ready(Some(Ok(frame))) => {
                    self.pause = None;
                    // Trailers are ignored.
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Poll::Ready(Ok(Some(data)));
                    }
                }
                Poll::Pending => {
                    let time = self.time;
                    let pause = self
                        .pause
                        .get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
                    return pause
                        .as_mut()
                        .poll(context)
                        .map(|()| Err(BodyError::TimedOut));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::HeaderValue;
    use axum::http::header::CONTENT_LENGTH;

    fn limits() -> Limits {
        Limits {
            request_bytes: 8,
            http_body_time: Duration::from_millis(10),
            ..Limits::default()
        }
    }

    fn budget() -> ByteBudget {
        ByteBudget::new(1, 8)
    }

    async fn pieces(pieces: &'static [&'static str]) -> Result<Bytes, u16> {
        let stream = futures_util::stream::iter(pieces)
            .map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
        let body = Body::from_stream(stream);
        let read = read(&HeaderMap::new(), body, &limits(), &budget()).await;
        read.map_err(|refused| refused.status().as_u16())
    }

    use futures_util::StreamExt;

    #[tokio::test]
    async fn r_sec_03_a_body_is_read_up_to_its_limit() {
        assert_eq!(pieces(&["1234", "", "5678"]).await.unwrap(), "12345678");
        assert_eq!(pieces(&["12345678"]).await.unwrap(), "12345678");
        assert_eq!(pieces(&[]).await.unwrap(), "");
        assert_eq!(pieces(&["123456789"]).await, Err(413));
        assert_eq!(pieces(&["1234", "5678", "9"]).await, Err(413));
        let mut announced = HeaderMap::new();
        announced.insert(CONTENT_LENGTH, HeaderValue::from_static("9"));
        let refused = read(&announced, Body::empty(), &limits(), &budget()).await;
        assert_eq!(refused.unwrap_err().status(), 413);
    }

    #[tokio::test]
    async fn r_sec_03_a_stalled_body_times_out() {
        let stream = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let body = Body::from_stream(stream);
        let refused = read(&HeaderMap::new(), body, &limits(), &budget()).await;
        assert_eq!(refused.unwrap_err().status(), 408);
    }
}

//! A request in progress: the response is plain JSON if no message precedes it, else an event stream.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use hyper::body::Frame;
use tokio::time::{Instant, Sleep};

use super::abandoned::DetachedContext;
use super::event::KEEP_ALIVE;
use super::event_stream::{EventStream, StreamReader};
use super::parts_body::into_http;
use super::refusal::empty;
use super::response_timer::{ResponseTimer, TimerGuard};
use super::session::AttachGuard;

/// A response that takes longer becomes a stream, so that proxies and clients see activity.
const PLAIN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an idle stream sends a keep-alive comment.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The future of a response.
pub(super) type ResponseFuture = Fuse<BoxFuture<'static, Option<crate::Response>>>;

/// A request in progress.
pub(super) struct PendingResponse {
    response: ResponseFuture,
    stream: Arc<EventStream>,
    /// How the request continues after its connection closes. `None` if it ends then.
    detached: Option<DetachedContext>,
}

impl PendingResponse {
    /// Creates it. A response without a connection is kept in the stream if `detached` is given.
    pub(super) fn new(
        response: impl Future<Output = Option<crate::Response>> + Send + 'static,
        stream: Arc<EventStream>,
        detached: Option<DetachedContext>,
    ) -> Self {
        Self {
            response: response.boxed().fuse(),
            stream,
            detached,
        }
    }

    /// Waits for the HTTP response: plain, or a stream if messages precede it or it takes long.
    pub(super) async fn respond(mut self, response_timer: &Arc<ResponseTimer>) -> Response {
        let mut wait = None;
        let first = std::future::poll_fn(|context| {
            if let Poll::Ready(response) = self.response.poll_unpin(context) {
                return Poll::Ready(FirstOutput::Response(response));
            }
            if self.stream.poll_waiting(context).is_ready() {
                return Poll::Ready(FirstOutput::Stream);
            }
            match &wait {
                Some(wait) => TimerGuard::poll_elapsed(wait, context).map(|()| FirstOutput::Stream),
                None => {
                    wait = Some(response_timer.register(PLAIN_RESPONSE_TIMEOUT, context));
                    Poll::Pending
                }
            }
        })
        .await;
        drop(wait);
        match first {
            FirstOutput::Response(Some(response)) if !self.stream.has_unread() => {
                into_http(response)
            }
            FirstOutput::Response(None) if !self.stream.has_unread() => empty(StatusCode::ACCEPTED),
            first => {
                if let Some(detached) = &self.detached {
                    detached.keep_stream(&self.stream);
                }
                if let FirstOutput::Response(response) = first {
                    self.finish(response);
                }
                let reader = self.stream.reader(None);
                event_stream(EventBody::of_call(reader, self))
            }
        }
    }

    fn finish(&self, response: Option<crate::Response>) {
        match response {
            Some(response) => self.stream.finish(response.parts),
            None => self.stream.end(),
        }
    }
}

enum FirstOutput {
    Response(Option<crate::Response>),
    Stream,
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        let response = std::mem::replace(&mut self.response, Fuse::terminated());
        if let Some(detached) = self.detached.take()
            && !response.is_terminated()
        {
            detached.detach(response, self.stream.clone());
        }
    }
}

/// The body of an event stream.
pub(super) struct EventBody {
    reader: StreamReader,
    pending: Option<PendingResponse>,
    /// Keeps the sink attached while the stream is read.
    _attached: Option<AttachGuard>,
    quiet: Pin<Box<Sleep>>,
}

impl EventBody {
    /// The events of a request in progress.
    fn of_call(reader: StreamReader, pending: PendingResponse) -> Self {
        Self {
            pending: Some(pending),
            ..Self::of(reader, None)
        }
    }

    /// The events of a stream. `attached` is dropped when the client stops reading.
    pub(super) fn of(reader: StreamReader, attached: Option<AttachGuard>) -> Self {
        Self {
            reader,
            pending: None,
            _attached: attached,
            quiet: Box::pin(tokio::time::sleep(KEEP_ALIVE_INTERVAL)),
        }
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(pending) = &mut this.pending
            && let Poll::Ready(response) = pending.response.poll_unpin(context)
        {
            pending.finish(response);
        }
        let event = match this.reader.poll_next(context) {
            Poll::Ready(event) => event,
            Poll::Pending => match this.quiet.as_mut().poll(context) {
                Poll::Ready(()) => Some(KEEP_ALIVE),
                Poll::Pending => return Poll::Pending,
            },
        };
        let next = Instant::now() + KEEP_ALIVE_INTERVAL;
        this.quiet.as_mut().reset(next);
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}

/// The HTTP response with an event stream as its body.
pub(super) fn event_stream(events: EventBody) -> Response {
    let mut response = Response::new(Body::new(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies must not buffer events.
    let name = HeaderName::from_static("x-accel-buffering");
    headers.insert(name, HeaderValue::from_static("no"));
    response
}

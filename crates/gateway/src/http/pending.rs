//! A request under way: answered by plain JSON when nothing comes before the answer, else as a stream.

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
use hyper::body::Frame;
use tokio::time::{Instant, Sleep};

use super::abandoned::DetachedContext;
use super::event::KEEP_ALIVE;
use super::event_stream::{EventStream, StreamReader};
use super::parts_body::into_http;
use super::refusal::empty;
use super::response_timer::{ResponseTimer, TimerGuard};
use super::session::AttachGuard;

/// An answer that takes longer is given as a stream: proxies and clients see that something is there.
const PLAIN_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a quiet stream gives a sign of life.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The answer of the core, on its way.
pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = Option<crate::Response>> + Send>>;

/// A request under way.
pub(super) struct PendingResponse {
    answer: Option<ResponseFuture>,
    stream: Arc<EventStream>,
    /// How it goes on when the client's connection is gone; `None` if it ends then.
    resumable: Option<DetachedContext>,
}

impl PendingResponse {
    /// A request that ends with its connection.
    pub(super) fn ephemeral(answer: ResponseFuture, stream: Arc<EventStream>) -> Self {
        Self {
            answer: Some(answer),
            stream,
            resumable: None,
        }
    }

    /// A request that goes on without its connection for a while; its answer stays in the stream.
    pub(super) fn resumable(
        answer: ResponseFuture,
        stream: Arc<EventStream>,
        resumable: DetachedContext,
    ) -> Self {
        Self {
            answer: Some(answer),
            stream,
            resumable: Some(resumable),
        }
    }

    /// The HTTP answer. `at_stream` is called before it becomes a stream.
    pub(super) async fn respond(
        mut self,
        response_timer: &Arc<ResponseTimer>,
        at_stream: impl FnOnce(&Arc<EventStream>),
    ) -> Response {
        let mut wait = None;
        let first =
            std::future::poll_fn(|context| self.poll_first(response_timer, &mut wait, context))
                .await;
        drop(wait);
        match first {
            FirstOutput::Response(Some(answer)) if !self.stream.has_unread() => into_http(answer),
            FirstOutput::Response(None) if !self.stream.has_unread() => empty(StatusCode::ACCEPTED),
            FirstOutput::Response(answer) => {
                at_stream(&self.stream);
                self.finish(answer);
                self.into_stream()
            }
            FirstOutput::Stream => {
                at_stream(&self.stream);
                self.into_stream()
            }
        }
    }

    fn poll_first(
        &mut self,
        response_timer: &Arc<ResponseTimer>,
        wait: &mut Option<TimerGuard>,
        context: &mut Context<'_>,
    ) -> Poll<FirstOutput> {
        if let Poll::Ready(answer) = self.poll_answer(context) {
            return Poll::Ready(FirstOutput::Response(answer));
        }
        if self.stream.poll_waiting(context).is_ready() {
            return Poll::Ready(FirstOutput::Stream);
        }
        match wait {
            Some(wait) => wait.poll_over(context).map(|()| FirstOutput::Stream),
            None => {
                *wait = Some(response_timer.begin(PLAIN_RESPONSE_TIMEOUT, context));
                Poll::Pending
            }
        }
    }

    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Option<crate::Response>> {
        let Some(answer) = &mut self.answer else {
            return Poll::Pending;
        };
        let polled = answer.as_mut().poll(context);
        if polled.is_ready() {
            self.answer = None;
        }
        polled
    }

    fn finish(&self, answer: Option<crate::Response>) {
        match answer {
            Some(answer) => self.stream.finish(answer.parts),
            None => self.stream.end(),
        }
    }

    fn into_stream(self) -> Response {
        let reader = self.stream.reader(None);
        event_stream(EventBody::of_call(reader, self))
    }
}

enum FirstOutput {
    Response(Option<crate::Response>),
    Stream,
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        if let (Some(answer), Some(resumable)) = (self.answer.take(), self.resumable.take()) {
            resumable.detach(answer, self.stream.clone());
        }
    }
}

/// The body of a stream.
pub(super) struct EventBody {
    reader: StreamReader,
    call: Option<PendingResponse>,
    /// Held while somebody reads.
    _place: Option<AttachGuard>,
    quiet: Pin<Box<Sleep>>,
}

impl EventBody {
    /// The events of a call that is under way.
    fn of_call(reader: StreamReader, call: PendingResponse) -> Self {
        Self {
            call: Some(call),
            ..Self::of(reader, None)
        }
    }

    /// The events of a stream; the place is given back when nobody reads any more.
    pub(super) fn of(reader: StreamReader, place: Option<AttachGuard>) -> Self {
        Self {
            reader,
            call: None,
            _place: place,
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
        if let Some(call) = &mut this.call
            && let Poll::Ready(answer) = call.poll_answer(context)
        {
            call.finish(answer);
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

/// The answer whose body is a stream of events.
pub(super) fn event_stream(events: EventBody) -> Response {
    let mut response = Response::new(Body::new(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies must not hold events back.
    let name = HeaderName::from_static("x-accel-buffering");
    headers.insert(name, HeaderValue::from_static("no"));
    response
}

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

use super::abandoned::Lasting;
use super::event::KEEP_ALIVE;
use super::patience::{Patience, Wait};
use super::pieces::answered;
use super::refusal::empty;
use super::session::Attached;
use super::stream::{Reader, Stream};

/// An answer that takes longer is given as a stream: proxies and clients see that something is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a quiet stream gives a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The answer of the core, on its way.
pub(super) type Answer = Pin<Box<dyn Future<Output = Option<crate::Response>> + Send>>;

/// A request under way.
pub(super) struct Call {
    answer: Option<Answer>,
    stream: Arc<Stream>,
    /// How it goes on when the client's connection is gone; `None` if it ends then.
    lasting: Option<Lasting>,
}

impl Call {
    /// A request that ends with its connection.
    pub(super) fn fleeting(answer: Answer, stream: Arc<Stream>) -> Self {
        Self {
            answer: Some(answer),
            stream,
            lasting: None,
        }
    }

    /// A request that goes on without its connection for a while; its answer stays in the stream.
    pub(super) fn lasting(answer: Answer, stream: Arc<Stream>, lasting: Lasting) -> Self {
        Self {
            answer: Some(answer),
            stream,
            lasting: Some(lasting),
        }
    }

    /// The HTTP answer. `at_stream` is called before it becomes a stream.
    pub(super) async fn respond(
        mut self,
        patience: &Arc<Patience>,
        at_stream: impl FnOnce(&Arc<Stream>),
    ) -> Response {
        let mut wait = None;
        let first =
            std::future::poll_fn(|context| self.poll_first(patience, &mut wait, context)).await;
        drop(wait);
        match first {
            First::Answer(Some(answer)) if !self.stream.has_unread() => answered(answer),
            First::Answer(None) if !self.stream.has_unread() => empty(StatusCode::ACCEPTED),
            First::Answer(answer) => {
                at_stream(&self.stream);
                self.conclude(answer);
                self.into_stream()
            }
            First::Stream => {
                at_stream(&self.stream);
                self.into_stream()
            }
        }
    }

    fn poll_first(
        &mut self,
        patience: &Arc<Patience>,
        wait: &mut Option<Wait>,
        context: &mut Context<'_>,
    ) -> Poll<First> {
        if let Poll::Ready(answer) = self.poll_answer(context) {
            return Poll::Ready(First::Answer(answer));
        }
        if self.stream.poll_waiting(context).is_ready() {
            return Poll::Ready(First::Stream);
        }
        match wait {
            Some(wait) => wait.poll_over(context).map(|()| First::Stream),
            None => {
                *wait = Some(patience.begin(PATIENCE, context));
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

    fn conclude(&self, answer: Option<crate::Response>) {
        match answer {
            Some(answer) => self.stream.finish(answer.parts),
            None => self.stream.end(),
        }
    }

    fn into_stream(self) -> Response {
        let reader = self.stream.reader(None);
        event_stream(Events::of_call(reader, self))
    }
}

enum First {
    Answer(Option<crate::Response>),
    Stream,
}

impl Drop for Call {
    fn drop(&mut self) {
        if let (Some(answer), Some(lasting)) = (self.answer.take(), self.lasting.take()) {
            lasting.go_on(answer, self.stream.clone());
        }
    }
}

/// The body of a stream.
pub(super) struct Events {
    reader: Reader,
    call: Option<Call>,
    /// Held while somebody reads.
    _place: Option<Attached>,
    quiet: Pin<Box<Sleep>>,
}

impl Events {
    /// The events of a call that is under way.
    fn of_call(reader: Reader, call: Call) -> Self {
        Self {
            call: Some(call),
            ..Self::of(reader, None)
        }
    }

    /// The events of a stream; the place is given back when nobody reads any more.
    pub(super) fn of(reader: Reader, place: Option<Attached>) -> Self {
        Self {
            reader,
            call: None,
            _place: place,
            quiet: Box::pin(tokio::time::sleep(SIGN_OF_LIFE)),
        }
    }
}

impl HttpBody for Events {
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
            call.conclude(answer);
        }
        let event = match this.reader.poll_next(context) {
            Poll::Ready(event) => event,
            Poll::Pending => match this.quiet.as_mut().poll(context) {
                Poll::Ready(()) => Some(KEEP_ALIVE),
                Poll::Pending => return Poll::Pending,
            },
        };
        let next = Instant::now() + SIGN_OF_LIFE;
        this.quiet.as_mut().reset(next);
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}

/// The answer whose body is a stream of events.
pub(super) fn event_stream(events: Events) -> Response {
    let mut response = Response::new(Body::new(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies must not hold events back.
    let name = HeaderName::from_static("x-accel-buffering");
    headers.insert(name, HeaderValue::from_static("no"));
    response
}

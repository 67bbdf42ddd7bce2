//! Listening: connections within their limits, and an end that leaves nothing behind.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, Response, StatusCode};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connections::{BusyGuard, Connection, Connections};
use super::refusal::json;
use super::site::Site;

/// How long requests under way may take when the program is to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long it may take to tell clients that their open requests are given up.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long nothing is accepted after the system could not give a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The smallest buffer that the HTTP library takes.
const MIN_BUFFER_BYTES: usize = 8 * 1024;
/// What a client is told when there is no room for its connection.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
Connection: close\r\nContent-Length: 57\r\n\r\n{\"error\":\"too many connections\",\"remedy\":\"Close some.\"}\r\n";

/// Serves until `shutdown` is done: then nothing is accepted, standing streams end, requests under way
/// get a moment, those that need longer are answered by an error, and every connection is closed.
pub async fn serve(listener: TcpListener, site: Site, shutdown: impl Future) {
    let limits = site.limits();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.http_head_time)
        .max_buf_size(limits.http_head_bytes.max(MIN_BUFFER_BYTES));
    let room = Arc::new(Connections::new(limits.http_connections));
    let first_head_time = limits.http_first_head_time;
    let (closing, closed) = watch::channel(ShutdownPhase::Open);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            _ = &mut shutdown => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::warn!("no connection could be accepted: {error}");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
                continue;
            }
        };
        let Some(place) = room.admit() else {
            let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            continue;
        };
        let (builder, site, closed) = (builder.clone(), site.clone(), closed.clone());
        connections.spawn(async move {
            let must_close = place.connection.must_close(first_head_time);
            let speaking = serve_connection(stream, &builder, site, &place.connection, closed);
            tokio::select! {
                () = speaking => {}
                () = must_close => {}
            }
        });
    }
    drop(listener);
    let _ = closing.send(ShutdownPhase::Closing);
    all_ended(&mut connections, DRAIN_TIMEOUT).await;
    // Also those whose clients are gone: what they set in motion is recorded and cancelled before the servers end.
    site.gateway().end_requests();
    let _ = closing.send(ShutdownPhase::Over);
    all_ended(&mut connections, FINAL_RESPONSE_TIMEOUT).await;
    connections.shutdown().await;
}

/// How far the end of the program is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ShutdownPhase {
    Open,
    /// Requests under way may end.
    Closing,
    /// They are given up.
    Over,
}

async fn all_ended(connections: &mut JoinSet<()>, within: Duration) {
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(within, ended).await;
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

async fn serve_connection(
    stream: TcpStream,
    builder: &http1::Builder,
    site: Site,
    connection: &Arc<Connection>,
    mut closed: watch::Receiver<ShutdownPhase>,
) {
    // Answers are small and must not wait for more.
    let _ = stream.set_nodelay(true);
    let closing = closed.clone();
    let spoken = connection.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let is_long_lived = is_long_lived(&request);
        let site = site.clone();
        let over = closing.clone();
        let closing = is_long_lived.then(|| closing.clone());
        let busy = spoken.begin();
        let spoken = spoken.clone();
        async move {
            let response = tokio::select! {
                biased;
                response = site.answer_authenticated(request, || spoken.mark_authenticated()) => response,
                () = reached(over, ShutdownPhase::Over) => shutting_down(),
            };
            Ok::<_, Infallible>(match is_event_stream(&response) {
                true => as_stream(response, closing, busy),
                false => response,
            })
        }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A connection that breaks is the client's affair.
        _ = connection.as_mut() => return,
        _ = closed.wait_for(|stage| *stage >= ShutdownPhase::Closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn reached(mut closing: watch::Receiver<ShutdownPhase>, stage: ShutdownPhase) {
    let _ = closing.wait_for(|reached| *reached >= stage).await;
}

/// The answer to a request of the API that was open when the program had to end.
fn shutting_down() -> Response<Body> {
    let body =
        r#"{"error":"Pegboard is shutting down","remedy":"Send the request again once it runs."}"#;
    json(StatusCode::SERVICE_UNAVAILABLE, body.to_owned())
}

/// Whether the answer may be a stream that has no end of its own.
fn is_long_lived(request: &Request<Incoming>) -> bool {
    request.method() == Method::GET
        || request
            .headers()
            .get("mcp-method")
            .is_some_and(|method| method == "subscriptions/listen")
}

fn is_event_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind == "text/event-stream")
}

/// A stream keeps its connection busy; one without an end of its own ends when the program does.
fn as_stream(
    response: Response<Body>,
    closing: Option<watch::Receiver<ShutdownPhase>>,
    busy: BusyGuard,
) -> Response<Body> {
    response.map(|body| {
        let closing: Pin<Box<dyn Future<Output = ()> + Send>> = match closing {
            Some(closing) => Box::pin(reached(closing, ShutdownPhase::Closing)),
            None => Box::pin(std::future::pending()),
        };
        Body::new(StreamBody {
            body,
            closing,
            _busy: busy,
        })
    })
}

/// The body of a stream.
struct StreamBody {
    body: Body,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    _busy: BusyGuard,
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.closing.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

//! Accepts connections within the limits, and shuts down gracefully.

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

/// How long running requests may take at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long writing the final errors for open requests may take.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after a failed `accept`, for example when out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The minimum buffer size that hyper accepts.
const MIN_BUFFER_BYTES: usize = 8 * 1024;
/// The response when the connection limit is reached.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
Connection: close\r\nContent-Length: 57\r\n\r\n{\"error\":\"too many connections\",\"remedy\":\"Close some.\"}\r\n";

/// Serves until `shutdown` completes. Then stops accepting, ends long-lived streams, waits briefly for running requests,
/// ends the others with an error, and closes all connections.
pub async fn serve(listener: TcpListener, site: Site, shutdown: impl Future) {
    let limits = site.limits();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.http_head_time)
        .max_buf_size(limits.http_head_bytes.max(MIN_BUFFER_BYTES));
    let registry = Arc::new(Connections::new(limits.http_connections));
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
                if !is_connection_error(&error) {
                    tracing::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
                continue;
            }
        };
        let Some(guard) = registry.admit() else {
            let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            continue;
        };
        let (builder, site, closed) = (builder.clone(), site.clone(), closed.clone());
        connections.spawn(async move {
            let must_close = guard.connection.must_close(first_head_time);
            let serving = serve_connection(stream, &builder, site, &guard.connection, closed);
            tokio::select! {
                () = serving => {}
                () = must_close => {}
            }
        });
    }
    drop(listener);
    let _ = closing.send(ShutdownPhase::Closing);
    wait_for_all(&mut connections, DRAIN_TIMEOUT).await;
    // Includes requests whose clients are gone: their calls are cancelled and recorded before the servers stop.
    site.gateway().end_requests();
    let _ = closing.send(ShutdownPhase::Over);
    wait_for_all(&mut connections, FINAL_RESPONSE_TIMEOUT).await;
    connections.shutdown().await;
}

/// The phases of a shutdown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ShutdownPhase {
    Open,
    /// Running requests may complete.
    Closing,
    /// Running requests are ended.
    Over,
}

async fn wait_for_all(connections: &mut JoinSet<()>, within: Duration) {
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(within, ended).await;
}

fn is_connection_error(error: &io::Error) -> bool {
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
    // Send small responses immediately.
    let _ = stream.set_nodelay(true);
    let closing = closed.clone();
    let connection_state = connection.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let is_long_lived = is_long_lived(&request);
        let site = site.clone();
        let over = closing.clone();
        let closing = is_long_lived.then(|| closing.clone());
        let busy = connection_state.begin_request();
        let connection_state = connection_state.clone();
        async move {
            let response = tokio::select! {
                biased;
                response = site.handle_with(request, || connection_state.mark_authenticated()) => response,
                () = wait_for_phase(over, ShutdownPhase::Over) => shutting_down(),
            };
            Ok::<_, Infallible>(match is_event_stream(&response) {
                true => wrap_stream(response, closing, busy),
                false => response,
            })
        }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // A broken connection is not our error.
        _ = connection.as_mut() => return,
        _ = closed.wait_for(|phase| *phase >= ShutdownPhase::Closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn wait_for_phase(mut closing: watch::Receiver<ShutdownPhase>, phase: ShutdownPhase) {
    let _ = closing.wait_for(|reached| *reached >= phase).await;
}

/// The response to an API request that is open at shutdown.
fn shutting_down() -> Response<Body> {
    let body = r#"{"error":"Pegboard is shutting down","remedy":"Send the request again after it has restarted."}"#;
    json(StatusCode::SERVICE_UNAVAILABLE, body.to_owned())
}

/// Whether the response may be a stream that never ends by itself.
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

/// Keeps the connection busy while the stream is open, and ends a long-lived stream at shutdown.
fn wrap_stream(
    response: Response<Body>,
    closing: Option<watch::Receiver<ShutdownPhase>>,
    busy: BusyGuard,
) -> Response<Body> {
    response.map(|body| {
        let closing: Pin<Box<dyn Future<Output = ()> + Send>> = match closing {
            Some(closing) => Box::pin(wait_for_phase(closing, ShutdownPhase::Closing)),
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

//! What several programs of the benchmarks share: a minimal HTTP server, and catalogs in files.

pub mod retrieval;

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The response to a message.
pub enum Reply {
    /// A message, and the session that it starts.
    Message(Bytes, Option<String>),
    /// 202 for a notification.
    Accepted,
    /// No response; the client keeps waiting.
    NoResponse,
}

/// Listens on a free port, prints the URL to standard output, and responds to every posted message.
///
/// # Errors
/// If the port cannot be bound or a connection cannot be accepted.
pub async fn serve_http(answer: impl Fn(&[u8]) -> Reply + Send + Sync + 'static) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut out = io::stdout();
    writeln!(out, "http://{}/mcp", listener.local_addr()?)?;
    out.flush()?;
    let answer = Arc::new(answer);
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(request, answer.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Arc<impl Fn(&[u8]) -> Reply>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let (message, session) = match answer(&body.to_bytes()) {
        Reply::Message(message, session) => (message, session),
        Reply::Accepted => return Ok(empty(StatusCode::ACCEPTED)),
        Reply::NoResponse => return std::future::pending().await,
    };
    let mut response = Response::builder().header("content-type", "application/json");
    if let Some(session) = session {
        response = response.header("mcp-session-id", session);
    }
    let response = response.body(Full::new(message));
    Ok(response.unwrap_or_else(|_| empty(StatusCode::INTERNAL_SERVER_ERROR)))
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    response
}

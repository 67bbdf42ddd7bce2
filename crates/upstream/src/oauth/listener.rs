//! The loopback listener that receives the browser's answer (RFC 8252, section 7.3).

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use pegboard_model::{Reason, ToolResult};
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::failure::LoginErrors;

/// The path of our own redirect URIs.
const PATH: &str = "/callback";
/// The most connections that are served at a time.
const MAX_CONNECTIONS: usize = 16;
/// Time that a connection may take to send its request.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// Time for the browser to receive its page before the listener closes.
const PAGE_TIME: Duration = Duration::from_secs(1);

/// A query that the browser brought, with the way to respond to the browser.
pub(crate) struct Arrived {
    pub(crate) query: String,
    pub(crate) respond: oneshot::Sender<Page>,
}

/// The page that the browser shows. Nothing of the request is repeated in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Done,
    NotUsed,
    Ended,
}

impl Page {
    fn text(self) -> &'static str {
        match self {
            Self::Done => "The login is complete. You can close this page.",
            Self::Ended => "The login did not succeed. You can close this page; Pegboard says why.",
            Self::NotUsed => {
                "This answer does not belong to the login that is running. It was not used."
            }
        }
    }
}

/// Listens on this machine until it is dropped.
pub(crate) struct CallbackListener {
    pub(crate) redirect_uri: String,
    arrivals: mpsc::Receiver<Arrived>,
    serving: JoinSet<()>,
    closing: watch::Sender<bool>,
}

impl CallbackListener {
    /// Listens at a configured or registered redirect URI, or at a free port of 127.0.0.1.
    pub(crate) async fn bind(redirect_uri: Option<&str>, errors: &LoginErrors) -> ToolResult<Self> {
        let wanted = redirect_uri.map(|text| (text, Url::parse(text).ok()));
        let (path, sockets, redirect_uri) = match wanted {
            Some((text, Some(url))) => {
                let port = url.port().unwrap_or(80);
                let sockets = bind_all(&url, port).await.map_err(|error| {
                    let message = format!("cannot listen for the login at `{text}`: {error}");
                    pegboard_model::ToolError::new(Reason::AddressInUse, message)
                        .at_server(&errors.server)
                        .with_remedy(format!(
                            "Stop the program that uses port {port}, or set another `redirect_uri` in the \
                             server's `oauth` table; it must be registered for the client."
                        ))
                })?;
                (url.path().to_owned(), sockets, text.to_owned())
            }
            _ => {
                let failed = |error: std::io::Error| {
                    errors.failed(format_args!("cannot listen on 127.0.0.1: {error}"))
                };
                let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .await
                    .map_err(failed)?;
                let port = socket.local_addr().map_err(failed)?.port();
                (
                    PATH.to_owned(),
                    vec![socket],
                    format!("http://127.0.0.1:{port}{PATH}"),
                )
            }
        };
        let (sender, arrivals) = mpsc::channel(MAX_CONNECTIONS);
        let mut serving = JoinSet::new();
        let closing = watch::Sender::new(false);
        for socket in sockets {
            serving.spawn(accept(
                socket,
                path.clone(),
                sender.clone(),
                closing.subscribe(),
            ));
        }
        Ok(Self {
            redirect_uri,
            arrivals,
            serving,
            closing,
        })
    }

    /// Stops listening, after the browser has received its page. The port is free when this returns.
    pub(crate) async fn close(&mut self) {
        self.closing.send_replace(true);
        let ending = async { while self.serving.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(PAGE_TIME, ending).await;
        self.serving.shutdown().await;
    }

    /// Waits for the next answer.
    pub(crate) async fn next(&mut self) -> Option<Arrived> {
        self.arrivals.recv().await
    }
}

/// A name may lead to both address families, and the browser chooses.
async fn bind_all(url: &Url, port: u16) -> std::io::Result<Vec<TcpListener>> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => Ok(vec![
            TcpListener::bind(SocketAddr::new(address, port)).await?,
        ]),
        Ok(_) => Err(std::io::Error::other(
            "it is not an address of this machine",
        )),
        Err(_) => {
            let mut sockets = vec![TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?];
            sockets.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok());
            Ok(sockets)
        }
    }
}

async fn accept(
    socket: TcpListener,
    path: String,
    sender: mpsc::Sender<Arrived>,
    mut closing: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = closing.wait_for(|is_closing| *is_closing) => break,
            accepted = socket.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            break;
        };
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        let (path, sender) = (path.clone(), sender.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let (path, sender) = (path.clone(), sender.clone());
                async move { Ok::<_, Infallible>(respond(&request, &path, &sender).await) }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks is the browser's matter.
            let _ = serving.await;
        });
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}

async fn respond<B>(
    request: &Request<B>,
    path: &str,
    sender: &mpsc::Sender<Arrived>,
) -> Response<Full<Bytes>> {
    if request.uri().path() != path {
        return plain(StatusCode::NOT_FOUND, "There is nothing here.");
    }
    if request.method() != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET is allowed.");
    }
    let (respond, page) = oneshot::channel();
    let arrived = Arrived {
        query: request.uri().query().unwrap_or_default().to_owned(),
        respond,
    };
    let page = match sender.send(arrived).await {
        Ok(()) => page.await.unwrap_or(Page::Ended),
        Err(_) => Page::NotUsed,
    };
    let status = match page {
        Page::Done => StatusCode::OK,
        Page::NotUsed | Page::Ended => StatusCode::BAD_REQUEST,
    };
    plain(status, page.text())
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pegboard</title>\
         <style>body{{font:1.1rem system-ui,sans-serif;margin:4rem auto;max-width:32rem;padding:0 1rem}}</style>\
         <h1>Pegboard</h1><p>{text}</p></html>"
    );
    let mut response = Response::new(Full::new(Bytes::from(page)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    response
}

//! The only module that opens outgoing connections.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use reqwest::Url;

use crate::errors::{ErrorContext, format_duration};
use crate::http::loopback_pool::LoopbackPool;
use crate::http::response::Response;
use crate::http::target::Target;

/// Idle connections kept to one host: as many as there may be concurrent calls, so that a full load opens no new ones.
const IDLE_CONNECTIONS: usize = 64;
/// The maximum number of cached clients. Clients differ in few properties, so few are ever created.
const KEPT_CLIENTS: usize = 64;

/// One client per kind of remote connection, so that the trusted certificates are loaded once.
#[derive(Default)]
pub(crate) struct Clients(Mutex<HashMap<ClientKind, reqwest::Client>>);

/// Sends the requests to one server.
#[derive(Clone)]
pub(crate) enum Client {
    /// Plain connections to this machine.
    Loopback(Arc<LoopbackPool>),
    /// Everything else: name resolution, proxies, TLS.
    Remote(reqwest::Client),
}

/// A request to be sent.
#[derive(Clone)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ClientKind {
    is_tls: bool,
    is_loopback: bool,
    connect: Duration,
}

impl Clients {
    /// Returns the client for a target.
    pub(crate) fn of(&self, target: &Target, connect: Duration) -> ToolResult<Client> {
        if let Some(pool) = LoopbackPool::at(target) {
            return Ok(Client::Loopback(pool));
        }
        let kind = ClientKind {
            is_tls: target.url.scheme() == "https",
            is_loopback: target.is_loopback(),
            connect,
        };
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(Client::Remote(client.clone()));
        }
        let client = builder(&kind).build().map_err(|error| no_client(&error))?;
        if clients.len() < KEPT_CLIENTS {
            clients.insert(kind, client.clone());
        }
        Ok(Client::Remote(client))
    }
}

fn builder(kind: &ClientKind) -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    // An error means that the host program has already chosen a provider, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .http1_only()
        .connect_timeout(kind.connect)
        .pool_max_idle_per_host(IDLE_CONNECTIONS);
    if !kind.is_tls {
        // Nothing is verified on a plain connection, and reading the certificates takes milliseconds.
        builder = builder.tls_certs_only([]);
    }
    if kind.is_loopback {
        builder = builder.no_proxy();
    }
    builder
}

/// Builds a client for one request of a login. It connects only to `addresses`, which were checked; a second name
/// resolution cannot lead elsewhere. Without addresses, a proxy resolves the name.
pub(crate) fn pinned_client(
    host: &str,
    addresses: &[SocketAddr],
    is_tls: bool,
    connect: Duration,
) -> ToolResult<reqwest::Client> {
    let kind = ClientKind {
        is_tls,
        is_loopback: !addresses.is_empty(),
        connect,
    };
    let mut builder = builder(&kind).pool_max_idle_per_host(0);
    if !addresses.is_empty() {
        builder = builder.resolve_to_addrs(host, addresses);
    }
    builder.build().map_err(|error| no_client(&error))
}

fn no_client(error: &reqwest::Error) -> ToolError {
    let why = cause(error);
    ToolError::new(
        Reason::TlsFailed,
        format!("cannot create an HTTP client: {why}"),
    )
    .with_remedy(
        "Check that the system's trusted certificates are installed, or set `SSL_CERT_FILE`.",
    )
}

/// Sends a request. Returns when the head of the response has arrived.
pub(crate) async fn send(
    client: &Client,
    request: Outgoing<'_>,
    target: &Target,
    connect: Duration,
    errors: &ErrorContext,
) -> ToolResult<Response> {
    let sent = send_to(client, request, connect).await;
    sent.map_err(|error| explain(error, target, connect, errors))
}

/// Sends a request, without converting the error.
pub(crate) async fn send_to(
    client: &Client,
    request: Outgoing<'_>,
    connect: Duration,
) -> Result<Response, ConnectionError> {
    match client {
        Client::Loopback(pool) => pool.send(request, connect).await.map(Response::Loopback),
        Client::Remote(client) => Box::pin(send_far(client, request))
            .await
            .map(|response| Response::Remote(Box::new(response))),
    }
}

async fn send_far(
    client: &reqwest::Client,
    outgoing: Outgoing<'_>,
) -> Result<reqwest::Response, ConnectionError> {
    let mut request = reqwest::Request::new(outgoing.method, outgoing.url.clone());
    *request.headers_mut() = outgoing.headers;
    *request.body_mut() = outgoing.body.map(reqwest::Body::from);
    Ok(client.execute(request).await?)
}

/// A connection failure. It never shows the URL, which may contain secrets.
pub(crate) enum ConnectionError {
    ConnectTimeout,
    Connect(String),
    Tls(String),
    Broken(String),
}

impl ConnectionError {
    /// Describes the failure without the URL.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::ConnectTimeout => "no connection in time".to_owned(),
            Self::Connect(why) => format!("cannot be reached: {}", UntrustedText::new(why)),
            Self::Tls(why) => format!("no trusted TLS connection: {}", UntrustedText::new(why)),
            Self::Broken(why) => format!("broke the connection: {}", UntrustedText::new(why)),
        }
    }

    /// Creates the error for an established connection that broke.
    pub(crate) fn broken(error: &dyn Error) -> Self {
        Self::Broken(cause(error))
    }
}

impl From<reqwest::Error> for ConnectionError {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if let Some(tls) = tls_cause(&error) {
            return Self::Tls(tls);
        }
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => Self::ConnectTimeout,
            (true, false) => Self::Connect(cause(&error)),
            _ => Self::broken(&error),
        }
    }
}

/// Converts a connection failure into an error about the server.
pub(crate) fn explain(
    error: ConnectionError,
    target: &Target,
    connect: Duration,
    errors: &ErrorContext,
) -> ToolError {
    let place = target.shown();
    match error {
        ConnectionError::Tls(why) => {
            let why = errors.quote(&why);
            let what = format_args!("at {place} has no trusted TLS connection: {why}");
            errors.error(Reason::TlsFailed, what)
        }
        ConnectionError::ConnectTimeout => errors.error(
            Reason::ConnectTimeout,
            format_args!(
                "at {place} did not accept a connection within {}",
                format_duration(connect)
            ),
        ),
        ConnectionError::Connect(why) => {
            let why = errors.quote(&why);
            let what = format_args!("at {place} cannot be reached: {why}");
            errors.error(Reason::ConnectFailed, what)
        }
        ConnectionError::Broken(why) => {
            let why = errors.quote(&why);
            let what = format_args!("at {place} broke the connection: {why}");
            errors.error(Reason::ConnectFailed, what)
        }
    }
}

/// Returns the innermost cause, which is the most specific.
fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    UntrustedText::new(&innermost.to_string()).to_string()
}

fn tls_cause(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls.to_string());
        }
        // An I/O error hides what it wraps from `source`.
        if let Some(inner) = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            && let Some(found) = tls_cause(inner)
        {
            return Some(found);
        }
        next = error.source();
    }
    None
}

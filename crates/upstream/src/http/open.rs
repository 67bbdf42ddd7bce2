//! The one place from which connections are opened.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use pegboard_model::{Foreign, Reason, ToolError, ToolResult};
use reqwest::{Client, Request, Response};

use crate::http::target::Target;
use crate::wording::Wording;

/// Idle connections kept to one host: as many as calls may run side by side, so that a full load opens none anew.
const IDLE_CONNECTIONS: usize = 64;
/// Clients differ by few things, so few are ever made; beyond this they are not kept.
const KEPT_CLIENTS: usize = 64;

/// One client per kind of connection, so that loading the trusted certificates is paid once.
#[derive(Default)]
pub(crate) struct Clients(Mutex<HashMap<Kind, Client>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    is_tls: bool,
    is_loopback: bool,
    connect: Duration,
}

impl Clients {
    /// The client for a target.
    pub(crate) fn of(&self, target: &Target, connect: Duration) -> ToolResult<Client> {
        let kind = Kind {
            is_tls: target.url.scheme() == "https",
            is_loopback: target.is_loopback(),
            connect,
        };
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(client.clone());
        }
        let client = build(&kind).map_err(|error| {
            let why = cause(&error.without_url());
            ToolError::new(Reason::TlsFailed, format!("no HTTP client could be made: {why}"))
                .with_remedy("Check that the system's trusted certificates are installed, or set `SSL_CERT_FILE`.")
        })?;
        if clients.len() < KEPT_CLIENTS {
            clients.insert(kind, client.clone());
        }
        Ok(client)
    }
}

fn build(kind: &Kind) -> reqwest::Result<Client> {
    static PROVIDER: Once = Once::new();
    // An error means that the host program chose a provider before us, which is fine.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = Client::builder()
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
    builder.build()
}

/// Sends a request; the answer's head is there when it returns.
pub(crate) async fn send(
    client: &Client,
    request: Request,
    target: &Target,
    connect: Duration,
    wording: &Wording,
) -> ToolResult<Response> {
    client
        .execute(request)
        .await
        .map_err(|error| explain(error, target, connect, wording))
}

/// Says what went wrong, without the url, which may hold secrets.
pub(crate) fn explain(
    error: reqwest::Error,
    target: &Target,
    connect: Duration,
    wording: &Wording,
) -> ToolError {
    let error = error.without_url();
    let place = target.shown();
    if let Some(tls) = tls_cause(&error) {
        let why = wording.quote(&tls);
        return wording.error(
            Reason::TlsFailed,
            format_args!("at {place} has no connection that can be trusted: {why}"),
        );
    }
    let why = wording.quote(&cause(&error));
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => wording.error(
            Reason::ConnectTimeout,
            format_args!("at {place} did not accept a connection within {connect:?}"),
        ),
        (true, false) => wording.error(
            Reason::ConnectFailed,
            format_args!("at {place} cannot be reached: {why}"),
        ),
        _ => wording.error(
            Reason::ConnectFailed,
            format_args!("at {place} broke the connection: {why}"),
        ),
    }
}

/// The innermost reason, which says most.
fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    Foreign::new(&innermost.to_string()).to_string()
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

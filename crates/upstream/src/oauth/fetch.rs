//! The only way in which a login sends requests: bounded, without redirects, and only to addresses that are allowed
//! for the server.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method, StatusCode};
use pegboard_model::{Secret, ToolError, ToolResult};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};

use super::address::Reach;
use super::challenge::BearerChallenge;
use super::failure::LoginErrors;
use crate::http::client::{Client, ConnectionError, Outgoing, pinned_client, send_to};
use crate::http::response::Response;

/// The largest body that is read.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Time of a whole request, with name resolution and body.
const TOTAL_TIME: Duration = Duration::from_secs(30);
/// Time to open a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// What `application/x-www-form-urlencoded` leaves as it is.
const FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'*')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_');

/// Encodes one value of a form.
pub(crate) fn form_encoded(text: &str) -> String {
    utf8_percent_encode(text, FORM).to_string()
}

/// Encodes the fields of a form.
pub(crate) fn form(fields: &[(&str, &str)]) -> Secret {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", form_encoded(name), form_encoded(value)))
        .collect();
    Secret::new(fields.join("&"))
}

/// A complete response. It may contain tokens, so it has no `Debug`.
pub(crate) struct Fetched {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Fetched {
    /// Whether the server is overloaded or broken for now, so that the response says nothing.
    pub(crate) fn is_temporary(&self) -> bool {
        self.status.is_server_error()
            || matches!(
                self.status,
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
            )
    }
}

/// Sends the requests of the login to one server.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    server: Url,
    pub(crate) errors: LoginErrors,
}

impl Fetcher {
    pub(crate) fn new(server: Url, errors: LoginErrors) -> Self {
        Self { server, errors }
    }

    /// Gets a document. A redirect is followed once, within the same origin.
    pub(crate) async fn get(&self, url: &Url) -> ToolResult<Fetched> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let fetched = self.send(Method::GET, url, headers.clone(), None).await?;
        if !fetched.status.is_redirection() {
            return Ok(fetched);
        }
        let location = fetched.headers.get(LOCATION);
        let next = location
            .and_then(|place| place.to_str().ok())
            .and_then(|place| url.join(place).ok())
            .filter(|next| next.origin() == url.origin());
        match next {
            Some(next) => self.send(Method::GET, &next, headers, None).await,
            None => Ok(fetched),
        }
    }

    /// Posts a form or a JSON document. Redirects are not followed.
    pub(crate) async fn post(
        &self,
        url: &Url,
        kind: &'static str,
        body: &Secret,
        authorization: Option<&Secret>,
    ) -> ToolResult<Fetched> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(value) = authorization {
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| {
                self.errors
                    .failed("the client's credentials cannot be sent")
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let body = Bytes::copy_from_slice(body.reveal().as_bytes());
        self.send(Method::POST, url, headers, Some(body)).await
    }

    /// Sends the first messages of a client to the server itself, without a token, and returns the status and the
    /// challenge of the first one that is refused: some servers accept `initialize` without a token.
    pub(crate) async fn probe(
        &self,
        url: &Url,
    ) -> ToolResult<(StatusCode, Option<BearerChallenge>)> {
        const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pegboard","version":"0"}}}"#;
        const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
        let first = self.probe_with(url, INITIALIZE).await?;
        match first {
            (status, None) if status != StatusCode::UNAUTHORIZED => {
                match self.probe_with(url, LIST).await {
                    Ok(second) if second.0 == StatusCode::UNAUTHORIZED || second.1.is_some() => {
                        Ok(second)
                    }
                    _ => Ok(first),
                }
            }
            refused => Ok(refused),
        }
    }

    /// Sends one message. The body of the response is not read: it may be an endless stream.
    async fn probe_with(
        &self,
        url: &Url,
        message: &'static str,
    ) -> ToolResult<(StatusCode, Option<BearerChallenge>)> {
        let mut headers = HeaderMap::new();
        let kinds = "application/json, text/event-stream";
        headers.insert(ACCEPT, HeaderValue::from_static(kinds));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = Some(Bytes::from_static(message.as_bytes()));
        let place = url.origin().ascii_serialization();
        let sending = self.open(Method::POST, url, headers, body);
        let response = match tokio::time::timeout(TOTAL_TIME, sending).await {
            Ok(response) => response?,
            Err(_) => {
                let what = format_args!("{place} did not respond within 30 s");
                return Err(self.errors.temporary(what));
            }
        };
        Ok((response.status(), BearerChallenge::of(response.headers())))
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> ToolResult<Fetched> {
        let place = url.origin().ascii_serialization();
        match tokio::time::timeout(TOTAL_TIME, self.exchange(method, url, headers, body)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(self.errors.temporary(format_args!(
                "{place} did not respond completely within 30 s"
            ))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> ToolResult<Fetched> {
        let place = url.origin().ascii_serialization();
        let mut response = self.open(method, url, headers, body).await?;
        let broken = |error: ConnectionError| {
            self.errors
                .temporary(format_args!("{place}: {}", error.describe()))
        };
        let mut read = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if read.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(self.errors.unsupported(
                    format_args!("uses {place}, which sent more than {MAX_BODY_BYTES} bytes"),
                    "Report it to the server's authors.",
                ));
            }
            read.extend_from_slice(&chunk);
        }
        Ok(Fetched {
            status: response.status(),
            headers: response.headers().clone(),
            body: read,
        })
    }

    /// Sends a request to a checked address, and returns when the head of the response has arrived.
    async fn open(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> ToolResult<Response> {
        let addresses = self.checked_addresses(url).await?;
        let place = url.origin().ascii_serialization();
        let host = url.host_str().unwrap_or_default();
        let is_tls = url.scheme() == "https";
        let client = pinned_client(host, &addresses, is_tls, CONNECT_TIME)?;
        let outgoing = Outgoing {
            method,
            url,
            headers,
            body,
        };
        send_to(&Client::Remote(client), outgoing, CONNECT_TIME)
            .await
            .map_err(|error| {
                self.errors
                    .temporary(format_args!("{place}: {}", error.describe()))
            })
    }

    /// Parses a URL that the server or its authorization server published, and checks what can be checked without
    /// name resolution.
    pub(crate) fn published_url(&self, text: &str, what: &str) -> ToolResult<Url> {
        let refused = |why: &str| {
            self.errors.unsupported(
                format_args!("publishes {what} that cannot be used: {why}"),
                "Report it to the server's authors.",
            )
        };
        let url = Url::parse(text).map_err(|_| refused("it is not a URL"))?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback_name(&url) && is_loopback_name(&self.server) => {}
            "http" => return Err(refused("it is not an https URL")),
            _ => return Err(refused("its scheme is neither https nor http")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it contains a user name or password"));
        }
        if let Some(address) = literal_address(&url) {
            let server = literal_address(&self.server).map_or(Reach::Public, Reach::of);
            let server = match is_loopback_name(&self.server) {
                true => Reach::Loopback,
                false => server,
            };
            self.check_reach(server, address, &url)?;
        }
        Ok(url)
    }

    /// Resolves the host of a URL, and checks every address. The connection uses exactly these, so that a second
    /// resolution cannot lead elsewhere. Empty if a proxy resolves the name.
    async fn checked_addresses(&self, url: &Url) -> ToolResult<Vec<SocketAddr>> {
        let server = self.server_reach().await;
        if let Some(address) = literal_address(url) {
            self.check_reach(server, address, url)?;
            return Ok(vec![SocketAddr::new(address, 0)]);
        }
        if uses_proxy() && !is_loopback_name(url) {
            return Ok(Vec::new());
        }
        let addresses = resolve(url).await.map_err(|why| {
            let place = url.origin().ascii_serialization();
            self.errors.temporary(format_args!("{place}: {why}"))
        })?;
        for address in &addresses {
            self.check_reach(server, address.ip(), url)?;
        }
        Ok(addresses)
    }

    /// The class of the configured server, which its login may reach as well.
    async fn server_reach(&self) -> Reach {
        if is_loopback_name(&self.server) {
            return Reach::Loopback;
        }
        if let Some(address) = literal_address(&self.server) {
            return Reach::of(address);
        }
        if uses_proxy() {
            return Reach::Public;
        }
        let addresses = resolve(&self.server).await.unwrap_or_default();
        let mut classes = addresses.iter().map(|address| Reach::of(address.ip()));
        match classes.next() {
            Some(first) if classes.all(|class| class == first) => first,
            _ => Reach::Public,
        }
    }

    fn check_reach(&self, server: Reach, address: IpAddr, url: &Url) -> ToolResult<()> {
        let target = Reach::of(address);
        if server.may_reach(target) {
            return Ok(());
        }
        let where_to = match target {
            Reach::Loopback => "this machine",
            Reach::Private => "a private network",
            Reach::Public | Reach::Forbidden => "an address that no login uses",
        };
        let place = url.origin().ascii_serialization();
        Err(self.errors.unsupported(
            format_args!("uses {place} for its login, which leads to {where_to}; nothing was sent"),
            "Report it to the server's authors, or check who operates the server.",
        ))
    }
}

async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, String> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    match tokio::net::lookup_host((host.as_str(), port)).await {
        Ok(found) => {
            let found: Vec<_> = found.collect();
            match found.is_empty() {
                true => Err("the name has no address".to_owned()),
                false => Ok(found),
            }
        }
        Err(_) => Err("the name cannot be resolved".to_owned()),
    }
}

fn literal_address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?.trim_matches(['[', ']']);
    host.parse().ok()
}

/// Whether a URL names this machine, without name resolution.
pub(crate) fn is_loopback_name(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    host == "localhost"
        || literal_address(url).is_some_and(|address| Reach::of(address) == Reach::Loopback)
}

/// Whether requests to other machines go through a proxy, which then resolves names.
fn uses_proxy() -> bool {
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Reads a JSON object; `None` if the body is something else.
pub(crate) fn json<T: serde::de::DeserializeOwned>(fetched: &Fetched) -> Option<T> {
    let body = fetched.body.trim_ascii_start();
    // Only an object: an array would be read as a struct as well.
    if !body.starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(body).ok()
}

/// Converts an error of a fetch into "nothing found", unless it is temporary.
pub(crate) fn unless_temporary<T>(error: ToolError) -> ToolResult<Option<T>> {
    match error.retryable {
        true => Err(error),
        false => Ok(None),
    }
}

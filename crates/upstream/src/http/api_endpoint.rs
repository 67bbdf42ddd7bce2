//! HTTP APIs other than MCP servers, such as those of model providers, over the same connections.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use pegboard_model::{Reason, Secret, ToolError, ToolResult, UntrustedText};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};

use crate::errors::format_duration;
use crate::http::body::preview;
use crate::http::client::{Client, Clients, ConnectionError, Outgoing, send_to};
use crate::http::response::Response;
use crate::http::sse::Parser;
use crate::http::target::Target;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// An endpoint that accepts JSON and responds with JSON or server-sent events. It holds secrets, so it has no `Debug`.
#[derive(Clone)]
pub struct ApiEndpoint {
    client: Client,
    target: Target,
}

/// Limits on one response.
#[derive(Clone, Copy, Debug)]
pub struct ApiResponseLimits {
    /// The maximum size of one event in bytes.
    pub event_bytes: usize,
    /// The maximum size of the whole response in bytes.
    pub total_bytes: usize,
    /// How long the server may take for the head of the response and for each further chunk.
    pub silence: Duration,
}

impl ApiEndpoint {
    /// Creates an endpoint. Redirects are not followed, so that secrets are sent only to this address.
    ///
    /// # Errors
    /// Fails if the URL or a header value is invalid.
    pub fn at(address: &str, headers: &[(&'static str, Secret)]) -> ToolResult<Self> {
        let invalid = |what: String| {
            ToolError::new(Reason::ConfigInvalid, what)
                .with_remedy("Write the URL as `https://api.example.com`.")
        };
        let url = Url::parse(address.trim())
            .map_err(|flaw| invalid(format!("invalid model URL: {flaw}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            let what = "the model URL must begin with `http://` or `https://`";
            return Err(invalid(what.to_owned()));
        }
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value.reveal().trim()).map_err(|_| {
                let what = format!("the value of `{name}` cannot be sent as a header");
                ToolError::new(Reason::ConfigInvalid, what)
                    .with_remedy("Remove line breaks and control characters from it.")
            })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        let target = Target { url, headers: map };
        let client = Clients::default().of(&target, CONNECT)?;
        Ok(Self { client, target })
    }

    /// Returns the part of the URL that is not secret.
    pub fn shown(&self) -> String {
        self.target.shown()
    }

    /// Sends a request. Returns when the head of the response has arrived.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or is silent for too long.
    pub async fn post(&self, body: Bytes, limits: ApiResponseLimits) -> ToolResult<ApiResponse> {
        let outgoing = Outgoing {
            method: Method::POST,
            url: &self.target.url,
            headers: self.target.headers.clone(),
            body: Some(body),
        };
        let sent = send_to(&self.client, outgoing, CONNECT);
        let response = match tokio::time::timeout(limits.silence, sent).await {
            Ok(sent) => sent.map_err(|trouble| self.explain(trouble))?,
            Err(_) => return Err(self.silent(limits.silence)),
        };
        Ok(ApiResponse {
            service: self.clone(),
            response,
            parser: Parser::new(limits.event_bytes),
            ready: VecDeque::new(),
            read: 0,
            limits,
        })
    }

    fn explain(&self, trouble: ConnectionError) -> ToolError {
        let place = self.shown();
        let (reason, what) = match trouble {
            ConnectionError::Tls(why) => (
                Reason::TlsFailed,
                format!(
                    "`{place}` has no trusted TLS connection: {}",
                    UntrustedText::new(&why)
                ),
            ),
            ConnectionError::ConnectTimeout => (
                Reason::ConnectTimeout,
                format!(
                    "`{place}` did not accept a connection within {}",
                    format_duration(CONNECT)
                ),
            ),
            ConnectionError::Connect(why) => (
                Reason::ConnectFailed,
                format!("`{place}` cannot be reached: {}", UntrustedText::new(&why)),
            ),
            ConnectionError::Broken(why) => (
                Reason::ConnectFailed,
                format!(
                    "`{place}` broke the connection: {}",
                    UntrustedText::new(&why)
                ),
            ),
        };
        ToolError::new(reason, what).with_remedy("Check the URL and the network, then try again.")
    }

    fn silent(&self, limit: Duration) -> ToolError {
        let what = format!(
            "`{}` sent nothing for {}",
            self.shown(),
            format_duration(limit)
        );
        ToolError::new(Reason::ConnectTimeout, what).with_remedy("Try again later.")
    }
}

/// A response whose head has arrived and whose body is read in chunks.
pub struct ApiResponse {
    service: ApiEndpoint,
    response: Response,
    parser: Parser,
    ready: VecDeque<String>,
    read: usize,
    limits: ApiResponseLimits,
}

impl ApiResponse {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Reads the start of the body for display. Errors only make it shorter.
    pub async fn body_prefix(&mut self) -> String {
        let read = tokio::time::timeout(self.limits.silence, preview(&mut self.response)).await;
        String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
    }

    /// Returns the data of the next event; `None` at the end of the response.
    ///
    /// # Errors
    /// Fails if the connection breaks or a limit is exceeded.
    pub async fn next_event(&mut self) -> ToolResult<Option<String>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let chunk = tokio::time::timeout(self.limits.silence, self.response.chunk()).await;
            let chunk = match chunk {
                Ok(chunk) => chunk.map_err(|trouble| self.service.explain(trouble))?,
                Err(_) => return Err(self.service.silent(self.limits.silence)),
            };
            let Some(chunk) = chunk else {
                return Ok(None);
            };
            self.read = self.read.saturating_add(chunk.len());
            let events = self.parser.push(&chunk);
            match events {
                Ok(events) if self.read <= self.limits.total_bytes => {
                    self.ready
                        .extend(events.into_iter().map(|event| event.data));
                }
                _ => return Err(self.too_large()),
            }
        }
    }

    fn too_large(&self) -> ToolError {
        let (place, limits) = (self.service.shown(), self.limits);
        let what = format!(
            "`{place}` sent more than {} bytes in one event or {} in all",
            limits.event_bytes, limits.total_bytes
        );
        ToolError::new(Reason::HttpBodyTooLarge, what)
    }
}

//! Services beside MCP servers, reached by the same connections: the API of a model.

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

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// One endpoint that takes JSON and answers with JSON or with server-sent events. It holds secrets, so it has no
/// `Debug`.
#[derive(Clone)]
pub struct ApiEndpoint {
    client: Client,
    target: Target,
}

/// What one answer may be.
#[derive(Clone, Copy, Debug)]
pub struct ApiResponseLimits {
    /// Bytes of one event.
    pub event_bytes: usize,
    /// Bytes of the whole answer.
    pub total_bytes: usize,
    /// How long the head of the answer, and each further piece, may be awaited.
    pub silence: Duration,
}

impl ApiEndpoint {
    /// The service at an address. Redirects are not followed, so that what is sent stays there.
    pub fn at(address: &str, headers: &[(&'static str, Secret)]) -> ToolResult<Self> {
        let invalid = |what: String| {
            ToolError::new(Reason::ConfigInvalid, what)
                .with_remedy("Write the address as `https://api.example.com`.")
        };
        let url = Url::parse(address.trim())
            .map_err(|flaw| invalid(format!("the model's address is none: {flaw}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            let what = "the model's address must begin with `http://` or `https://`";
            return Err(invalid(what.to_owned()));
        }
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value.reveal().trim()).map_err(|_| {
                let what = format!("the value of `{name}` cannot be sent as a header");
                ToolError::new(Reason::ConfigInvalid, what)
                    .with_remedy("Look for a line break or a control character in it.")
            })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        let target = Target { url, headers: map };
        let client = Clients::default().of(&target, CONNECT)?;
        Ok(Self { client, target })
    }

    /// The part of the address that is no secret.
    pub fn shown(&self) -> String {
        self.target.shown()
    }

    /// Sends a request; the answer's head is there when it returns.
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
                    "`{place}` has no connection that can be trusted: {}",
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
        ToolError::new(reason, what)
            .with_remedy("Check the address and the network, then try again.")
    }

    fn silent(&self, limit: Duration) -> ToolError {
        let what = format!("`{}` said nothing for {limit:?}", self.shown());
        ToolError::new(Reason::ConnectTimeout, what).with_remedy("Try again later.")
    }
}

/// The answer to a request: its head is there, its body comes in pieces.
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

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The beginning of the body, for showing; whatever goes wrong only makes it shorter.
    pub async fn body_prefix(&mut self) -> String {
        let read = tokio::time::timeout(self.limits.silence, preview(&mut self.response)).await;
        String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
    }

    /// The data of the next event; `None` at the end of the answer.
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

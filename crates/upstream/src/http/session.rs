//! A conversation over HTTP: both eras, and the legacy session that may be lost and renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pegboard_model::{Era, Reason, ToolError, ToolResult};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::contract::Handshake;
use crate::dialect::{ClientInfo, MODERN_VERSION, cancelled, initialize_params, notification};
use crate::envelope::{Answer, RpcError};
use crate::era::{Door, Opener};
use crate::http::exchange::{Channel, Failure, PROTOCOL_VERSION, Post, State};
use crate::verdict::{Init, judge_initialize};
use crate::wire::{Ask, Size, Wire};

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A conversation over HTTP, below the level of lists and calls.
pub(crate) struct HttpSession {
    pub(crate) channel: Channel,
    me: ClientInfo,
    next_id: AtomicU64,
    in_flight: AtomicUsize,
    renewing: tokio::sync::Mutex<()>,
}

impl HttpSession {
    pub(crate) fn new(channel: Channel, me: ClientInfo) -> Self {
        let (next_id, in_flight) = (AtomicU64::new(1), AtomicUsize::new(0));
        Self {
            channel,
            me,
            next_id,
            in_flight,
            renewing: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn opener(&self) -> Opener<'_, Self> {
        let channel = &self.channel;
        Opener {
            door: self,
            client: &self.me,
            wording: &channel.wording,
            limits: &channel.limits,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a new session in place of one that the server forgot; one renewal serves all who noticed.
    async fn renew(&self, lost: u64) -> ToolResult<()> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.channel.state().generation != lost {
            return Ok(());
        }
        let answer = self.initialize(&initialize_params(&self.me)).await?;
        match judge_initialize(answer, &self.channel.limits) {
            Init::Legacy(handshake) => self.agreed(&handshake).await,
            verdict => drop(verdict.into_handshake(&self.channel.wording)?),
        }
        Ok(())
    }

    /// Asks a legacy server; dropping it tells the server that the answer is no longer wanted.
    async fn ask_in_session(&self, ask: &Ask<'_>, params: &str) -> Result<Answer, Failure> {
        let id = self.new_id();
        let headers = self.channel.session_headers();
        let mut cancel = CancelOnDrop {
            session: self,
            id: Some(id),
        };
        let answer = self
            .channel
            .exchange(Post {
                id,
                method: ask.method,
                params,
                headers,
                size: ask.size,
                opens: false,
            })
            .await;
        cancel.id = None;
        answer
    }

    fn lost(&self, failure: Failure) -> ToolError {
        match failure {
            Failure::Error(error) | Failure::Status(_, error) => error,
            Failure::SessionLost => self
                .channel
                .wording
                .error(Reason::HttpStatus, "forgot the session again at once"),
        }
    }
}

impl Door for HttpSession {
    async fn discover(&self, params: &str) -> ToolResult<Answer> {
        let method = "server/discover";
        let headers = modern_headers(MODERN_VERSION, method, None);
        let post = Post {
            id: self.new_id(),
            method,
            params,
            headers,
            size: Size::Frame,
            opens: false,
        };
        match self.channel.exchange(post).await {
            Ok(answer) => Ok(answer),
            Err(Failure::Status(status, error)) if !is_passing(status) => Ok(not_modern(error)),
            Err(Failure::Error(error))
                if matches!(error.reason, Reason::HttpProtocol | Reason::FrameInvalid) =>
            {
                Ok(not_modern(error))
            }
            Err(failure) => Err(self.lost(failure)),
        }
    }

    async fn initialize(&self, params: &str) -> ToolResult<Answer> {
        let (id, headers) = (self.new_id(), HeaderMap::new());
        let post = Post {
            id,
            method: "initialize",
            params,
            headers,
            size: Size::Frame,
            opens: true,
        };
        self.channel
            .exchange(post)
            .await
            .map_err(|failure| self.lost(failure))
    }

    async fn agreed(&self, handshake: &Handshake) {
        if handshake.era == Era::Legacy {
            self.channel.state().version = HeaderValue::from_str(&handshake.protocol_version).ok();
            self.channel
                .post_aside(&notification("notifications/initialized", "{}"))
                .await;
        } else {
            *self.channel.state() = State::default();
        }
    }

    fn noise(&self) -> u64 {
        self.channel.traffic.noise()
    }
}

impl Wire for Arc<HttpSession> {
    async fn ask(&self, ask: Ask<'_>) -> ToolResult<Answer> {
        let _counted = InFlight::count(&self.in_flight);
        let params = ask.params();
        let answer = if ask.dialect.is_modern() {
            // Closing the stream cancels a modern request, so dropping the future is enough.
            let headers = modern_headers(&ask.dialect.version, ask.method, ask.name);
            let (id, method, size) = (self.new_id(), ask.method, ask.size);
            self.channel
                .exchange(Post {
                    id,
                    method,
                    params: &params,
                    headers,
                    size,
                    opens: false,
                })
                .await
        } else {
            let generation = self.channel.state().generation;
            match self.ask_in_session(&ask, &params).await {
                Err(Failure::SessionLost) => {
                    self.renew(generation).await?;
                    self.ask_in_session(&ask, &params).await
                }
                answer => answer,
            }
        };
        answer.map_err(|failure| self.lost(failure))
    }

    async fn learn(&self) -> ToolResult<Handshake> {
        self.opener().learn().await.map_err(|setback| setback.error)
    }

    fn stderr(&self) -> String {
        String::new()
    }
}

/// The headers that repeat a modern request's revision, method and name outside its body.
pub(crate) fn modern_headers(version: &str, method: &str, name: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |header: HeaderName, value: &str| {
        headers.extend(
            HeaderValue::from_str(value)
                .ok()
                .map(|value| (header, value)),
        )
    };
    add(PROTOCOL_VERSION, version);
    add(METHOD, method);
    if let Some(name) = name {
        add(NAME, &header_text(name));
    }
    headers
}

/// A name as a header can carry it; what is not plain ASCII goes as base64 between the protocol's marks.
fn header_text(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && name.trim() == name;
    if is_plain && !name.starts_with("=?base64?") {
        name.to_owned()
    } else {
        format!("=?base64?{}?=", base64(name.as_bytes()))
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS
                .get((number >> (18 - 6 * place) & 63) as usize)
                .copied()
                .unwrap_or(b'=');
            text.push(if place <= group.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

/// Whether an HTTP error says nothing of the server's era, only that now is a bad moment.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// A server that answers like that is there, but not modern.
fn not_modern(error: ToolError) -> Answer {
    Answer::Error(RpcError {
        code: 0,
        message: error.message,
        data: None,
    })
}

struct InFlight<'a>(&'a AtomicUsize);

impl<'a> InFlight<'a> {
    fn count(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells a legacy server when nobody waits any more: for it, a closed connection does not mean that.
struct CancelOnDrop<'a> {
    session: &'a HttpSession,
    id: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id, tokio::runtime::Handle::try_current()) {
            let notice = self.session.channel.aside(&cancelled(id));
            runtime.spawn(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_headers() {
        for (name, expected) in [
            ("read_file", "read_file"),
            ("ä", "=?base64?w6Q=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?="),
        ] {
            assert_eq!(header_text(name), expected);
        }
    }
}

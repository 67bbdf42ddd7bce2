//! HTTP headers of our messages.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::header_text::header_text;
use crate::http::exchange::LegacySession;
use crate::http::target::Target;

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM_PREFIX: &str = "mcp-param-";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH_KINDS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Capacity for our headers and those that the client adds, so that the map never grows.
const HEADERS: usize = 16;

/// The protocol headers of a message.
#[derive(Clone, Copy)]
pub(crate) enum RequestHeaders<'a> {
    /// None: the handshake is not complete.
    Opening,
    /// Session id and revision of a legacy session.
    Session,
    /// What a modern request repeats: its revision, method, subject and mirrored arguments.
    Modern {
        version: &'a str,
        method: &'a str,
        name: Option<&'a str>,
        mirrored: &'a [(String, String)],
    },
}

impl RequestHeaders<'_> {
    /// Returns the headers of a posted message.
    pub(crate) fn of_message(self, target: &Target, state: &LegacySession) -> HeaderMap {
        let mut headers = self.write(target, state);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, BOTH_KINDS);
        headers
    }

    /// Returns the headers of a request for a stream.
    pub(crate) fn of_stream(
        self,
        target: &Target,
        state: &LegacySession,
        last_event: Option<&HeaderValue>,
    ) -> HeaderMap {
        let mut headers = self.write(target, state);
        headers.insert(ACCEPT, EVENTS);
        headers.extend(last_event.map(|id| (LAST_EVENT_ID, id.clone())));
        headers
    }

    pub(crate) fn write(self, target: &Target, state: &LegacySession) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        for (name, value) in &target.headers {
            headers.insert(name, value.clone());
        }
        match self {
            Self::Opening => {}
            Self::Session => {
                headers.extend(state.id.clone().map(|id| (SESSION_ID, id)));
                headers.extend(
                    state
                        .version
                        .clone()
                        .map(|version| (PROTOCOL_VERSION, version)),
                );
            }
            Self::Modern {
                version,
                method,
                name,
                mirrored,
            } => {
                add(&mut headers, PROTOCOL_VERSION, version);
                add(&mut headers, METHOD, method);
                if let Some(name) = name {
                    add(&mut headers, NAME, &header_text(name));
                }
                for (name, value) in mirrored {
                    let name = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
                    if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                        add(&mut headers, name, value);
                    }
                }
            }
        }
        headers
    }
}

fn add(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // A value that is not a valid header is omitted; the server reports what is missing.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

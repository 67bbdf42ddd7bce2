//! The requests of a client that have no response yet, and what a successor process must know of its session.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::Resume;

/// Maximum number of tracked requests; the gateway refuses more long before.
const OPEN_MAX: usize = 100_000;
/// Maximum number of subscriptions that are restored.
const SUBSCRIPTIONS_MAX: usize = 10_000;
/// The request of a client that receives notifications until it ends the request.
const LISTEN: &str = "subscriptions/listen";
/// The notification with which a client cancels a request.
const CANCELLED: &str = "notifications/cancelled";
/// Maximum size and number of such requests that are repeated.
const LISTEN_BYTES: usize = 64 * 1024;
const LISTENING_MAX: usize = 64;
/// The error code of JSON-RPC for an internal error.
const INTERNAL_ERROR: i32 = -32603;

/// Follows the messages of one client in both directions.
#[derive(Debug, Default)]
pub struct OpenRequests {
    /// Ids of requests without a response, as the client wrote them.
    open: BTreeSet<String>,
    /// Requests that stay open for as long as the client listens, by id. They change nothing, so another process gets
    /// them too.
    listening: BTreeMap<String, String>,
    level: Option<String>,
    subscriptions: BTreeSet<String>,
    token: Option<String>,
}

/// The members of a message that matter here.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<&'a str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

#[derive(Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, default, rename = "requestId")]
    id: Option<&'a RawValue>,
}

impl OpenRequests {
    /// Records lines that were sent to the process.
    pub fn sent(&mut self, lines: &[u8]) {
        for message in messages(lines) {
            let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(message.get()) else {
                continue;
            };
            let (id, method) = match (envelope.id, envelope.method) {
                (Some(id), Some(method)) => (id, method),
                (None, Some(CANCELLED)) => {
                    self.cancelled(envelope.params);
                    continue;
                }
                _ => continue,
            };
            let is_listening = method == LISTEN && message.get().len() <= LISTEN_BYTES;
            if is_listening && self.listening.len() < LISTENING_MAX {
                let (id, line) = (id.get().to_owned(), message.get().to_owned());
                self.listening.insert(id, line);
            } else if self.open.len() < OPEN_MAX {
                self.open.insert(id.get().to_owned());
            }
            self.follow(method, envelope.params);
        }
    }

    /// Records lines that were received from the process.
    pub fn received(&mut self, lines: &[u8]) {
        for message in messages(lines) {
            let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(message.get()) else {
                continue;
            };
            if let (Some(id), None) = (envelope.id, envelope.method) {
                self.open.remove(id.get());
                self.listening.remove(id.get());
            }
        }
    }

    /// Returns the requests that another process must get again, one per line.
    pub fn listening_lines(&self) -> Vec<u8> {
        let lines = self.listening.values();
        lines.flat_map(|line| line.bytes().chain([b'\n'])).collect()
    }

    /// Records the token of the session.
    pub fn set_token(&mut self, token: String) {
        self.token = Some(token);
    }

    /// Whether a request has no response yet, apart from those that listen.
    pub fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns an error response for each request without a response, one per line, and forgets the requests.
    pub fn fail_open(&mut self, why: &str) -> Vec<u8> {
        let mut lines = Vec::new();
        for id in std::mem::take(&mut self.open) {
            let message = serde_json::Value::from(why);
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{INTERNAL_ERROR},"message":{message},"data":{{"code":"PROCESS_ENDED","retryable":true}}}}}}"#
            );
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
        lines
    }

    /// Returns what another process needs to continue the session; `None` before the handshake and for clients
    /// without one.
    pub fn resume(&self) -> Option<Resume> {
        Some(Resume {
            token: self.token.clone()?,
            level: self.level.clone(),
            subscriptions: self.subscriptions.iter().cloned().collect(),
        })
    }

    /// The client no longer wants a response to a request, and may get none.
    fn cancelled(&mut self, params: Option<&RawValue>) {
        let params = params
            .and_then(|params| serde_json::from_str::<CancelledParams<'_>>(params.get()).ok());
        if let Some(id) = params.and_then(|params| params.id) {
            self.open.remove(id.get());
            self.listening.remove(id.get());
        }
    }

    fn follow(&mut self, method: &str, params: Option<&RawValue>) {
        if !matches!(
            method,
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
        ) {
            return;
        }
        let params = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        let Some(params) = params else { return };
        match (method, params.level, params.uri) {
            ("logging/setLevel", Some(level), _) => self.level = Some(level),
            ("resources/subscribe", _, Some(uri))
                if self.subscriptions.len() < SUBSCRIPTIONS_MAX =>
            {
                self.subscriptions.insert(uri);
            }
            ("resources/unsubscribe", _, Some(uri)) => drop(self.subscriptions.remove(&uri)),
            _ => {}
        }
    }
}

/// Returns the messages in some lines, including those of batches. What is not JSON is skipped.
fn messages(lines: &[u8]) -> impl Iterator<Item = &RawValue> {
    let lines = lines.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    lines.flat_map(|line| {
        let is_batch = line.trim_start().starts_with('[');
        let batch = is_batch.then(|| serde_json::from_str::<Vec<&RawValue>>(line).ok());
        let single = (!is_batch).then(|| serde_json::from_str::<&RawValue>(line).ok());
        batch
            .flatten()
            .unwrap_or_default()
            .into_iter()
            .chain(single.flatten())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_04_a_request_without_a_response_gets_one_error() {
        let mut open = OpenRequests::default();
        open.sent(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"id\":9}}\n",
        );
        open.sent(b"{\"method\":\"a\",\"params\":{},\"jsonrpc\":\"2.0\",\"id\":\"two\"}\n{\"method\":\"n\"}\nnot json\n");
        open.sent(b"[{\"id\":3,\"method\":\"x\"},{\"id\":4,\"method\":\"y\"}]\n");
        // A response of the client to a request of the server has the server's id.
        open.sent(b"{\"id\":5,\"result\":{}}\n");
        open.received(b"{\"id\":3,\"result\":{}}\n{\"id\":1,\"method\":\"elicitation/create\"}\n");
        open.received(b"[{\"id\":4,\"error\":{}}]\n");
        assert!(open.is_any_open());
        let lines = String::from_utf8(open.fail_open("it \"ended\"")).unwrap();
        let ids: Vec<_> = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .inspect(|response| assert_eq!(response["error"]["message"], "it \"ended\""))
            .map(|response| response["id"].clone())
            .collect();
        assert_eq!(ids, ["two".into(), serde_json::Value::from(1)]);
        assert!(open.fail_open("again").is_empty());
        open.sent(b"{\"id\":7,\"method\":\"x\"}\n");
        open.sent(b"{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}\n");
        assert!(!open.is_any_open(), "the client expects no response");
    }

    #[test]
    fn r_share_04_a_listening_request_is_repeated_and_does_not_keep_a_process() {
        let mut open = OpenRequests::default();
        let line = "{\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{}}\n";
        open.sent(line.as_bytes());
        assert!(!open.is_any_open());
        assert_eq!(open.listening_lines(), line.as_bytes());
        assert!(open.fail_open("ended").is_empty());
        open.received(b"{\"id\":\"l\",\"result\":{}}\n");
        assert!(open.listening_lines().is_empty());
    }

    #[test]
    fn r_share_04_log_level_and_subscriptions_are_kept_for_the_successor() {
        let mut open = OpenRequests::default();
        open.sent(b"{\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}\n");
        for (method, uri) in [("subscribe", "a"), ("subscribe", "b"), ("unsubscribe", "a")] {
            let line = format!(
                "{{\"id\":2,\"method\":\"resources/{method}\",\"params\":{{\"uri\":\"{uri}\"}}}}\n"
            );
            open.sent(line.as_bytes());
        }
        assert_eq!(open.resume(), None, "no handshake");
        open.set_token("sealed".to_owned());
        let resume = open.resume().unwrap();
        assert_eq!(resume.level.as_deref(), Some("debug"));
        assert_eq!(
            (resume.token.as_str(), resume.subscriptions),
            ("sealed", vec!["b".to_owned()])
        );
    }
}

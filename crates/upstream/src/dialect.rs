//! Writes requests in the format of each era.

use std::fmt::Write;

use pegboard_jsonrpc::{meta, push_quoted, push_single_line, quoted, revision};
use pegboard_model::Era;
use serde_json::{Map, Value};

/// The capabilities sent to every legacy server, whatever the client supports, so that a server that lists its tools by
/// capability lists the same ones to all clients. What a client does not support is refused when it is requested.
const LEGACY_CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true}}"#;

/// The identity sent to servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The name of the program.
    pub name: String,
    /// The version of the program.
    pub version: String,
}

impl ClientInfo {
    pub(crate) fn json(&self) -> String {
        format!(
            r#"{{"name":{},"version":{}}}"#,
            quoted(&self.name),
            quoted(&self.version)
        )
    }
}

/// The format of requests that the handshake determined.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(crate) era: Era,
    pub(crate) version: String,
    /// The members of every modern request's `_meta` as text, up to the value of the capabilities.
    meta: String,
}

/// Additional content of a request's `_meta`.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestMeta<'a> {
    /// Members set by the caller.
    pub(crate) more: Option<&'a Map<String, Value>>,
    /// The capabilities of the client, as JSON text.
    pub(crate) capabilities: Option<&'a str>,
    /// The token for progress notifications, if they are wanted.
    pub(crate) progress: Option<u64>,
}

impl Dialect {
    pub(crate) fn modern(version: &str, client: &ClientInfo) -> Self {
        let meta = format!(
            r#""{}":{},"{}":{},"{}":"#,
            meta::PROTOCOL_VERSION,
            quoted(version),
            meta::CLIENT_INFO,
            client.json(),
            meta::CLIENT_CAPABILITIES
        );
        Self {
            era: Era::Modern,
            version: version.to_owned(),
            meta,
        }
    }

    pub(crate) fn legacy(version: &str) -> Self {
        Self {
            era: Era::Legacy,
            version: version.to_owned(),
            meta: String::new(),
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.era == Era::Modern
    }

    /// Returns the `params` of a request of our own: its members and, if the era requires it, `_meta`.
    pub(crate) fn params(&self, members: &str) -> String {
        let mut params = String::from("{");
        params.push_str(members);
        self.push_meta(&mut params, RequestMeta::default());
        params.push('}');
        params
    }

    /// Appends `_meta` after the existing members, unless it would be empty.
    pub(crate) fn push_meta(&self, frame: &mut String, extras: RequestMeta<'_>) {
        let before = frame.len();
        if !frame.ends_with('{') {
            frame.push(',');
        }
        frame.push_str(r#""_meta":{"#);
        let opened = frame.len();
        if self.is_modern() {
            frame.push_str(&self.meta);
            push_single_line(frame, extras.capabilities.unwrap_or("{}"));
        }
        if let Some(token) = extras.progress {
            push_comma(frame, opened);
            let _ = write!(frame, r#""{}":{token}"#, meta::PROGRESS_TOKEN);
        }
        for (key, value) in extras.more.into_iter().flatten() {
            if self.is_own(key) {
                continue;
            }
            push_comma(frame, opened);
            push_quoted(frame, key);
            let _ = write!(frame, ":{value}");
        }
        if frame.len() == opened {
            frame.truncate(before);
        } else {
            frame.push('}');
        }
    }

    /// Returns whether callers must not set this member, because it is ours or belongs to the other era.
    fn is_own(&self, key: &str) -> bool {
        match self.era {
            Era::Modern => {
                key == meta::PROGRESS_TOKEN
                    || key.starts_with(meta::PREFIX) && key != meta::LOG_LEVEL
            }
            Era::Legacy => key == meta::PROGRESS_TOKEN || key == meta::LOG_LEVEL,
        }
    }
}

fn push_comma(frame: &mut String, opened: usize) {
    if frame.len() > opened {
        frame.push(',');
    }
}

/// Returns the params of `initialize`.
pub(crate) fn initialize_params(client: &ClientInfo) -> String {
    format!(
        r#"{{"protocolVersion":"{}","capabilities":{LEGACY_CAPABILITIES},"clientInfo":{}}}"#,
        revision::LATEST_LEGACY,
        client.json()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClientInfo {
        ClientInfo {
            name: "pegboard".into(),
            version: "0".into(),
        }
    }

    fn params(dialect: &Dialect, members: &str, extras: RequestMeta<'_>) -> String {
        let mut params = format!("{{{members}");
        dialect.push_meta(&mut params, extras);
        params.push('}');
        params
    }

    #[test]
    fn a_modern_request_carries_its_meta_and_callers_cannot_override_it() {
        let mut more = Map::new();
        more.insert("traceparent".into(), "00-1".into());
        more.insert("progressToken".into(), "theirs".into());
        more.insert(meta::LOG_LEVEL.into(), "debug".into());
        more.insert(
            "io.modelcontextprotocol/protocolVersion".into(),
            "1999".into(),
        );
        let extras = RequestMeta {
            more: Some(&more),
            capabilities: Some("{\n\"roots\":{}}"),
            progress: Some(7),
        };
        let modern = Dialect::modern(revision::MODERN, &client());
        let params = params(&modern, r#""a":1"#, extras);
        assert!(!params.contains('\n'), "{params}");
        let value: Value = serde_json::from_str(&params).unwrap();
        assert_eq!(value["a"], 1);
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/protocolVersion"],
            revision::MODERN
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            serde_json::json!({"roots": {}})
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientInfo"]["name"],
            "pegboard"
        );
        assert_eq!(value["_meta"]["traceparent"], "00-1");
        assert_eq!(value["_meta"]["progressToken"], 7);
        assert_eq!(value["_meta"][meta::LOG_LEVEL], "debug");
        let plain: Value = serde_json::from_str(&modern.params("")).unwrap();
        assert_eq!(
            plain["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            serde_json::json!({})
        );
    }

    #[test]
    fn a_legacy_request_has_meta_only_when_there_is_some() {
        let legacy = Dialect::legacy(revision::LATEST_LEGACY);
        let nothing = RequestMeta::default();
        assert_eq!(params(&legacy, "", nothing), "{}");
        assert_eq!(params(&legacy, "\"a\":1", nothing), "{\"a\":1}");
        let mut more = Map::new();
        more.insert("x".into(), 1.into());
        more.insert(meta::LOG_LEVEL.into(), "debug".into());
        let extras = RequestMeta {
            more: Some(&more),
            capabilities: Some("{}"),
            progress: None,
        };
        assert_eq!(params(&legacy, "", extras), r#"{"_meta":{"x":1}}"#);
        let extras = RequestMeta {
            progress: Some(3),
            ..extras
        };
        assert_eq!(
            params(&legacy, "\"a\":1", extras),
            r#"{"a":1,"_meta":{"progressToken":3,"x":1}}"#
        );
    }
}

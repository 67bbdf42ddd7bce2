//! How requests are written in each era.

use pegboard_model::Era;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The revision in which every request stands alone.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// Every modern revision known here, the best first.
pub(crate) const MODERN_VERSIONS: &[&str] = &[MODERN_VERSION];
/// The revision offered in `initialize`.
pub(crate) const LEGACY_VERSION: &str = "2025-11-25";
/// Every revision accepted back.
pub(crate) const LEGACY_VERSIONS: &[&str] =
    &["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION];

const META_PREFIX: &str = "io.modelcontextprotocol/";

/// Who Pegboard says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
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

/// The way of writing that a conversation agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(crate) era: Era,
    pub(crate) version: String,
    /// What every request's `_meta` holds, ready to be written.
    meta: String,
}

impl Dialect {
    pub(crate) fn modern(version: &str, client: &ClientInfo) -> Self {
        let meta = format!(
            r#""{META_PREFIX}protocolVersion":{},"{META_PREFIX}clientCapabilities":{{}},"{META_PREFIX}clientInfo":{}"#,
            quoted(version),
            client.json()
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

    /// The `params` of a request: its members and, where there is something to say, `_meta`.
    pub(crate) fn params(&self, members: &str, more: Option<&Map<String, Value>>) -> String {
        let mut meta = self.meta.clone();
        for (key, value) in more.into_iter().flatten() {
            if key.starts_with(META_PREFIX) && self.is_modern() {
                // What the era itself writes is not open to callers.
                continue;
            }
            if !meta.is_empty() {
                meta.push(',');
            }
            meta.push_str(&format!("{}:{value}", quoted(key)));
        }
        match (members.is_empty(), meta.is_empty()) {
            (_, true) => format!("{{{members}}}"),
            (true, false) => format!(r#"{{"_meta":{{{meta}}}}}"#),
            (false, false) => format!(r#"{{{members},"_meta":{{{meta}}}}}"#),
        }
    }
}

/// A request on the wire, without a line end.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A notification on the wire, without a line end.
pub(crate) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// The notification that takes a request back.
pub(crate) fn cancelled(id: u64) -> String {
    notification(
        "notifications/cancelled",
        &format!(r#"{{"requestId":{id},"reason":"no longer wanted"}}"#),
    )
}

/// Our answer to a request of a server; `None` is "no such method here".
pub(crate) fn reply(id: &RawValue, result: Option<&str>) -> String {
    match result {
        Some(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        None => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
        ),
    }
}

/// The params of `initialize`.
pub(crate) fn initialize_params(client: &ClientInfo) -> String {
    format!(
        r#"{{"protocolVersion":"{LEGACY_VERSION}","capabilities":{{}},"clientInfo":{}}}"#,
        client.json()
    )
}

/// The members of `tools/call`. Line breaks of a pretty-printed value would end the line on the wire;
/// in valid JSON they stand only between tokens.
pub(crate) fn call_members(tool: &str, arguments: &RawValue) -> String {
    let arguments = arguments.get();
    let members = |arguments: &str| format!(r#""name":{},"arguments":{arguments}"#, quoted(tool));
    if arguments.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
        members(&arguments.replace(['\n', '\r'], " "))
    } else {
        members(arguments)
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
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

    #[test]
    fn a_modern_request_carries_its_meta_and_nobody_overrides_it() {
        let mut more = Map::new();
        more.insert("traceparent".into(), "00-1".into());
        more.insert(
            "io.modelcontextprotocol/protocolVersion".into(),
            "1999".into(),
        );
        let params = Dialect::modern(MODERN_VERSION, &client()).params(r#""a":1"#, Some(&more));
        let value: Value = serde_json::from_str(&params).unwrap();
        assert_eq!(value["a"], 1);
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/protocolVersion"],
            MODERN_VERSION
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            serde_json::json!({})
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientInfo"]["name"],
            "pegboard"
        );
        assert_eq!(value["_meta"]["traceparent"], "00-1");
    }

    #[test]
    fn a_legacy_request_has_meta_only_when_there_is_some() {
        assert_eq!(Dialect::legacy(LEGACY_VERSION).params("", None), "{}");
        assert_eq!(
            Dialect::legacy(LEGACY_VERSION).params("\"a\":1", None),
            "{\"a\":1}"
        );
        let mut more = Map::new();
        more.insert("x".into(), 1.into());
        assert_eq!(
            Dialect::legacy(LEGACY_VERSION).params("", Some(&more)),
            r#"{"_meta":{"x":1}}"#
        );
    }

    #[test]
    fn pretty_arguments_stay_on_one_line() {
        let arguments = RawValue::from_string("{\n  \"text\": \"a\\nb\"\r\n}".into()).unwrap();
        assert_eq!(
            call_members("t\"x", &arguments),
            r#""name":"t\"x","arguments":{   "text": "a\nb"  }"#
        );
    }
}

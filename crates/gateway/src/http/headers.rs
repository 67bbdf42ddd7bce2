//! The HTTP headers of the protocol, and the check that they match the body.

use std::borrow::Cow;

use axum::http::header::{ACCEPT, AsHeaderName, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_jsonrpc::revision;

use super::refusal::protocol_error;
use crate::message::Message;
use crate::response::code;

/// The session id of a legacy client.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The id of the last event that a legacy client received.
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The first revision whose clients accept an event without data.
const FIRST_WITH_PRIMING: &str = "2025-11-25";

/// The `Accept` value that nearly all clients send.
const USUAL_ACCEPT: &str = "application/json, text/event-stream";

/// The trimmed value of a header. `None` if the header is duplicated, because a proxy may have read the other value.
pub(super) fn value(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().map(str::trim_ascii),
        _ => None,
    }
}

/// The protocol revision in the headers.
pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    value(headers, VERSION)
}

/// Whether clients of this revision get a priming event.
pub(super) fn supports_priming(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= FIRST_WITH_PRIMING)
}

/// Checks the revision of a legacy client. The header is optional.
pub(super) fn check_legacy_version(headers: &HeaderMap) -> Result<(), Response> {
    if !headers.contains_key(VERSION) {
        return Ok(());
    }
    match version(headers).is_some_and(|version| revision::LEGACY_REVISIONS.contains(&version)) {
        true => Ok(()),
        false => Err(protocol_error(
            StatusCode::BAD_REQUEST,
            code::INVALID_REQUEST,
            "`MCP-Protocol-Version` is not a revision with sessions; send the negotiated one",
        )),
    }
}

/// Checks that the body is JSON.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Response> {
    let kind = value(headers, CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim_end();
    match kind.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(protocol_error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code::INVALID_REQUEST,
            "`Content-Type` must be `application/json`",
        )),
    }
}

/// Checks that the client accepts event streams, and for a POST also JSON.
pub(super) fn check_accept(headers: &HeaderMap, also_json: bool) -> Result<(), Response> {
    let (mut json, mut events) = (!also_json, false);
    let mut said = false;
    for value in headers.get_all(ACCEPT) {
        said = true;
        if value == USUAL_ACCEPT {
            return Ok(());
        }
        let Ok(value) = value.to_str() else { continue };
        for kind in value.split(',') {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            let is = |known: &str| kind.eq_ignore_ascii_case(known);
            json |= is("application/json") || is("application/*") || is("*/*");
            events |= is("text/event-stream") || is("text/*") || is("*/*");
        }
    }
    if !said || (json && events) {
        return Ok(());
    }
    let why = match also_json {
        true => "`Accept` must contain `application/json` and `text/event-stream`",
        false => "`Accept` must contain `text/event-stream`",
    };
    let status = StatusCode::NOT_ACCEPTABLE;
    Err(protocol_error(status, code::INVALID_REQUEST, why))
}

/// The declared length of the body.
pub(super) fn content_length(headers: &HeaderMap) -> Option<usize> {
    value(headers, CONTENT_LENGTH)?.parse().ok()
}

/// Checks that the headers of a modern request match its body.
pub(super) fn check_matches_body(
    headers: &HeaderMap,
    message: &Message,
) -> Result<(), crate::Response> {
    let refuse = |why: &str| Err(message.refuse(400, code::HEADER_MISMATCH, why));
    let Some(version) = message.protocol_version() else {
        let why = "`_meta` must name the revision as `io.modelcontextprotocol/protocolVersion`";
        return Err(message.refuse(400, code::INVALID_PARAMS, why));
    };
    for (name, shown, said) in [
        (VERSION, "MCP-Protocol-Version", version),
        (METHOD, "Mcp-Method", message.method()),
    ] {
        match value(headers, name) {
            Some(value) if value == said => {}
            Some(_) => return refuse(&format!("header `{shown}` does not match the body")),
            None => return refuse(&format!("header `{shown}` is missing")),
        }
    }
    if !matches!(
        message.method(),
        "tools/call" | "resources/read" | "prompts/get"
    ) {
        return Ok(());
    }
    match (headers.contains_key(NAME), message.subject()) {
        (false, None) => Ok(()),
        (false, Some(_)) => refuse("header `Mcp-Name` is missing"),
        (true, said) => {
            let name = value(headers, NAME).and_then(decode_value);
            match name.is_some() && name.as_deref() == said {
                true => Ok(()),
                false => refuse("header `Mcp-Name` does not match the body"),
            }
        }
    }
}

/// Decodes a header value that the client may have encoded as base64. Returns `None` if the encoding is invalid.
pub(super) fn decode_value(value: &str) -> Option<Cow<'_, str>> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    let Some(encoded) = encoded else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use bytes::Bytes;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn call(name: &str) -> Message {
        let text = serde_json::json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": name, "arguments": {},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        }});
        Message::parse(Bytes::from(text.to_string())).ok().unwrap()
    }

    #[track_caller]
    fn check(name: &str, pairs: &[(&str, &str)], wrong: &str) {
        let result = check_matches_body(&headers(pairs), &call(name));
        match result {
            Ok(()) => assert_eq!(wrong, "", "{pairs:?}"),
            Err(refused) => {
                assert_eq!(refused.status, 400);
                let text = String::from_utf8(refused.into_bytes().to_vec()).unwrap();
                assert!(
                    !wrong.is_empty() && text.contains(wrong),
                    "{pairs:?}: {text}"
                );
                assert!(
                    text.contains("-32020") && text.contains("\"id\":7"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn r_gate_01_modern_headers_must_repeat_the_body() {
        let version = ("MCP-Protocol-Version", "2026-07-28");
        let method = ("Mcp-Method", "tools/call");
        let good = ("Mcp-Name", "add");
        check("add", &[version, method, good], "");
        check("add", &[version, method, ("mcp-name", "  add ")], "");
        check("add", &[method, good], "`MCP-Protocol-Version` is missing");
        check("add", &[version, good], "`Mcp-Method` is missing");
        check("add", &[version, method], "`Mcp-Name` is missing");
        let other = ("MCP-Protocol-Version", "2026-07-29");
        check(
            "add",
            &[other, method, good],
            "`MCP-Protocol-Version` does not",
        );
        let loud = ("Mcp-Method", "TOOLS/CALL");
        check("add", &[version, loud, good], "`Mcp-Method` does not");
        let bad = ("Mcp-Name", "sub");
        check("add", &[version, method, bad], "`Mcp-Name` does not");
        check("add", &[version, method, good, bad], "`Mcp-Name` does not");
        check("add", &[version, method, method, good], "`Mcp-Method` is");
    }

    #[test]
    fn r_gate_01_names_that_do_not_fit_a_header_come_encoded() {
        let start = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
        ];
        let with = |value| [start[0], start[1], ("Mcp-Name", value)];
        check("Hello", &with("=?base64?SGVsbG8=?="), "");
        check("äö", &with("=?base64?w6TDtg==?="), "");
        check("SGVsbG8=", &with("SGVsbG8="), "");
        check("=?base64?SGVsbG8=", &with("=?base64?SGVsbG8="), "");
        for bad in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!bG8=?=",
            "=?base64?/w==?=",
        ] {
            check("Hello", &with(bad), "`Mcp-Name` does not");
        }
    }

    #[test]
    fn revisions_are_classified_by_date() {
        for (version, modern) in [
            ("2026-07-28", true),
            ("2027-01-01", true),
            ("2025-11-25", false),
            ("DRAFT-2099", false),
            ("9999", false),
            ("", false),
        ] {
            assert_eq!(revision::is_modern(version), modern, "{version}");
        }
        let legacy =
            |version| check_legacy_version(&headers(&[(VERSION.as_str(), version)])).is_ok();
        assert!(legacy("2025-03-26") && legacy(" 2025-11-25 "));
        assert!(!legacy("1900-01-01") && !legacy("nonsense") && !legacy("2026-07-28"));
        assert!(check_legacy_version(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn accept_and_content_type_are_checked() {
        let accepts = |value| check_accept(&headers(&[("Accept", value)]), true).is_ok();
        assert!(accepts("application/json, text/event-stream"));
        assert!(accepts("text/event-stream;q=0.5,Application/JSON"));
        assert!(accepts("*/*"));
        assert!(!accepts("application/json") && !accepts("text/event-stream") && !accepts("x"));
        assert!(check_accept(&HeaderMap::new(), true).is_ok());
        let two = headers(&[
            ("Accept", "application/json"),
            ("Accept", "text/event-stream"),
        ]);
        assert!(check_accept(&two, true).is_ok());
        assert!(check_accept(&headers(&[("Accept", "text/event-stream")]), false).is_ok());
        let kind = |value| check_content_type(&headers(&[("Content-Type", value)])).is_ok();
        assert!(kind("application/json") && kind("Application/json ; charset=utf-8"));
        assert!(!kind("text/plain") && !kind("") && !kind("application/jsonx"));
    }
}

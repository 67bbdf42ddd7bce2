//! Parses handshake responses, tolerantly and with limits.

use pegboard_jsonrpc::{RpcError, capped_array, code, present, revision, string};
use pegboard_model::{Era, Limits, ServerInfo};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::Handshake;
use crate::redact::truncate;

/// How many entries of a server's list of revisions are read.
const VERSIONS_READ: usize = 64;
/// Bytes kept of a server's name and of its version.
const INFO_BYTES: usize = 256;

/// A parsed handshake response.
#[derive(Debug)]
pub(crate) enum ParsedHandshake {
    /// The handshake succeeded.
    Negotiated(Handshake),
    /// The server supports only these revisions, as it wrote them.
    NoCommonVersion(Vec<String>),
    /// The response is not a handshake.
    Unusable,
}

/// The members of a handshake response in either era.
#[derive(Deserialize)]
struct RawHandshake<'a> {
    #[serde(
        borrow,
        default,
        rename = "supportedVersions",
        deserialize_with = "present"
    )]
    supported: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "protocolVersion",
        deserialize_with = "present"
    )]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "serverInfo", deserialize_with = "present")]
    info: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    meta: Option<&'a RawValue>,
}

/// Parses the result of `server/discover`.
pub(crate) fn parse_discover(result: &RawValue, limits: &Limits) -> ParsedHandshake {
    let Ok(fields) = serde_json::from_str::<RawHandshake<'_>>(result.get()) else {
        return ParsedHandshake::Unusable;
    };
    let Some(supported) = fields.supported.and_then(versions) else {
        return ParsedHandshake::Unusable;
    };
    match common_version(&supported) {
        Some(version) => negotiated(&fields, Era::Modern, version, limits),
        None => ParsedHandshake::NoCommonVersion(supported),
    }
}

/// Parses the result of `initialize`.
pub(crate) fn parse_initialize(result: &RawValue, limits: &Limits) -> ParsedHandshake {
    let Ok(fields) = serde_json::from_str::<RawHandshake<'_>>(result.get()) else {
        return ParsedHandshake::Unusable;
    };
    let Some(version) = fields.version.and_then(string) else {
        return ParsedHandshake::Unusable;
    };
    match revision::LEGACY_REVISIONS
        .iter()
        .find(|known| **known == version)
    {
        Some(version) => negotiated(&fields, Era::Legacy, version, limits),
        None => ParsedHandshake::NoCommonVersion(vec![version.into_owned()]),
    }
}

/// Returns whether an error proves that the server is modern.
pub(crate) fn is_modern(error: &RpcError) -> bool {
    code::is_modern(error.code)
}

/// Returns the revisions that a modern server offers instead of the requested one.
pub(crate) fn offered_versions(error: &RpcError) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        supported: &'a RawValue,
    }
    let data = error
        .data
        .as_deref()
        .filter(|_| error.code == code::UNSUPPORTED_VERSION);
    data.and_then(|data| serde_json::from_str::<Data<'_>>(data).ok())
        .and_then(|data| versions(data.supported))
        .unwrap_or_default()
}

/// Returns the best modern revision that both sides support.
pub(crate) fn common_version(offered_versions: &[String]) -> Option<&'static str> {
    revision::MODERN_REVISIONS
        .iter()
        .find(|known| offered_versions.iter().any(|version| version == *known))
        .copied()
}

/// Returns the assumed handshake of a modern server that got no request yet.
pub(crate) fn assumed_handshake(version: &str) -> Handshake {
    Handshake {
        era: Era::Modern,
        protocol_version: version.to_owned(),
        info: None,
        instructions: None,
        list_changed: false,
        declares_tools: None,
        capabilities: None,
        noise: 0,
    }
}

fn versions(raw: &RawValue) -> Option<Vec<String>> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    let elements = capped_array(&mut deserializer, VERSIONS_READ).ok()??;
    Some(
        elements
            .into_iter()
            .filter_map(string)
            .map(|version| truncate(&version, INFO_BYTES).to_owned())
            .collect(),
    )
}

fn negotiated(
    fields: &RawHandshake<'_>,
    era: Era,
    version: &str,
    limits: &Limits,
) -> ParsedHandshake {
    #[derive(Default, Deserialize)]
    struct Capabilities<'a> {
        #[serde(borrow, default)]
        tools: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Tools {
        #[serde(default, rename = "listChanged")]
        list_changed: bool,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default, rename = "io.modelcontextprotocol/serverInfo")]
        info: Option<&'a RawValue>,
    }
    let tools = fields
        .capabilities
        .and_then(|raw| serde_json::from_str::<Capabilities<'_>>(raw.get()).ok())
        .and_then(|capabilities| capabilities.tools);
    let list_changed = tools
        .and_then(|raw| serde_json::from_str::<Tools>(raw.get()).ok())
        .is_some_and(|tools| tools.list_changed);
    let in_meta = fields
        .meta
        .and_then(|raw| serde_json::from_str::<Meta<'_>>(raw.get()).ok())
        .and_then(|meta| meta.info);
    let instructions = fields.instructions.and_then(string);
    ParsedHandshake::Negotiated(Handshake {
        era,
        protocol_version: version.to_owned(),
        info: fields.info.or(in_meta).and_then(info),
        instructions: instructions
            .map(|text| truncate(&text, limits.instructions_bytes).to_owned()),
        list_changed,
        declares_tools: Some(tools.is_some()),
        capabilities: fields.capabilities.map(|raw| raw.get().into()),
        noise: 0,
    })
}

fn info(raw: &RawValue) -> Option<ServerInfo> {
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        name: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        version: Option<&'a RawValue>,
    }
    let info: Info<'_> = serde_json::from_str(raw.get()).ok()?;
    let text = |raw: Option<&RawValue>| {
        truncate(&raw.and_then(string).unwrap_or_default(), INFO_BYTES).to_owned()
    };
    Some(ServerInfo {
        name: text(info.name),
        version: text(info.version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn both_openings_are_read() {
        let limits = Limits {
            instructions_bytes: 4,
            ..Limits::default()
        };
        let modern = raw(
            r#"{"supportedVersions":["2099-01-01","2026-07-28"],"capabilities":{"tools":{"listChanged":true}},
                "instructions":"abcdef","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}"#,
        );
        let ParsedHandshake::Negotiated(handshake) = parse_discover(&modern, &limits) else {
            panic!()
        };
        assert_eq!(
            (
                handshake.era,
                handshake.protocol_version.as_str(),
                handshake.list_changed
            ),
            (Era::Modern, "2026-07-28", true)
        );
        assert_eq!(handshake.instructions.as_deref(), Some("abcd"));
        assert_eq!(handshake.info.unwrap().name, "n");
        let legacy =
            raw(r#"{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":7}}"#);
        let ParsedHandshake::Negotiated(handshake) = parse_initialize(&legacy, &limits) else {
            panic!()
        };
        assert_eq!(
            (handshake.era, handshake.declares_tools),
            (Era::Legacy, Some(false))
        );
        assert_eq!(handshake.info.unwrap().name, "");
    }

    #[test]
    fn unknown_revisions_are_not_negotiated() {
        for version in ["1999-01-01", "", "9999-12-31", "2026-07-28"] {
            let response = raw(&format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#
            ));
            assert!(
                matches!(
                    parse_initialize(&response, &Limits::default()),
                    ParsedHandshake::NoCommonVersion(_)
                ),
                "{version}"
            );
        }
        let only = raw(r#"{"supportedVersions":["2031-01-01"]}"#);
        assert!(matches!(
            parse_discover(&only, &Limits::default()),
            ParsedHandshake::NoCommonVersion(_)
        ));
        assert!(matches!(
            parse_discover(&raw("[]"), &Limits::default()),
            ParsedHandshake::Unusable
        ));
        assert!(matches!(
            parse_initialize(&raw(r#"{"protocolVersion":1}"#), &Limits::default()),
            ParsedHandshake::Unusable
        ));
    }

    #[test]
    fn an_offer_is_read_only_from_the_version_error() {
        let error = |code| RpcError {
            code,
            message: String::new(),
            data: Some(r#"{"supported":["2026-07-28"]}"#.to_owned()),
        };
        assert_eq!(
            common_version(&offered_versions(&error(-32022))),
            Some("2026-07-28")
        );
        assert!(offered_versions(&error(-32602)).is_empty());
        assert!(
            is_modern(&error(-32020)) && !is_modern(&error(-32602)) && !is_modern(&error(-32042))
        );
    }
}

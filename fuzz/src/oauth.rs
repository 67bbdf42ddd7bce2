//! What servers publish and send about logins.

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/upstream/src/oauth/challenge.rs"]
mod challenge_parser;
#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/upstream/src/oauth/metadata.rs"]
mod metadata_parser;

use challenge_parser::{BearerChallenge, MAX_SCOPES};
use hyper::HeaderMap;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use metadata_parser::{ResourceMetadata, ServerMetadata};

/// The limits of the parser of metadata.
const MAX_ENTRIES: usize = 64;
const MAX_TEXT: usize = 4 * 1024;

/// Each line is a `WWW-Authenticate` header. What is read is bounded, and scopes contain only characters that a scope
/// may have. Passes if there is a challenge for bearer tokens.
pub(crate) fn challenge(input: &[u8]) -> bool {
    let mut headers = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n').take(8) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(WWW_AUTHENTICATE, value);
        }
    }
    let Some(found) = BearerChallenge::of(&headers) else {
        return false;
    };
    for text in [&found.resource_metadata, &found.scope, &found.error] {
        assert!(text.as_ref().is_none_or(|text| text.len() <= input.len()));
    }
    let scopes = found.scopes();
    assert!(scopes.len() <= MAX_SCOPES);
    for (place, scope) in scopes.iter().enumerate() {
        let is_printed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        assert!(
            !scope.is_empty() && scope.bytes().all(is_printed),
            "{scope:?}"
        );
        assert!(!scopes[..place].contains(scope), "twice: {scope}");
    }
    // Written again, it reads the same.
    if !scopes.is_empty() {
        let written = format!("Bearer scope=\"{}\"", scopes.join(" "));
        let mut headers = HeaderMap::new();
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(&written).unwrap());
        if written.len() <= 16 * 1024 {
            let again = BearerChallenge::of(&headers).expect("a challenge");
            assert_eq!(again.scopes(), scopes);
        }
    }
    true
}

/// Documents of both kinds: lists and texts are bounded, and a stored document reads back unchanged. Passes if the
/// input is an object.
pub(crate) fn metadata(input: &[u8]) -> bool {
    let resource = serde_json::from_slice::<ResourceMetadata>(input);
    if let Ok(resource) = &resource {
        assert!(resource.authorization_servers.len() <= MAX_ENTRIES);
        let mut texts = resource
            .authorization_servers
            .iter()
            .chain(&resource.resource);
        assert!(texts.all(|text| text.len() <= MAX_TEXT));
    }
    let Ok(server) = serde_json::from_slice::<ServerMetadata>(input) else {
        return false;
    };
    let scopes = server.scopes_supported.as_deref().unwrap_or_default();
    assert!(scopes.len() <= MAX_ENTRIES);
    let stored = serde_json::to_vec(&server).unwrap();
    assert_eq!(
        serde_json::from_slice::<ServerMetadata>(&stored).unwrap(),
        server
    );
    true
}

//! The address for messages that a server of the old HTTP+SSE transport names.

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/upstream/src/http/old_sse/endpoint.rs"]
mod parser;

use parser::endpoint_url;
use reqwest::Url;

/// The URLs of streams that are tried with each input.
const STREAMS: [&str; 3] = [
    "https://mcp.example:8443/v1/sse?key=1",
    "http://127.0.0.1:7000/sse",
    "https://[2001:db8::1]/",
];

/// An accepted address has the origin of the stream, no credentials and no fragment, and resolves to itself. Passes if
/// one is accepted.
pub(crate) fn endpoint(input: &[u8]) -> bool {
    let data = String::from_utf8_lossy(input);
    let mut passes = false;
    for stream in STREAMS {
        let stream = Url::parse(stream).expect("a valid URL");
        match endpoint_url(&stream, &data) {
            Ok(url) => {
                passes = true;
                assert_eq!(url.origin(), stream.origin());
                assert!(url.username().is_empty() && url.password().is_none());
                assert!(url.fragment().is_none());
                if url.as_str().len() <= 4096 {
                    assert_eq!(endpoint_url(&stream, url.as_str()), Ok(url));
                }
            }
            // What is shown names an origin at most, never the path or the query, which contain the session.
            Err(flaw) => {
                let shown = flaw.to_string();
                let origin = shown.rsplit(' ').next().unwrap_or_default();
                assert!(
                    !origin.trim_start_matches("https://").contains('?'),
                    "{shown}"
                );
                assert!(!flaw.remedy().is_empty());
            }
        }
    }
    passes
}

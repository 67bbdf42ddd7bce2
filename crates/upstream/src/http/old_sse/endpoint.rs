//! The URL for our messages, from the event `endpoint`.

use std::fmt;

use reqwest::Url;

/// The longest endpoint that is accepted.
const ENDPOINT_BYTES: usize = 4 * 1024;

/// Why an endpoint is not used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndpointFlaw {
    TooLong,
    NotUrl,
    /// It is at another origin; only the origin is shown, because the rest is secret.
    OtherOrigin {
        origin: String,
        /// Whether the address says `http` although the server is reached by `https`.
        is_downgrade: bool,
    },
    HasCredentials,
}

impl fmt::Display for EndpointFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "is longer than {ENDPOINT_BYTES} bytes"),
            Self::NotUrl => f.write_str("is not a URL"),
            Self::HasCredentials => f.write_str("contains credentials"),
            Self::OtherOrigin { origin, .. } => write!(f, "is at another address, {origin}"),
        }
    }
}

impl EndpointFlaw {
    /// What the user can do.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::OtherOrigin {
                is_downgrade: true, ..
            } => {
                "A proxy in front of the server hides `https` from it. Its operator must configure the forwarded scheme."
            }
            Self::OtherOrigin { .. } => {
                "Messages go only to the address in `url`. Set `url` to the server's own address, or report this to its operator."
            }
            Self::TooLong | Self::NotUrl | Self::HasCredentials => {
                "Report this to the server's operator."
            }
        }
    }
}

/// Resolves the data of the event against the URL of the stream. The result has the same scheme, host and port.
pub(crate) fn endpoint_url(stream: &Url, data: &str) -> Result<Url, EndpointFlaw> {
    let data = data.trim();
    if data.len() > ENDPOINT_BYTES {
        return Err(EndpointFlaw::TooLong);
    }
    if data.is_empty() {
        return Err(EndpointFlaw::NotUrl);
    }
    let mut url = stream.join(data).map_err(|_| EndpointFlaw::NotUrl)?;
    if url.origin() != stream.origin() || !url.origin().is_tuple() {
        let is_same_host = url.host_str() == stream.host_str();
        return Err(EndpointFlaw::OtherOrigin {
            is_downgrade: is_same_host && url.scheme() == "http" && stream.scheme() == "https",
            origin: url.origin().ascii_serialization(),
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointFlaw::HasCredentials);
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(data: &str, expected: &str) {
        let stream = Url::parse("https://mcp.example:8443/v1/sse?key=1").unwrap();
        let found = match endpoint_url(&stream, data) {
            Ok(url) => url.to_string(),
            Err(flaw) => format!("{flaw}"),
        };
        assert_eq!(found, expected, "{data:?}");
    }

    #[test]
    fn r_auth_06_an_endpoint_is_resolved_against_the_stream() {
        check(
            "/messages/?session_id=a",
            "https://mcp.example:8443/messages/?session_id=a",
        );
        check(
            " message?sessionId=b\n",
            "https://mcp.example:8443/v1/message?sessionId=b",
        );
        check("?s=1#x", "https://mcp.example:8443/v1/sse?s=1");
        check("https://mcp.example:8443/m", "https://mcp.example:8443/m");
        check("https://MCP.example:8443/m", "https://mcp.example:8443/m");
    }

    #[test]
    fn r_auth_06_an_endpoint_at_another_origin_is_refused() {
        let at = |origin: &str| format!("is at another address, {origin}");
        check("http://mcp.example:8443/m", &at("http://mcp.example:8443"));
        check("https://mcp.example/m", &at("https://mcp.example"));
        check("//evil.example/m", &at("https://evil.example"));
        check("\\\\evil.example/m", &at("https://evil.example"));
        check(
            "https://mcp.example:8443@evil.example/",
            &at("https://evil.example"),
        );
        check(
            "https://mcp.example.evil.example:8443/",
            &at("https://mcp.example.evil.example:8443"),
        );
        check("javascript:alert(1)", &at("null"));
        check("file:///etc/passwd", &at("null"));
        check(
            "https://user:word@mcp.example:8443/m",
            "contains credentials",
        );
        check("", "is not a URL");
        check("https://[", "is not a URL");
        check(&"x".repeat(5000), "is longer than 4096 bytes");
    }

    #[test]
    fn a_lost_scheme_is_explained() {
        let stream = Url::parse("https://mcp.example/sse").unwrap();
        let flaw = endpoint_url(&stream, "http://mcp.example/m").unwrap_err();
        assert!(flaw.remedy().contains("forwarded scheme"));
        let flaw = endpoint_url(&stream, "https://other.example/m").unwrap_err();
        assert!(!flaw.remedy().contains("forwarded scheme"));
    }
}

//! Where an HTTP server is, and what is sent with every request.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pegboard_model::{Template, ToolResult};
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::header_text::base64;
use crate::resolve::Resolver;

/// Headers that the transport writes itself.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "content-type",
    "content-length",
    "host",
    "transfer-encoding",
    "connection",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "last-event-id",
];

/// An endpoint with its headers. It holds secrets, so it has no `Debug`.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl Target {
    /// Whether the endpoint is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host.trim_end_matches('.') == "localhost"
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }

    /// The part of the address that is no secret.
    pub(crate) fn shown(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

impl Resolver<'_> {
    /// The endpoint of a server on the network.
    pub(crate) fn target(
        &mut self,
        url: &Template,
        headers: &BTreeMap<String, Template>,
        bearer: Option<&Template>,
    ) -> ToolResult<Target> {
        let text = self.value(url, "url")?;
        self.hide_references_in_lists(url, &text);
        // The parser's words name the part that is wrong and never the text, which may hold a secret.
        let mut url = Url::parse(text.trim()).map_err(|flaw| {
            self.invalid("url", &format!("is not an address: {flaw}"))
                .with_remedy("Write it as `https://example.com/mcp`.")
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(self.invalid("url", "must begin with `http://` or `https://`"));
        }
        // What stands before `@` is sent decoded, and a token is often given as the user.
        for part in [Some(url.username()), url.password()].into_iter().flatten() {
            self.redactor.add(part);
            self.redactor
                .add(&percent_decode_str(part).decode_utf8_lossy());
        }
        url.query_pairs()
            .for_each(|(_, value)| self.redactor.add(&value));
        let mut map = HeaderMap::new();
        for (name, template) in headers {
            let field = format!("headers.{name}");
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| self.invalid(&field, "is not a name of a header"))?;
            if OWN_HEADERS.contains(&header.as_str()) {
                return Err(self.invalid(&field, "is a header that Pegboard writes itself"));
            }
            let value = self.secret(template, &field)?;
            self.hide_in_lists(template, name, &value);
            map.insert(header, self.header_value(value.trim(), &field)?);
        }
        if let Some(bearer) = bearer {
            let token = self.secret(bearer, "bearer")?;
            self.redactor.add_certain(&token);
            map.insert(
                AUTHORIZATION,
                self.header_value(&format!("Bearer {}", token.trim()), "bearer")?,
            );
        }
        if let Some(login) = self.login(&mut url)?
            && !map.contains_key(AUTHORIZATION)
        {
            map.insert(AUTHORIZATION, login);
        }
        Ok(Target { url, headers: map })
    }

    /// Takes what stands before `@` out of the address; it goes as a header.
    fn login(&mut self, url: &mut Url) -> ToolResult<Option<HeaderValue>> {
        if url.username().is_empty() && url.password().is_none() {
            return Ok(None);
        }
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let (user, word) = (url.username(), url.password().unwrap_or_default());
        let login = format!("{}:{}", decoded(user), decoded(word));
        let login = format!("Basic {}", base64(login.as_bytes()));
        self.redactor.add(&login);
        self.redactor.add_certain(&login);
        self.redactor.add_certain(&decoded(word));
        // Both only fail for addresses that have no place for a login, and this one has.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.header_value(&login, "url").map(Some)
    }

    fn header_value(&self, value: &str, field: &str) -> ToolResult<HeaderValue> {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            self.invalid(
                field,
                "has a value that cannot be sent as a header (line break or control character)",
            )
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, is_loopback: bool) {
        let (url, headers) = (Url::parse(url).unwrap(), HeaderMap::new());
        let target = Target { url, headers };
        assert_eq!(target.is_loopback(), is_loopback, "{}", target.shown());
    }

    #[test]
    fn r_sec_01_i09_this_machine_is_known_in_every_form() {
        for host in ["localhost", "LOCALHOST.", "127.0.0.1", "127.1", "[::1]"] {
            check(&format!("http://{host}:80/mcp"), true);
        }
        for host in [
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "[::ffff:127.0.0.1]",
        ] {
            check(&format!("http://{host}/mcp"), true);
        }
        for host in [
            "localhost.example",
            "10.0.0.1",
            "127.0.0.1.example",
            "[::ffff:10.0.0.1]",
        ] {
            check(&format!("http://127.0.0.1@{host}/mcp"), false);
        }
    }
}

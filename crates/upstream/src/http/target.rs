//! The endpoint of an HTTP server, and the headers of every request.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pegboard_model::{Template, ToolResult};
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::header_text::base64;
use crate::resolve::Resolver;

/// Headers that the transport sets itself.
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
    /// Returns whether the endpoint is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host.trim_end_matches('.') == "localhost"
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }

    /// Returns the part of the URL that is not secret.
    pub(crate) fn shown(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

impl Resolver<'_> {
    /// Resolves the endpoint of an HTTP server.
    pub(crate) fn target(
        &mut self,
        url: &Template,
        headers: &BTreeMap<String, Template>,
        bearer: Option<&Template>,
    ) -> ToolResult<Target> {
        let text = self.value(url, "url")?;
        self.hide_references_in_lists(url, &text);
        // The parser's message names the invalid part and never the text, which may contain a secret.
        let mut url = Url::parse(text.trim()).map_err(|flaw| {
            self.invalid("url", &format!("is not a valid URL: {flaw}"))
                .with_remedy("Write it as `https://example.com/mcp`.")
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(self.invalid("url", "must begin with `http://` or `https://`"));
        }
        // Credentials before `@` are sent decoded, and a token is often given as the user.
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
                .map_err(|_| self.invalid(&field, "is not a valid header name"))?;
            if OWN_HEADERS.contains(&header.as_str()) {
                return Err(self.invalid(&field, "is a header that Pegboard sets itself"));
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

    /// Moves the credentials before `@` out of the URL into a header.
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
        // Both fail only for URLs that cannot have credentials, and this one has.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.header_value(&login, "url").map(Some)
    }

    fn header_value(&self, value: &str, field: &str) -> ToolResult<HeaderValue> {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            self.invalid(
                field,
                "has a value that is not valid in a header (line break or control character)",
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

//! Where an HTTP server is, and what is sent with every request.

use std::collections::BTreeMap;

use pegboard_model::{Template, ToolResult};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

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
        let host = self
            .url
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']']);
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
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
        let url = Url::parse(text.trim()).map_err(|_| self.invalid("url", "is not a url"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(self.invalid("url", "must begin with `http://` or `https://`"));
        }
        if let Some(password) = url.password() {
            self.redactor.add(password);
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
            map.insert(header, self.header_value(value.trim(), &field)?);
        }
        if let Some(bearer) = bearer {
            let token = self.secret(bearer, "bearer")?;
            map.insert(
                AUTHORIZATION,
                self.header_value(&format!("Bearer {}", token.trim()), "bearer")?,
            );
        }
        Ok(Target { url, headers: map })
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

//! Trace destinations, resolved from the configuration and the environment.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_model::Secret;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// The path of the trace signal at every OTLP collector.
const SIGNAL_PATH: &str = "v1/traces";
/// The path of the OTLP endpoint of Langfuse.
pub(crate) const LANGFUSE_PATH: &str = "/api/public/otel";
/// Langfuse Cloud.
pub(crate) const LANGFUSE_CLOUD: &str = "https://cloud.langfuse.com";
/// Without this header, spans may take ten minutes to appear.
const LANGFUSE_VERSION: (&str, &str) = ("x-langfuse-ingestion-version", "4");
/// The default timeout of a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The trace settings of the configuration.
#[derive(Clone, Debug, Default)]
pub struct TraceConfig {
    /// The base URL of a collector, without `/v1/traces`.
    pub endpoint: Option<String>,
    /// Headers for the collector.
    pub headers: Vec<(String, Secret)>,
    /// The Langfuse project.
    pub langfuse: Option<LangfuseKeys>,
    /// Whether to record arguments, results and queries, redacted.
    pub capture_content: bool,
    /// The `service.name`. Defaults to `pegboard`.
    pub service_name: Option<String>,
    /// The deployment environment, such as `production`.
    pub environment: Option<String>,
}

/// The credentials of a Langfuse project.
#[derive(Clone, Debug)]
pub struct LangfuseKeys {
    /// The public key, `pk-lf-…`.
    pub public_key: Secret,
    /// The secret key, `sk-lf-…`.
    pub secret_key: Secret,
    /// The server. Defaults to Langfuse Cloud.
    pub base_url: Option<String>,
}

/// The validated trace settings.
#[derive(Clone, Debug, Default)]
pub struct TracePlan {
    /// Where spans are sent. If empty, nothing is traced.
    pub destinations: Vec<Destination>,
    /// Whether to record arguments, results and queries, redacted.
    pub capture_content: bool,
    /// The OpenTelemetry resource attributes.
    pub resource: Vec<(String, String)>,
    /// The deployment environment, if configured.
    pub environment: Option<String>,
    /// The release, if configured.
    pub release: Option<String>,
    /// All credentials in the plan, for the redactor.
    pub secrets: Vec<Secret>,
}

/// The attributes that a destination expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The standard attributes.
    Plain,
    /// Also the attributes of Langfuse.
    Langfuse,
}

/// An OTLP endpoint.
#[derive(Clone)]
pub struct Destination {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    flavour: Flavour,
}

impl Destination {
    /// Creates a destination from the base URL of a collector.
    ///
    /// # Errors
    /// Fails if the URL or a header is invalid.
    pub fn collector(base: &str, headers: &[(String, Secret)]) -> Result<Self, String> {
        let url = parse_url(base)?;
        let path = url.path().trim_end_matches('/').to_owned();
        let mut whole = url;
        whole.set_path(&format!("{path}/{SIGNAL_PATH}"));
        Self::from_url(whole, headers)
    }

    /// Creates a destination from the complete URL.
    ///
    /// # Errors
    /// Fails if the URL or a header is invalid.
    pub fn exact(address: &str, headers: &[(String, Secret)]) -> Result<Self, String> {
        Self::from_url(parse_url(address)?, headers)
    }

    /// Creates a destination for a Langfuse project.
    ///
    /// # Errors
    /// Fails if the URL or a key is invalid.
    pub fn langfuse(keys: &LangfuseKeys) -> Result<Self, String> {
        let base = keys.base_url.as_deref().unwrap_or(LANGFUSE_CLOUD);
        let base = base.trim().trim_end_matches('/');
        let base = base.strip_suffix(LANGFUSE_PATH).unwrap_or(base);
        let pair = format!("{}:{}", keys.public_key.reveal(), keys.secret_key.reveal());
        let basic = Secret::new(format!("Basic {}", STANDARD.encode(pair)));
        Self::collector(
            &format!("{base}{LANGFUSE_PATH}"),
            &[("authorization".to_owned(), basic)],
        )
    }

    fn from_url(mut url: Url, headers: &[(String, Secret)]) -> Result<Self, String> {
        let mut map = HeaderMap::new();
        if let Some(basic) = take_login(&mut url) {
            map.insert(AUTHORIZATION, basic);
        }
        for (name, value) in headers {
            let bad = |what: &str| format!("trace header `{name}` has {what}");
            let parsed = HeaderName::from_bytes(name.trim().as_bytes());
            let parsed = parsed.map_err(|_| bad("an invalid name"))?;
            let value = HeaderValue::from_str(value.reveal().trim());
            let mut value = value.map_err(|_| bad("an invalid value"))?;
            value.set_sensitive(true);
            map.insert(parsed, value);
        }
        let flavour = match url.path().contains(LANGFUSE_PATH) {
            true => Flavour::Langfuse,
            false => Flavour::Plain,
        };
        if flavour == Flavour::Langfuse {
            let (name, value) = LANGFUSE_VERSION;
            map.entry(name).or_insert(HeaderValue::from_static(value));
        }
        Ok(Self {
            url,
            headers: map,
            timeout: REQUEST_TIMEOUT,
            flavour,
        })
    }

    /// Sets the timeout of a request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The credentials in the headers, for the redactor.
    pub(crate) fn credentials(&self) -> Vec<Secret> {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        let texts = sensitive.filter_map(|value| value.to_str().ok());
        texts.map(Secret::new).collect()
    }

    /// The attributes that the destination expects.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The URL for display, without the query, which may contain a key.
    pub fn display_url(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Destination({})", self.display_url())
    }
}

fn parse_url(address: &str) -> Result<Url, String> {
    let url = Url::parse(address.trim()).map_err(|error| {
        format!("invalid trace endpoint: {error}; use a URL such as `http://localhost:4318`")
    })?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(format!(
            "invalid trace endpoint: scheme `{}` is not supported; use `http` or `https`",
            pegboard_model::UntrustedText::new(other)
        )),
    }
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(text);
    decoded.decode_utf8_lossy().into_owned()
}

/// Removes the login from a URL and returns it as a header, so that it is never displayed.
fn take_login(url: &mut Url) -> Option<HeaderValue> {
    let (user, password) = (url.username().to_owned(), url.password().map(str::to_owned));
    if user.is_empty() && password.is_none() {
        return None;
    }
    // Both only fail for URLs without a host, which were rejected before.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let (user, password) = (percent_decoded(&user), password.unwrap_or_default());
    let pair = format!("{user}:{}", percent_decoded(&password));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(base_url: Option<&str>) -> LangfuseKeys {
        LangfuseKeys {
            public_key: Secret::new("pk-lf-1"),
            secret_key: Secret::new("sk-lf-2"),
            base_url: base_url.map(str::to_owned),
        }
    }

    #[track_caller]
    fn check_langfuse(base: Option<&str>, expected: &str) {
        let destination = Destination::langfuse(&keys(base)).unwrap();
        assert_eq!(destination.url.as_str(), expected);
        assert_eq!(destination.flavour(), Flavour::Langfuse);
        // `printf pk-lf-1:sk-lf-2 | base64`
        assert_eq!(
            destination.headers["authorization"],
            "Basic cGstbGYtMTpzay1sZi0y"
        );
        assert_eq!(destination.headers["x-langfuse-ingestion-version"], "4");
    }

    #[test]
    fn r_obs_02_langfuse_is_reached_by_its_keys() {
        let path = "/api/public/otel/v1/traces";
        check_langfuse(None, &format!("https://cloud.langfuse.com{path}"));
        check_langfuse(
            Some("http://localhost:3000"),
            &format!("http://localhost:3000{path}"),
        );
        check_langfuse(
            Some("https://l.example/"),
            &format!("https://l.example{path}"),
        );
        check_langfuse(
            Some("https://l.example/sub/api/public/otel/"),
            "https://l.example/sub/api/public/otel/v1/traces",
        );
    }

    #[test]
    fn a_login_in_an_address_becomes_a_header_that_is_not_shown() {
        let destination =
            Destination::collector("http://ada:l%20ve@host:4318/x?key=canary", &[]).unwrap();
        assert_eq!(
            destination.url.as_str(),
            "http://host:4318/x/v1/traces?key=canary"
        );
        // `printf 'ada:l ve' | base64`
        assert_eq!(destination.headers["authorization"], "Basic YWRhOmwgdmU=");
        let shown = format!("{destination:?} {:?}", destination.headers);
        assert_eq!(destination.display_url(), "http://host:4318/x/v1/traces");
        assert!(
            !shown.contains("canary") && !shown.contains("YWRh"),
            "{shown}"
        );
    }

    #[test]
    fn unusable_addresses_and_headers_are_reported() {
        let at = |text: &str| Destination::collector(text, &[]).map(drop).unwrap_err();
        assert!(at("localhost:4318").contains("scheme `localhost`"));
        assert!(at("not an address").contains("invalid trace endpoint"));
        let header = |name: &str, value: &str| {
            let headers = [(name.to_owned(), Secret::new(value))];
            Destination::collector("http://h", &headers)
                .map(drop)
                .unwrap_err()
        };
        assert!(header("bad name", "v").contains("an invalid name"));
        let error = header("x-key", "canary\nvalue");
        assert!(
            error.contains("an invalid value") && !error.contains("canary"),
            "{error}"
        );
    }
}

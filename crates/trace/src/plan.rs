//! Where spans go, by the configuration and the environment.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_model::Secret;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

/// The end of the path at every OTLP collector.
const SIGNAL_PATH: &str = "v1/traces";
/// Where Langfuse takes OTLP.
pub(crate) const LANGFUSE_PATH: &str = "/api/public/otel";
/// Langfuse's own cloud.
pub(crate) const LANGFUSE_CLOUD: &str = "https://cloud.langfuse.com";
/// Without this header what is sent may take ten minutes to appear.
const LANGFUSE_VERSION: (&str, &str) = ("x-langfuse-ingestion-version", "4");
/// How long one request may take.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What the configuration says about traces.
#[derive(Clone, Debug, Default)]
pub struct TraceConfig {
    /// A collector's base address; `/v1/traces` is added.
    pub endpoint: Option<String>,
    /// Headers for that collector.
    pub headers: Vec<(String, Secret)>,
    /// Langfuse's keys.
    pub langfuse: Option<LangfuseKeys>,
    /// Whether arguments, results and queries are recorded, redacted.
    pub capture_content: bool,
    /// What this program is called; `pegboard` without one.
    pub service_name: Option<String>,
    /// Where it runs: `production`, `staging`.
    pub environment: Option<String>,
}

/// What Langfuse knows a project by.
#[derive(Clone, Debug)]
pub struct LangfuseKeys {
    /// The public key, `pk-lf-…`.
    pub public_key: Secret,
    /// The secret key, `sk-lf-…`.
    pub secret_key: Secret,
    /// The server; Langfuse's own cloud without one.
    pub base_url: Option<String>,
}

/// What is recorded, and where it goes: checked, and ready to be used.
#[derive(Clone, Debug, Default)]
pub struct TracePlan {
    /// Where spans are sent; nothing is traced when there is no place.
    pub destinations: Vec<Destination>,
    /// Whether arguments, results and queries are recorded, redacted.
    pub capture_content: bool,
    /// What describes this program on every export.
    pub resource: Vec<(String, String)>,
    /// Where this program runs, when that was said.
    pub environment: Option<String>,
    /// The release it belongs to, when that was said.
    pub release: Option<String>,
    /// Credentials that stand in the plan, for the redactor.
    pub secrets: Vec<Secret>,
}

/// Whose attributes a destination wants beside the standard ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Nobody's.
    Plain,
    /// Langfuse's.
    Langfuse,
}

/// One collector.
#[derive(Clone)]
pub struct Destination {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    flavour: Flavour,
}

impl Destination {
    /// A collector at a base address, to which the signal's path is added.
    pub fn collector(base: &str, headers: &[(String, Secret)]) -> Result<Self, String> {
        let url = checked(base)?;
        let path = url.path().trim_end_matches('/').to_owned();
        let mut whole = url;
        whole.set_path(&format!("{path}/{SIGNAL_PATH}"));
        Self::exactly(whole, headers)
    }

    /// A collector at exactly this address.
    pub fn exact(address: &str, headers: &[(String, Secret)]) -> Result<Self, String> {
        Self::exactly(checked(address)?, headers)
    }

    /// A Langfuse project.
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

    fn exactly(mut url: Url, headers: &[(String, Secret)]) -> Result<Self, String> {
        let mut map = HeaderMap::new();
        if let Some(basic) = taken_login(&mut url) {
            map.insert(AUTHORIZATION, basic);
        }
        for (name, value) in headers {
            let bad = |what: &str| format!("the header `{name}` for traces has {what}");
            let parsed = HeaderName::from_bytes(name.trim().as_bytes());
            let parsed = parsed.map_err(|_| bad("a name that is none"))?;
            let value = HeaderValue::from_str(value.reveal().trim());
            let mut value = value.map_err(|_| bad("a value that cannot be sent"))?;
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

    /// Limits how long one request may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What it is told to be let in, for the redactor.
    pub(crate) fn credentials(&self) -> Vec<Secret> {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        let texts = sensitive.filter_map(|value| value.to_str().ok());
        texts.map(Secret::new).collect()
    }

    /// Whose attributes it wants.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The address for a person: without query, which may hold a key.
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

fn checked(address: &str) -> Result<Url, String> {
    let url = Url::parse(address.trim()).map_err(|error| {
        format!("the address for traces is none ({error}); write it as `http://localhost:4318`")
    })?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(format!(
            "the address for traces begins with `{}`; only `http` and `https` are spoken",
            pegboard_model::UntrustedText::new(other)
        )),
    }
}

/// Takes a login out of an address, so that it is sent as a header and never shown.
fn taken_login(url: &mut Url) -> Option<HeaderValue> {
    let decode = |text: &str| {
        let bytes: Vec<u8> = percent_encoding::percent_decode_str(text).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (user, password) = (url.username().to_owned(), url.password().map(str::to_owned));
    if user.is_empty() && password.is_none() {
        return None;
    }
    // Both fail only for addresses without a host, which were refused before.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let pair = format!(
        "{}:{}",
        decode(&user),
        decode(&password.unwrap_or_default())
    );
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
        assert!(at("localhost:4318").contains("begins with `localhost`"));
        assert!(at("not an address").contains("is none"));
        let header = |name: &str, value: &str| {
            let headers = [(name.to_owned(), Secret::new(value))];
            Destination::collector("http://h", &headers)
                .map(drop)
                .unwrap_err()
        };
        assert!(header("bad name", "v").contains("a name that is none"));
        let told = header("x-key", "canary\nvalue");
        assert!(
            told.contains("cannot be sent") && !told.contains("canary"),
            "{told}"
        );
    }
}

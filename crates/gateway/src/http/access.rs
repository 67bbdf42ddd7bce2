//! Access rules: allowed `Host` and `Origin` values, and tokens.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST};
use blake3::Hash;
use pegboard_model::{Limits, Secret};

use super::origin::is_loopback_origin;
use super::principal::{LoginProvider, Role};

/// The access rules of a site. Clones share the tokens.
#[derive(Clone)]
pub struct Access {
    rules: Arc<AccessRules>,
}

#[derive(Clone)]
struct AccessRules {
    port: u16,
    /// Allowed `Host` values, port included.
    hosts: Vec<String>,
    /// Host names allowed with any port, for reverse proxies.
    names: Vec<String>,
    origins: Vec<String>,
    /// The hash of the token. Comparing hashes takes constant time, and a memory dump does not reveal the token.
    token: Option<Arc<ArcSwap<Hash>>>,
    /// The hash of the admin token. Without one, no token has the admin role.
    admin: Option<Arc<ArcSwap<Hash>>>,
    logins: Option<Arc<dyn LoginProvider>>,
    limits: Limits,
}

/// The address is reachable by others, so it requires a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnprotectedAddress(pub IpAddr);

impl fmt::Display for UnprotectedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.0;
        write!(
            f,
            "{address} is not a loopback address, so Pegboard requires a token there"
        )
    }
}

impl std::error::Error for UnprotectedAddress {}

/// Why a request is rejected before it is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessError {
    Host,
    Origin,
    Token,
    /// The user must log in at this page first.
    Login(&'static str),
    /// Sent by a logged-in browser, but possibly for a page of another origin.
    Forged,
}

impl Access {
    /// Rules for a site that listens on `address` and requires the token.
    pub fn with_token(address: SocketAddr, token: &Secret) -> Self {
        Self::new(address, Some(hashed(token)))
    }

    /// Rules for a site that listens on `address` and requires no token.
    ///
    /// # Errors
    /// Fails if `address` is not a loopback address.
    pub fn without_token(address: SocketAddr) -> Result<Self, UnprotectedAddress> {
        let ip = address.ip();
        if ip.to_canonical().is_loopback() {
            Ok(Self::new(address, None))
        } else {
            Err(UnprotectedAddress(ip))
        }
    }

    fn new(address: SocketAddr, token: Option<Arc<ArcSwap<Hash>>>) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
            if port == 80 {
                hosts.push(name.to_owned());
            }
        }
        let rules = AccessRules {
            port,
            hosts,
            names: Vec::new(),
            origins: Vec::new(),
            token,
            admin: None,
            logins: None,
            limits: Limits::default(),
        };
        Self {
            rules: Arc::new(rules),
        }
    }

    /// Allows more `Host` values: names with any port, or `name:port`.
    #[must_use]
    pub fn allow_hosts<T: Into<String>>(mut self, hosts: impl IntoIterator<Item = T>) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        for host in hosts.into_iter().map(Into::into) {
            match port_of(&host) {
                Some(_) => rules.hosts.push(host),
                None => rules.names.push(host),
            }
        }
        self
    }

    /// Allows more origins, each as `https://host` or `https://host:port`.
    #[must_use]
    pub fn allow_origins<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        let origins = origins.into_iter().map(Into::into);
        let origins = origins.map(|origin: String| origin.trim_end_matches('/').to_owned());
        rules.origins.extend(origins);
        self
    }

    /// Sets the limits of the site.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        Arc::make_mut(&mut self.rules).limits = limits;
        self
    }

    /// Sets the admin token, which also allows everything that the client token does.
    #[must_use]
    pub fn with_admin_token(mut self, token: &Secret) -> Self {
        Arc::make_mut(&mut self.rules).admin = Some(hashed(token));
        self
    }

    /// Accepts browsers that are logged in according to `logins`.
    #[must_use]
    pub fn with_logins(mut self, logins: Arc<dyn LoginProvider>) -> Self {
        Arc::make_mut(&mut self.rules).logins = Some(logins);
        self
    }

    /// Replaces the admin token for all later requests. Has no effect if the site was created without one.
    pub fn set_admin_token(&self, token: &Secret) {
        if let Some(current) = &self.rules.admin {
            current.store(hashed(token).load_full());
        }
    }

    /// Replaces the client token for all later requests. Has no effect if the site was created without one.
    pub fn set_token(&self, token: &Secret) {
        if let Some(current) = &self.rules.token {
            current.store(hashed(token).load_full());
        }
    }

    /// Whether clients need a token.
    pub fn needs_token(&self) -> bool {
        self.rules.token.is_some()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.rules.limits
    }

    pub(super) fn check_host(&self, headers: &HeaderMap) -> Result<(), AccessError> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(AccessError::Host);
        };
        let host = host.to_str().map_err(|_| AccessError::Host)?;
        let same = |known: &String| known.eq_ignore_ascii_case(host);
        if self.rules.hosts.iter().any(same) {
            return Ok(());
        }
        let name = match port_of(host) {
            Some(at) => host.get(..at).unwrap_or(host),
            None => host,
        };
        let same = |known: &String| known.eq_ignore_ascii_case(name);
        match self.rules.names.iter().any(same) {
            true => Ok(()),
            false => Err(AccessError::Host),
        }
    }

    pub(super) fn check_origin(&self, origin: &str) -> Result<(), AccessError> {
        let same = |known: &String| known.eq_ignore_ascii_case(origin);
        match is_loopback_origin(origin) || self.rules.origins.iter().any(same) {
            true => Ok(()),
            false => Err(AccessError::Origin),
        }
    }

    pub(super) fn logins(&self) -> Option<&dyn LoginProvider> {
        self.rules.logins.as_deref()
    }

    /// The role of the request's token.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<Role, AccessError> {
        const SCHEME: &str = "Bearer ";
        let presented = headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok());
        let presented = presented.and_then(|value| {
            let (scheme, presented) = value.split_at_checked(SCHEME.len())?;
            scheme
                .eq_ignore_ascii_case(SCHEME)
                .then_some(presented.trim())
        });
        let presented = presented.map(|presented| blake3::hash(presented.as_bytes()));
        // `blake3::Hash` compares in constant time.
        let is = |token: &Option<Arc<ArcSwap<Hash>>>| {
            let token = token.as_ref().map(|token| **token.load());
            presented.is_some() && presented == token
        };
        if is(&self.rules.admin) {
            return Ok(Role::Admin);
        }
        match self.rules.token.is_none() || is(&self.rules.token) {
            true => Ok(Role::Caller),
            false => Err(AccessError::Token),
        }
    }
}

/// Prints neither the tokens nor their hashes.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("port", &self.rules.port)
            .field("hosts", &self.rules.hosts)
            .field("names", &self.rules.names)
            .field("origins", &self.rules.origins)
            .field("needs_token", &self.needs_token())
            .finish()
    }
}

fn hashed(token: &Secret) -> Arc<ArcSwap<Hash>> {
    Arc::new(ArcSwap::from_pointee(blake3::hash(
        token.reveal().as_bytes(),
    )))
}

/// The position of `:port`. Ignores the colons of a bracketed IPv6 address.
fn port_of(host: &str) -> Option<usize> {
    let at = host.rfind(':')?;
    let port = host.get(at + 1..)?;
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (is_port && !host.get(..at)?.ends_with(':') && !host.ends_with(']')).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn access() -> Access {
        let address = "127.0.0.1:7340".parse().unwrap();
        Access::with_token(address, &Secret::new("right"))
    }

    #[track_caller]
    fn host(access: &Access, host: &str, good: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        assert_eq!(access.check_host(&headers).is_ok(), good, "{host}");
    }

    #[test]
    fn r_sec_03_only_our_own_names_are_taken_as_host() {
        let access = access();
        for good in [
            "127.0.0.1:7340",
            "localhost:7340",
            "LocalHost:7340",
            "[::1]:7340",
        ] {
            host(&access, good, true);
        }
        for bad in [
            "evil.example",
            "evil.example:7340",
            "localhost",
            "localhost:7341",
            "127.0.0.1",
            "127.0.0.1.evil.example:7340",
            "localhost:7340.evil.example",
            "[::1]",
            "",
            "0.0.0.0:7340",
        ] {
            host(&access, bad, false);
        }
        assert_eq!(access.check_host(&HeaderMap::new()), Err(AccessError::Host));
        let mut two = HeaderMap::new();
        two.append(HOST, HeaderValue::from_static("localhost:7340"));
        two.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(access.check_host(&two), Err(AccessError::Host));
    }

    #[test]
    fn r_sec_03_more_names_count_only_when_they_were_allowed() {
        let access = access().allow_hosts(["box.lan", "[fe80::1]", "proxy:443"]);
        for good in [
            "box.lan",
            "BOX.lan:9",
            "[fe80::1]:1",
            "[fe80::1]",
            "proxy:443",
        ] {
            host(&access, good, true);
        }
        for bad in ["proxy", "proxy:444", "a.box.lan", "box.lan:x"] {
            host(&access, bad, false);
        }
    }

    #[test]
    fn r_sec_03_a_wide_address_does_not_make_every_name_right() {
        let address = "0.0.0.0:80".parse().unwrap();
        let access = Access::with_token(address, &Secret::new("right"));
        host(&access, "localhost", true);
        host(&access, "192.168.1.5", false);
        let refused = Access::without_token(address).unwrap_err();
        assert!(refused.to_string().contains("0.0.0.0"), "{refused}");
        assert!(Access::without_token("[::1]:1".parse().unwrap()).is_ok());
        assert!(Access::without_token("127.8.8.8:1".parse().unwrap()).is_ok());
        assert!(Access::without_token("[::ffff:10.0.0.1]:1".parse().unwrap()).is_err());
    }

    #[test]
    fn r_sec_03_origins_are_loopback_or_allowed() {
        let access = access().allow_origins(["https://app.example/"]);
        assert!(access.check_origin("http://localhost:6274").is_ok());
        assert!(access.check_origin("https://APP.example").is_ok());
        for bad in [
            "null",
            "https://app.example:8443",
            "http://app.example",
            "https://evil.example",
        ] {
            assert_eq!(access.check_origin(bad), Err(AccessError::Origin), "{bad}");
        }
    }

    #[test]
    fn r_sec_03_only_the_current_token_is_accepted() {
        let access = access();
        let check = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            access.check_token(&headers).is_ok()
        };
        assert!(check("Bearer right"));
        assert!(check("bearer right"));
        for bad in [
            "Bearer wrong",
            "Bearer right2",
            "Bearer",
            "Bearer ",
            "Basic right",
            "right",
            "",
        ] {
            assert!(!check(bad), "{bad}");
        }
        assert!(access.check_token(&HeaderMap::new()).is_err());
        access.set_token(&Secret::new("next"));
        assert!(check("Bearer next") && !check("Bearer right"));
        assert!(!format!("{access:?}").contains("next"));
    }

    #[test]
    fn r_sec_03_only_the_admin_token_administers_also_where_none_is_needed() {
        let address = "127.0.0.1:7340".parse().unwrap();
        let open = Access::without_token(address).unwrap();
        let admin = Secret::new("admin");
        for (access, without) in [
            (access(), Err(AccessError::Token)),
            (open.clone(), Ok(Role::Caller)),
        ] {
            let role = |value: &str| {
                let mut headers = HeaderMap::new();
                headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
                access.check_token(&headers)
            };
            assert_eq!(role("Bearer admin"), without, "there is no admin token");
            let access = access.clone().with_admin_token(&admin);
            let role = |value: &str| {
                let mut headers = HeaderMap::new();
                headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
                access.check_token(&headers)
            };
            assert_eq!(role("Bearer admin"), Ok(Role::Admin));
            assert_eq!(role("Bearer right"), Ok(Role::Caller));
            assert_eq!(role("Bearer wrong"), without);
            access.set_admin_token(&Secret::new("next"));
            assert_eq!(role("Bearer admin"), without);
            assert_eq!(role("Bearer next"), Ok(Role::Admin));
        }
    }
}

//! Browser logins. A browser logs in with a one-time code from the command line.

mod browsers;
mod codes;

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_gateway::http::{Login, LoginProvider};
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, Secret};

use browsers::{Browsers, NoLoginStore};
use codes::Codes;

pub use browsers::{LoginStore, StoredLogin};

/// How long a one-time code is valid.
pub const LOGIN_CODE_LIFETIME: Duration = Duration::from_secs(600);
/// The login page.
pub(crate) const LOGIN_PATH: &str = "/login";
/// The path of the assets, which the login page needs.
pub(crate) const ASSETS_PATH: &str = "/assets/";

/// One-time codes and logged-in browsers. Codes are in memory only; logins are stored.
pub struct Logins {
    /// The cookie's name. It contains the port, because browsers send cookies to all ports of a host.
    cookie: String,
    codes: Codes,
    browsers: Arc<Browsers>,
}

/// A new login.
pub(crate) struct NewLogin {
    /// The `Set-Cookie` value.
    pub(crate) cookie: String,
    /// The key that pages send with every request, from the storage of their origin.
    pub(crate) page_key: Secret,
}

impl Logins {
    /// Logins of the Pegboard on this port, without storage.
    pub fn new(port: u16) -> Self {
        Self::stored(port, Arc::new(SystemClock), Arc::new(NoLoginStore))
    }

    /// Logins that survive a restart.
    pub fn stored(port: u16, clock: Arc<dyn Clock>, store: Arc<dyn LoginStore>) -> Self {
        Self {
            cookie: format!("pegboard-{port}"),
            codes: Codes::default(),
            browsers: Arc::new(Browsers::new(clock, store)),
        }
    }

    /// Creates a one-time code.
    pub fn mint(&self) -> Secret {
        self.codes.mint()
    }

    /// The path of the login page with a new code. The code is in the fragment, which browsers do not send; the page's
    /// script reads it.
    pub fn login_path(&self) -> Secret {
        Secret::new(format!("{LOGIN_PATH}#code={}", self.mint().reveal()))
    }

    /// Consumes a code and logs a browser in.
    pub(crate) fn redeem(&self, code: &str) -> Option<NewLogin> {
        if !self.codes.redeem(code) {
            return None;
        }
        let admitted = self.browsers.admit()?;
        Some(NewLogin {
            cookie: self.cookie_with(admitted.name.reveal(), None),
            page_key: admitted.page_key,
        })
    }

    /// Ends a login and returns the `Set-Cookie` value that deletes the cookie.
    pub(crate) fn log_out(&self, headers: &HeaderMap) -> String {
        if let Some(name) = self.cookie_of(headers) {
            self.browsers.remove(name);
        }
        self.cookie_with("", Some(0))
    }

    fn cookie_with(&self, value: &str, age: Option<u64>) -> String {
        let age = age.map_or(String::new(), |age| format!("; Max-Age={age}"));
        format!(
            "{}={value}; HttpOnly; SameSite=Strict; Path=/{age}",
            self.cookie
        )
    }

    fn cookie_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';'));
        cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }
}

impl LoginProvider for Logins {
    fn is_public(&self, head: &Parts) -> bool {
        let path = head.uri.path();
        path == LOGIN_PATH || (path.starts_with(ASSETS_PATH) && head.method.is_safe())
    }

    fn is_page(&self, head: &Parts) -> bool {
        head.method.is_safe() && crate::dashboard::is_page(&head.uri)
    }

    fn login(&self, headers: &HeaderMap) -> Option<Login> {
        self.browsers.recognise(self.cookie_of(headers)?)
    }

    fn login_page(&self) -> &'static str {
        LOGIN_PATH
    }
}

/// 256 random bits as text. `None` if the system has no randomness; then no login is possible.
fn random_token() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use pegboard_gateway::http::PAGE_KEY_HEADER;

    fn with_cookie(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(cookie).unwrap());
        headers
    }

    #[test]
    fn r_sec_03_a_code_logs_one_browser_in_once() {
        let logins = Logins::new(7340);
        let code = logins.mint();
        assert!(logins.redeem("wrong").is_none());
        let login = logins.redeem(code.reveal()).unwrap();
        let (cookie, key) = (login.cookie, login.page_key);
        assert!(logins.redeem(code.reveal()).is_none(), "it is used up");
        for part in ["pegboard-7340=", "HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let value = cookie.split(';').next().unwrap();
        let mut headers = with_cookie(&format!("a=b; {value}; c=d"));
        let login = logins.login(&headers).unwrap();
        assert!(!login.is_proven_by(&headers), "the cookie alone");
        assert!(!cookie.contains(key.reveal()), "two secrets");
        headers.insert(PAGE_KEY_HEADER, key.reveal().parse().unwrap());
        assert!(login.is_proven_by(&headers));
        let other = Logins::new(7341);
        assert!(other.login(&headers).is_none(), "another Pegboard");
        logins.log_out(&headers);
        assert!(logins.login(&headers).is_none());
    }
}

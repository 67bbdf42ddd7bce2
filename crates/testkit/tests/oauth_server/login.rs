//! A login as a plain script does it.

use std::collections::BTreeMap;

use pegboard_testkit::oauth::{OAuthServer, Page, Route, get, post_form, send};
use serde_json::{Value, json};
use url::Url;

/// The verifier and challenge of RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// A client that does everything by hand.
pub(crate) struct Script<'a> {
    pub(crate) server: &'a OAuthServer,
    pub(crate) client: String,
}

impl<'a> Script<'a> {
    /// Registers a client without a secret.
    pub(crate) fn registered(server: &'a OAuthServer) -> Self {
        let body = json!({"client_name": "script", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
        let kind = [("Content-Type", "application/json")];
        let url = server.endpoint(Route::Register);
        let answer = send("POST", &url, &kind, &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
        let client = answer.json()["client_id"].as_str().unwrap().to_owned();
        Self { server, client }
    }

    /// Plays the browser and returns the parameters that the client gets.
    pub(crate) fn authorize(&self, scope: &str) -> BTreeMap<String, String> {
        let page = self.authorize_page(scope);
        let location = page.header("location").expect("a redirect");
        let url = Url::parse(location).unwrap();
        assert!(location.starts_with(REDIRECT), "{location}");
        url.query_pairs().into_owned().collect()
    }

    pub(crate) fn authorize_page(&self, scope: &str) -> Page {
        let mut url = Url::parse(&self.server.endpoint(Route::Authorize)).unwrap();
        let resource = self.server.mcp_url();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.client),
            ("redirect_uri", REDIRECT),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "s1"),
            ("scope", scope),
            ("resource", &resource),
        ]);
        get(url.as_str())
    }

    pub(crate) fn redeem(&self, code: &str) -> Page {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
            ("resource", &self.server.mcp_url()),
        ])
    }

    pub(crate) fn refresh(&self, token: &str) -> Page {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    pub(crate) fn token(&self, fields: &[(&str, &str)]) -> Page {
        let fields = [fields, &[("client_id", self.client.as_str())]].concat();
        post_form(&self.server.endpoint(Route::Token), &[], &fields)
    }

    /// Logs in and returns the token answer.
    pub(crate) fn login(&self, scope: &str) -> Value {
        let code = self.authorize(scope)["code"].clone();
        let tokens = self.redeem(&code);
        assert_eq!(tokens.status, 200, "{}", tokens.body);
        tokens.json()
    }
}

/// Calls a tool of the protected server.
pub(crate) fn call(server: &OAuthServer, tool: &str, token: Option<&str>) -> Page {
    let params = json!({"name": tool, "arguments": {"text": "hi"}});
    request(server, "tools/call", &params, token)
}

pub(crate) fn request(
    server: &OAuthServer,
    method: &str,
    params: &Value,
    token: Option<&str>,
) -> Page {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    send("POST", &server.mcp_url(), &headers, &body.to_string())
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no `{name}` in {value}"))
}

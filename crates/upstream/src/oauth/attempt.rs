//! One authorization request, and the check of what comes back.

use pegboard_model::{Secret, ToolError, ToolResult};
use reqwest::Url;

use super::client::ClientIdentity;
use super::discovery::Discovered;
use super::failure::{LoginErrors, shown};
use super::fetch::Fetcher;
use super::random::{random_text, sha256_text};
use super::settings::LoginTarget;
use super::token::query;

/// The longest callback that is read.
pub(crate) const MAX_CALLBACK_BYTES: usize = 16 * 1024;

/// An authorization request that waits for its answer. Everything that the answer is checked against is in it.
pub(crate) struct Attempt {
    pub(crate) client: ClientIdentity,
    pub(crate) discovered: Discovered,
    pub(crate) redirect_uri: String,
    pub(crate) scopes: Vec<String>,
    state: Secret,
    verifier: Secret,
}

/// What a callback contains.
pub(crate) enum Callback {
    /// The code, to be exchanged.
    Code(Secret),
    /// The authorization server ended the login.
    Refused(ToolError),
    /// Not an answer to this request. The request stays open.
    Foreign(ToolError),
}

impl Attempt {
    pub(crate) fn new(
        client: ClientIdentity,
        discovered: Discovered,
        redirect_uri: String,
        scopes: Vec<String>,
        errors: &LoginErrors,
    ) -> ToolResult<Self> {
        let random =
            || random_text().ok_or_else(|| errors.failed("the system has no random numbers"));
        Ok(Self {
            client,
            discovered,
            redirect_uri,
            scopes,
            state: random()?,
            verifier: random()?,
        })
    }

    /// The PKCE verifier.
    pub(crate) fn verifier(&self) -> &Secret {
        &self.verifier
    }

    /// Builds the URL that the person opens. A query of the endpoint is kept.
    pub(crate) fn url(&self, target: &LoginTarget, fetcher: &Fetcher) -> ToolResult<Url> {
        let endpoint = self.discovered.metadata.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| fetcher.no_metadata())?;
        let mut url = fetcher.published_url(endpoint, "an authorization endpoint")?;
        let settings = &target.settings.plain;
        let challenge = sha256_text(self.verifier.reveal());
        let scope = self.scopes.join(" ");
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", self.client.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("state", self.state.reveal()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        if settings.send_resource {
            fields.push(("resource", &self.discovered.resource));
        }
        for (name, value) in &settings.authorize_parameters {
            fields.push((name, value));
        }
        let added = query(&fields);
        let query = match url.query() {
            Some(present) if !present.is_empty() => format!("{present}&{added}"),
            _ => added,
        };
        url.set_query(Some(&query));
        url.set_fragment(None);
        Ok(url)
    }

    /// Checks the query of a callback. The issuer comes first: a foreign answer must not even show its error.
    pub(crate) fn check(&self, query: &str, errors: &LoginErrors) -> Callback {
        let foreign = |why: &str| {
            Callback::Foreign(errors.failed(why).with_remedy(
                "The answer came from elsewhere and was not used. Start the login again.",
            ))
        };
        if query.len() > MAX_CALLBACK_BYTES {
            return foreign("the browser returned too much text");
        }
        let Ok(address) = Url::parse(&format!("http://callback/?{query}")) else {
            return foreign("the browser returned an invalid address");
        };
        let pairs: Vec<_> = address.query_pairs().collect();
        let mut values = [None; 5];
        let names = ["iss", "state", "code", "error", "error_description"];
        for (name, slot) in names.iter().zip(&mut values) {
            let mut found = pairs.iter().filter(|(key, _)| key == name);
            *slot = found.next().map(|(_, value)| value.as_ref());
            if found.next().is_some() {
                return foreign("the answer contains a parameter twice");
            }
        }
        let [iss, state, code, error, description] = values;
        let expects_iss = self
            .discovered
            .metadata
            .authorization_response_iss_parameter_supported;
        match iss {
            Some(iss) if iss != self.discovered.issuer => {
                return foreign("the answer names another issuer than the one that was asked");
            }
            None if expects_iss => {
                return foreign(
                    "the answer does not name its issuer, although the authorization server says it always does",
                );
            }
            _ => {}
        }
        if state.is_none_or(|state| !is_same(state, self.state.reveal())) {
            return foreign("the answer does not belong to this login (wrong `state`)");
        }
        if let Some(error) = error {
            return Callback::Refused(refused(error, description, errors));
        }
        match code {
            Some(code) if !code.is_empty() => Callback::Code(Secret::new(code)),
            _ => foreign("the answer contains no code"),
        }
    }
}

fn refused(error: &str, description: Option<&str>, errors: &LoginErrors) -> ToolError {
    if error == "access_denied" {
        return errors
            .failed("it was declined in the browser; nothing was stored")
            .with_remedy("Start the login again if that was a mistake.");
    }
    let text = description.map(|text| format!(" ({})", shown(text)));
    errors.failed(format_args!(
        "the authorization server answered `{}`{}",
        shown(error),
        text.unwrap_or_default()
    ))
}

/// Compares in constant time.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one
            .bytes()
            .zip(other.bytes())
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}

/// Returns the query of a redirect URL that a person pasted. Only the query is needed; the rest may be cut off.
pub(crate) fn pasted_query(text: &str) -> Option<&str> {
    let text = text.trim();
    let (_, query) = text.split_once('?')?;
    Some(query.split('#').next().unwrap_or(query))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::client::AuthMethod;
    use crate::oauth::login::ClientKind;
    use crate::oauth::metadata::ServerMetadata;

    fn attempt(iss_supported: bool) -> Attempt {
        let metadata = ServerMetadata {
            authorization_response_iss_parameter_supported: iss_supported,
            ..ServerMetadata::default()
        };
        let client = ClientIdentity {
            id: "c".to_owned(),
            secret: None,
            method: AuthMethod::None,
            kind: ClientKind::Registered,
            redirect_uri: None,
        };
        let discovered = Discovered {
            resource: "https://a/mcp".to_owned(),
            scopes: None,
            issuer: "https://as.example".to_owned(),
            metadata,
            is_assumed: false,
        };
        let server = pegboard_model::ServerName::parse("a").unwrap();
        let errors = LoginErrors::new(&server);
        let mut attempt = Attempt::new(
            client,
            discovered,
            "http://127.0.0.1:1/".to_owned(),
            vec![],
            &errors,
        )
        .unwrap();
        attempt.state = Secret::new("STATE");
        attempt
    }

    #[track_caller]
    fn check(iss_supported: bool, query: &str, expected: &str) {
        let server = pegboard_model::ServerName::parse("a").unwrap();
        let errors = LoginErrors::new(&server);
        let found = match attempt(iss_supported).check(query, &errors) {
            Callback::Code(code) => format!("code {}", code.reveal()),
            Callback::Refused(error) => format!("refused {}", error.message),
            Callback::Foreign(error) => format!("foreign {}", error.message),
        };
        assert!(found.starts_with(expected), "{query}: {found}");
        assert!(!found.contains("EVIL"), "{found}");
    }

    #[test]
    fn r_auth_01_only_the_answer_to_this_request_is_used() {
        check(false, "code=x&state=STATE", "code x");
        check(
            false,
            "code=x&state=STATE&iss=https%3A%2F%2Fas.example",
            "code x",
        );
        check(
            true,
            "code=x&state=STATE&iss=https%3A%2F%2Fas.example",
            "code x",
        );
        check(true, "code=x&state=STATE", "foreign");
        check(
            false,
            "code=x&state=STATE&iss=https%3A%2F%2Fas.example%2F",
            "foreign",
        );
        check(
            false,
            "error=EVIL&state=STATE&iss=https%3A%2F%2Fevil",
            "foreign",
        );
        check(false, "code=x&state=other", "foreign");
        check(false, "code=x", "foreign");
        check(false, "error=EVIL", "foreign");
        check(false, "code=x&code=y&state=STATE", "foreign");
        check(false, "state=STATE", "foreign");
        check(
            false,
            "error=access_denied&state=STATE",
            "refused the login to server `a` failed: it was declined",
        );
        check(
            false,
            "error=invalid_scope&error_description=no&state=STATE",
            "refused",
        );
        check(false, &"x".repeat(MAX_CALLBACK_BYTES + 1), "foreign");
    }

    #[test]
    fn r_auth_02_a_pasted_address_is_read_from_its_query() {
        assert_eq!(
            pasted_query(" http://127.0.0.1:1/callback?code=a&state=b#x \n"),
            Some("code=a&state=b")
        );
        assert_eq!(pasted_query("code=a"), None);
    }
}

//! The authorize endpoint. It approves by itself.

use axum::response::Response;
use url::Url;

use super::behaviour::{CodeAnswer, IssAnswer};
use super::clients::{AuthMethod, Client};
use super::metadata::{other_slash, published_issuer};
use super::reply;
use super::seen::SeenRequest;
use super::state::{Code, Shared, State, lock};

/// Issues a code, or whatever the behaviour says.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let behaviour = shared.behaviour();
    let parameter = |name: &str| seen.parameter(name).map(str::to_owned);
    let mut state = lock(&shared.state);
    let client_id = parameter("client_id").unwrap_or_default();
    let redirect = parameter("redirect_uri").unwrap_or_default();
    // Errors about the client or its redirect are shown, never sent to an address that was not checked.
    let Some(client) = find(shared, &state, &client_id) else {
        return reply::html(400, "unknown client");
    };
    if !behaviour.registration.redirects.accepts(&client, &redirect) {
        return reply::html(400, "redirect URI not registered");
    }
    let Ok(to) = Url::parse(&redirect) else {
        return reply::html(400, "redirect URI not valid");
    };
    let answer = Answer {
        to,
        state: parameter("state"),
        iss: iss(shared, &behaviour.authorize.iss),
    };
    if parameter("response_type").as_deref() != Some("code") {
        return answer.error("unsupported_response_type", "only `code`");
    }
    if parameter("code_challenge").is_none()
        || parameter("code_challenge_method").as_deref() != Some("S256")
    {
        return answer.error("invalid_request", "PKCE with S256 is required");
    }
    if behaviour.authorize.scope_required && parameter("scope").is_none() {
        return answer.error("invalid_scope", "a scope is required");
    }
    if behaviour.authorize.refuses_resource && parameter("resource").is_some() {
        let why = "AADSTS9010010: the resource parameter does not match";
        return answer.error("invalid_target", why);
    }
    let asked = Code {
        client: client_id,
        redirect,
        challenge: parameter("code_challenge"),
        scope: behaviour
            .authorize
            .granted
            .or_else(|| parameter("scope"))
            .unwrap_or_default(),
        resource: parameter("resource"),
        used: None,
    };
    let code = state.secret("code");
    state.codes.insert(code.clone(), asked.clone());
    match behaviour.authorize.answer {
        CodeAnswer::Code => answer.code(&code),
        CodeAnswer::Error(error, description) => answer.error(&error, &description),
        CodeAnswer::Nothing => reply::html(400, "unknown client"),
        CodeAnswer::WrongState => Answer {
            state: Some("the-state-of-another-attempt".to_owned()),
            ..answer
        }
        .code(&code),
        CodeAnswer::NoState => Answer {
            state: None,
            ..answer
        }
        .code(&code),
        CodeAnswer::ForeignCode => {
            // A code of the attacker's own attempt: same client, another challenge.
            let foreign = state.secret("code");
            let challenge = Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned());
            state
                .codes
                .insert(foreign.clone(), Code { challenge, ..asked });
            answer.code(&foreign)
        }
        CodeAnswer::Elsewhere(url) => reply::redirect(302, &url),
    }
}

/// A known client: configured, registered, or an address of a client's metadata document.
pub(super) fn find(shared: &Shared, state: &State, id: &str) -> Option<Client> {
    let behaviour = shared.behaviour();
    let configured = behaviour.registration.configured.iter();
    let known = configured
        .chain(&state.registered)
        .find(|client| client.id == id)
        .cloned();
    let is_document = behaviour.metadata.cimd
        && Url::parse(id).is_ok_and(|url| url.scheme() == "https" && url.path() != "/");
    known.or_else(|| {
        (is_document || behaviour.registration.accepts_unknown).then(|| Client {
            method: AuthMethod::None,
            ..Client::public(id)
        })
    })
}

fn iss(shared: &Shared, form: &IssAnswer) -> Option<String> {
    let right = published_issuer(shared);
    match form {
        IssAnswer::Right => Some(right),
        IssAnswer::Absent => None,
        IssAnswer::OtherSlash => Some(other_slash(&right)),
        IssAnswer::Text(text) => Some(text.clone()),
    }
}

/// A redirect to the client.
struct Answer {
    to: Url,
    state: Option<String>,
    iss: Option<String>,
}

impl Answer {
    fn code(self, code: &str) -> Response {
        self.with(&[("code", code)])
    }

    fn error(self, error: &str, description: &str) -> Response {
        self.with(&[("error", error), ("error_description", description)])
    }

    fn with(mut self, parameters: &[(&str, &str)]) -> Response {
        {
            let mut query = self.to.query_pairs_mut();
            query.extend_pairs(parameters);
            let rest = [("state", &self.state), ("iss", &self.iss)];
            for (name, value) in rest {
                if let Some(value) = value {
                    query.append_pair(name, value);
                }
            }
        }
        reply::redirect(302, self.to.as_str())
    }
}

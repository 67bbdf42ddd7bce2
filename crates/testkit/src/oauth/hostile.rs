//! Forms of an attacker: each returns a [`Behaviour`] of servers that work, except for one attack.

use super::behaviour::{Behaviour, CodeAnswer, IssAnswer, IssuerForm, ResourceForm};
use super::fault::{Fault, FaultRule};
use super::{OAuthServer, Route};

/// The metadata names the authorize endpoint of an honest server, which sends its code here to the attacker's token
/// endpoint. The honest server needs [`accepts_unknown`](super::Registration::accepts_unknown).
pub fn mix_up(honest: &OAuthServer) -> Behaviour {
    with_endpoint(Route::Authorize, &honest.endpoint(Route::Authorize))
}

/// The metadata claims to be of this issuer.
pub fn wrong_issuer(issuer: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.metadata.issuer = IssuerForm::Text(issuer.to_owned());
    behaviour
}

/// The authorization response claims to be of this issuer.
pub fn wrong_iss(issuer: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.authorize.iss = IssAnswer::Text(issuer.to_owned());
    behaviour
}

/// The authorization response has the state of another attempt.
pub fn wrong_state() -> Behaviour {
    answering(CodeAnswer::WrongState)
}

/// The authorization response has no state.
pub fn no_state() -> Behaviour {
    answering(CodeAnswer::NoState)
}

/// The authorization response has a code of the attacker's own attempt.
pub fn code_injection() -> Behaviour {
    answering(CodeAnswer::ForeignCode)
}

/// The authorize endpoint sends the browser elsewhere.
pub fn open_redirect(url: &str) -> Behaviour {
    answering(CodeAnswer::Elsewhere(url.to_owned()))
}

/// The authorization response is an error whose description is HTML.
pub fn html_in_error() -> Behaviour {
    let description = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    answering(CodeAnswer::Error(
        "access_denied<b>".to_owned(),
        description.to_owned(),
    ))
}

/// The metadata gives this URL for an endpoint: loopback or link-local addresses, `javascript:`, another scheme.
pub fn with_endpoint(route: Route, url: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.metadata.endpoints.push((route, url.to_owned()));
    behaviour
}

/// The challenge gives this URL for the protected-resource metadata.
pub fn challenge_url(url: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.resource.challenge_metadata_url = Some(url.to_owned());
    behaviour
}

/// The protected-resource metadata gives this authorization server.
pub fn authorization_server(issuer: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.resource.authorization_servers = Some(vec![issuer.to_owned()]);
    behaviour
}

/// The protected-resource metadata is that of another resource, to get tokens for it.
pub fn foreign_resource(resource: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.resource.form = ResourceForm::Text(resource.to_owned());
    behaviour
}

/// Tokens are issued for another resource.
pub fn foreign_audience(resource: &str) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.tokens.audience = Some(resource.to_owned());
    behaviour
}

/// One endpoint always has this fault.
pub fn faulty(route: Route, fault: Fault) -> Behaviour {
    Behaviour {
        faults: vec![FaultRule::always(route, fault)],
        ..Behaviour::default()
    }
}

/// Every endpoint that a client fetches by itself redirects to this URL.
pub fn redirects_everywhere(url: &str) -> Behaviour {
    let routes = [
        Route::ResourceMetadata,
        Route::ServerMetadata,
        Route::Register,
        Route::Token,
        Route::Revoke,
        Route::Device,
    ];
    let rule = |route| FaultRule::always(route, Fault::Redirect(307, url.to_owned()));
    Behaviour {
        faults: routes.into_iter().map(rule).collect(),
        ..Behaviour::default()
    }
}

fn answering(answer: CodeAnswer) -> Behaviour {
    let mut behaviour = Behaviour::default();
    behaviour.authorize.answer = answer;
    behaviour
}

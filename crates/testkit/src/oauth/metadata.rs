//! The metadata of the protected resource (RFC 9728) and of the authorization server (RFC 8414).

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::behaviour::{IssuerForm, Location, PrmLocation, ResourceForm};
use super::reply;
use super::route::Route;
use super::seen::SeenRequest;
use super::state::Shared;

/// The path of the protected-resource metadata, if it is published.
pub(super) fn resource_path(shared: &Shared) -> Option<String> {
    let behaviour = shared.behaviour();
    let root = "/.well-known/oauth-protected-resource";
    match behaviour.resource.prm {
        PrmLocation::WithPath => Some(format!("{root}{}", behaviour.resource.path)),
        PrmLocation::Root => Some(root.to_owned()),
        PrmLocation::Custom(path) => Some(path),
        PrmLocation::Nowhere => None,
    }
}

/// The metadata of the MCP server, at its place only.
pub(super) fn of_resource(shared: &Shared, seen: &SeenRequest) -> Response {
    if resource_path(shared).as_deref() != Some(&seen.path) {
        return reply::text(404, "text/plain", "not here".to_owned());
    }
    let resource = shared.behaviour().resource;
    let mut document = Map::new();
    if let Some(own) = resource_text(shared, &resource.form) {
        document.insert("resource".to_owned(), json!(own));
    }
    let servers = resource
        .authorization_servers
        .unwrap_or_else(|| vec![issuer_in_prm(shared)]);
    document.insert("authorization_servers".to_owned(), json!(servers));
    document.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    if let Some(scopes) = resource.scopes {
        document.insert("scopes_supported".to_owned(), json!(scopes));
    }
    reply::json(200, &Value::Object(document))
}

fn resource_text(shared: &Shared, form: &ResourceForm) -> Option<String> {
    let own = shared.mcp_url();
    Some(match form {
        ResourceForm::Exact => own,
        ResourceForm::BareOrigin => shared.resource_origin.clone(),
        ResourceForm::TrailingSlash => format!("{own}/"),
        ResourceForm::PartOfSegment => own.get(..own.len() - 1)?.to_owned(),
        ResourceForm::OtherPath => format!("{}/other", shared.resource_origin),
        ResourceForm::Text(text) => text.clone(),
        ResourceForm::Missing => return None,
    })
}

fn issuer_in_prm(shared: &Shared) -> String {
    let slash = if shared.behaviour().metadata.slash_in_prm {
        "/"
    } else {
        ""
    };
    format!("{}{slash}", shared.issuer())
}

/// The issuer as its own metadata names it.
pub(super) fn published_issuer(shared: &Shared) -> String {
    let in_prm = issuer_in_prm(shared);
    match shared.behaviour().metadata.issuer {
        IssuerForm::Exact => in_prm,
        IssuerForm::OtherSlash => other_slash(&in_prm),
        IssuerForm::WithoutPath => shared.server_origin.clone(),
        IssuerForm::Text(text) => text,
    }
}

/// The text with a slash more or less at its end.
pub(super) fn other_slash(text: &str) -> String {
    match text.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => format!("{text}/"),
    }
}

/// The metadata of the authorization server, at its place only.
pub(super) fn of_server(shared: &Shared, seen: &SeenRequest) -> Response {
    let metadata = shared.behaviour().metadata;
    let issuer_path = &metadata.issuer_path;
    let place = match metadata.at {
        Location::OAuth => format!("/.well-known/oauth-authorization-server{issuer_path}"),
        Location::OpenId => format!("/.well-known/openid-configuration{issuer_path}"),
        Location::OpenIdAppended => format!("{issuer_path}/.well-known/openid-configuration"),
        Location::Nowhere => String::new(),
    };
    if seen.path.trim_end_matches('/') != place {
        return reply::text(404, "text/plain", "not here".to_owned());
    }
    reply::json(200, &document(shared))
}

fn document(shared: &Shared) -> Value {
    let behaviour = shared.behaviour();
    let metadata = behaviour.metadata;
    let mut document = Map::new();
    let mut set = |name: &str, value: Value| document.insert(name.to_owned(), value);
    set("issuer", json!(published_issuer(shared)));
    for (route, _, member) in Route::ENDPOINTS {
        let is_published = match route {
            Route::Register => behaviour.registration.offered,
            Route::Revoke => metadata.revocation,
            Route::Device => metadata.device,
            Route::DeviceApproval => false,
            _ => true,
        };
        let other = metadata
            .endpoints
            .iter()
            .find(|(replaced, _)| *replaced == route);
        let url = other.map_or_else(|| shared.endpoint(route), |(_, url)| url.clone());
        if is_published && !url.is_empty() {
            set(member, json!(url));
        }
    }
    let mut grants = vec!["authorization_code", "refresh_token", "client_credentials"];
    if metadata.device {
        grants.push("urn:ietf:params:oauth:grant-type:device_code");
    }
    set("response_types_supported", json!(["code"]));
    set("grant_types_supported", json!(grants));
    let optional = [
        (
            "code_challenge_methods_supported",
            metadata.pkce_methods.map(|v| json!(v)),
        ),
        ("scopes_supported", metadata.scopes.map(|v| json!(v))),
        (
            "token_endpoint_auth_methods_supported",
            metadata.auth_methods.map(|v| json!(v)),
        ),
        (
            "authorization_response_iss_parameter_supported",
            metadata.iss_parameter.map(|v| json!(v)),
        ),
        (
            "client_id_metadata_document_supported",
            metadata.cimd.then(|| json!(true)),
        ),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            set(name, value);
        }
    }
    Value::Object(document)
}

//! The one check before every route: Host, Origin, token, and what browsers ask first.

use axum::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, HOST, ORIGIN,
    VARY, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;

use super::access::{Access, AccessError};
use super::principal::{LoginProvider, Principal, Role};
use super::{HEALTH_PATH, PROTOCOL_PATH};

/// How long a browser may remember what it was allowed.
const PREFLIGHT_SECONDS: &str = "600";

/// Who sent the request; nobody in particular where everybody may.
pub(super) fn check(access: &Access, head: &Parts) -> Result<Option<Principal>, AccessError> {
    let headers = &head.headers;
    access.check_host(headers)?;
    check_target(head)?;
    for origin in headers.get_all(ORIGIN) {
        access.check_origin(origin.to_str().map_err(|_| AccessError::Origin)?)?;
    }
    // Browsers ask without the token whether they may send it.
    if is_preflight(head) || head.uri.path() == HEALTH_PATH {
        return Ok(None);
    }
    let logins = access.logins();
    if logins.is_some_and(|logins| logins.is_public(head)) {
        return Ok(None);
    }
    let is_protocol = head.uri.path().starts_with(PROTOCOL_PATH);
    if let Some(logins) = logins.filter(|_| !is_protocol)
        && !headers.contains_key(AUTHORIZATION)
        && is_of_own_page(headers)
        && let Some(principal) = logged_in(logins, head)?
    {
        return Ok(Some(principal));
    }
    match (access.check_token(headers), logins) {
        (Ok(role), _) => Ok(Some(Principal { role, login: None })),
        (Err(_), Some(logins)) if !is_protocol && is_navigation(head) => {
            Err(AccessError::Login(logins.login_page()))
        }
        (Err(refused), _) => Err(refused),
    }
}

/// A request line may name a host of its own (`GET http://host/ HTTP/1.1`), which counts before `Host`: it must be the
/// one that was checked.
fn check_target(head: &Parts) -> Result<(), AccessError> {
    let Some(target) = head.uri.authority() else {
        return Ok(());
    };
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    match host.is_some_and(|host| host.eq_ignore_ascii_case(target.as_str())) {
        true => Ok(()),
        false => Err(AccessError::Host),
    }
}

/// The browser that sent the request, if it is logged in. Every program that listens on another port of this host may
/// hold its cookie, so the cookie alone gets frames of pages and nothing else; everything that a person reads or
/// changes takes the page key, which only pages of our own origin can read.
fn logged_in(logins: &dyn LoginProvider, head: &Parts) -> Result<Option<Principal>, AccessError> {
    let Some(login) = logins.login(&head.headers) else {
        return Ok(None);
    };
    let is_proven = login.is_proven_by(&head.headers);
    let role = match (is_proven, head.method.is_safe()) {
        (true, true) => Role::Admin,
        (true, false) if comes_from_own_page(&head.headers) => Role::Admin,
        (_, false) => return Err(AccessError::Forged),
        (false, true) if logins.is_page(head) => Role::Frame,
        // It may still show a token, or need none.
        (false, true) => return Ok(None),
    };
    Ok(Some(Principal {
        role,
        login: Some(login),
    }))
}

/// Whether a browser sends it for a page of ours, or because a person typed the address. Cookies are sent for pages
/// of every port of this machine, so they alone prove nothing.
fn is_of_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    let site_is_own = site.is_none_or(|site| site == "same-origin" || site == "none")
        || headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
    site_is_own && (!headers.contains_key(ORIGIN) || has_own_origin(headers))
}

/// Whether the `Origin` is the very address that the request was sent to.
fn has_own_origin(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else {
        return false;
    };
    let rest = origin.strip_prefix("http://");
    let rest = rest.or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// Whether the browser says that one of our own pages sends the request.
fn comes_from_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    has_own_origin(headers) || site.is_some_and(|site| site == "same-origin")
}

/// Whether a person opens a page.
fn is_navigation(head: &Parts) -> bool {
    let accept = head.headers.get(ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    head.method.is_safe() && accept.is_some_and(|accept| accept.contains("text/html"))
}

pub(super) fn is_preflight(head: &Parts) -> bool {
    let headers = &head.headers;
    head.method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a page of an allowed origin may do.
pub(super) fn preflight_headers(asked: &HeaderMap) -> HeaderMap {
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
    let age = HeaderValue::from_static(PREFLIGHT_SECONDS);
    let mut preflight_headers = HeaderMap::new();
    preflight_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    preflight_headers.insert(ACCESS_CONTROL_MAX_AGE, age);
    if let Some(headers) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        preflight_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
    }
    if asked.contains_key("access-control-request-private-network") {
        let yes = HeaderValue::from_static("true");
        preflight_headers.insert("access-control-allow-private-network", yes);
    }
    preflight_headers
}

/// Lets a page of this origin read the answer.
pub(super) fn with_cors(origin: Option<HeaderValue>, mut response: Response) -> Response {
    let Some(origin) = origin else {
        return response;
    };
    let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(VARY, HeaderValue::from_static("Origin"));
    response
}

/// How a client without the right token is told what kind it needs.
pub(super) fn require_bearer(headers: &mut HeaderMap) {
    let bearer = HeaderValue::from_static("Bearer realm=\"pegboard\"");
    headers.insert(WWW_AUTHENTICATE, bearer);
}

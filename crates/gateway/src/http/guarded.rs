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

use super::access::{Access, Refused};
use super::visitor::{CSRF_HEADER, Login, Role, Visitor};
use super::{HEALTH_PATH, PROTOCOL_PATH};

/// How long a browser may remember what it was allowed.
const PREFLIGHT_SECONDS: &str = "600";

/// Who sent the request; nobody in particular where everybody may.
pub(super) fn check(access: &Access, head: &Parts) -> Result<Option<Visitor>, Refused> {
    let headers = &head.headers;
    access.check_host(headers)?;
    for origin in headers.get_all(ORIGIN) {
        access.check_origin(origin.to_str().map_err(|_| Refused::Origin)?)?;
    }
    // Browsers ask without the token whether they may send it.
    if is_preflight(head) || head.uri.path() == HEALTH_PATH {
        return Ok(None);
    }
    let visitors = access.visitors();
    if visitors.is_some_and(|visitors| visitors.is_open(head)) {
        return Ok(None);
    }
    let is_protocol = head.uri.path().starts_with(PROTOCOL_PATH);
    if let Some(visitors) = visitors.filter(|_| !is_protocol)
        && !headers.contains_key(AUTHORIZATION)
        && is_of_own_page(headers)
        && let Some(login) = visitors.recognise(headers)
    {
        if !head.method.is_safe() {
            check_intent(headers, &login)?;
        }
        return Ok(Some(Visitor {
            role: Role::Admin,
            login: Some(login),
        }));
    }
    match (access.check_token(headers), visitors) {
        (Ok(role), _) => Ok(Some(Visitor { role, login: None })),
        (Err(_), Some(visitors)) if !is_protocol && is_navigation(head) => {
            Err(Refused::Login(visitors.login_page()))
        }
        (Err(refused), _) => Err(refused),
    }
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

/// Whether one of our own pages meant to change something: the browser says where the request comes from, and the
/// page shows what only it could read.
fn check_intent(headers: &HeaderMap, login: &Login) -> Result<(), Refused> {
    let is_own_site = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site == "same-origin");
    let shown = headers.get(CSRF_HEADER).map(|shown| shown.as_bytes());
    let shown = shown.map(blake3::hash);
    let is_shown = shown == Some(blake3::hash(login.csrf.as_bytes()));
    match (has_own_origin(headers) || is_own_site) && is_shown {
        true => Ok(()),
        false => Err(Refused::Forged),
    }
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
pub(super) fn allowed(asked: &HeaderMap) -> HeaderMap {
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
    let age = HeaderValue::from_static(PREFLIGHT_SECONDS);
    let mut allowed = HeaderMap::new();
    allowed.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    allowed.insert(ACCESS_CONTROL_MAX_AGE, age);
    if let Some(headers) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        allowed.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
    }
    if asked.contains_key("access-control-request-private-network") {
        let yes = HeaderValue::from_static("true");
        allowed.insert("access-control-allow-private-network", yes);
    }
    allowed
}

/// Lets a page of this origin read the answer.
pub(super) fn shown_to(origin: Option<HeaderValue>, mut response: Response) -> Response {
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
pub(super) fn bearer_wanted(headers: &mut HeaderMap) {
    let bearer = HeaderValue::from_static("Bearer realm=\"pegboard\"");
    headers.insert(WWW_AUTHENTICATE, bearer);
}

//! The access check before every route: `Host`, `Origin`, token or login, and CORS preflight.

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

/// How long browsers may cache a preflight response.
const PREFLIGHT_SECONDS: &str = "600";

/// Identifies the sender of a request. Returns `None` for public paths and preflight requests.
pub(super) fn check(access: &Access, head: &Parts) -> Result<Option<Principal>, AccessError> {
    let headers = &head.headers;
    access.check_host(headers)?;
    check_target(head)?;
    for origin in headers.get_all(ORIGIN) {
        access.check_origin(origin.to_str().map_err(|_| AccessError::Origin)?)?;
    }
    // Browsers send preflight requests without the token.
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

/// Checks the host of an absolute request target (`GET http://host/ HTTP/1.1`). It has priority over `Host`, so both
/// must be equal.
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

/// The logged-in browser that sent the request. Programs on other ports of this host may also receive its cookie, so
/// the cookie alone only opens page frames. Reading and changing anything requires the page key, which only pages of
/// our own origin can read.
fn logged_in(logins: &dyn LoginProvider, head: &Parts) -> Result<Option<Principal>, AccessError> {
    let Some(login) = logins.login(&head.headers) else {
        return Ok(None);
    };
    let has_page_key = login.is_proven_by(&head.headers);
    let role = match (has_page_key, head.method.is_safe()) {
        (true, true) => Role::Admin,
        (true, false) if comes_from_own_page(&head.headers) => Role::Admin,
        (_, false) => return Err(AccessError::Forged),
        (false, true) if logins.is_page(head) => Role::Frame,
        // The request may have a token, or need none.
        (false, true) => return Ok(None),
    };
    Ok(Some(Principal {
        role,
        login: Some(login),
    }))
}

/// Whether a browser sent the request for one of our pages, or because the user entered the address. Browsers send
/// cookies to all ports of a host, so a cookie alone proves nothing.
fn is_of_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    let site_is_own = site.is_none_or(|site| site == "same-origin" || site == "none")
        || headers
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
    site_is_own && (!headers.contains_key(ORIGIN) || has_own_origin(headers))
}

/// Whether `Origin` equals the address that the request was sent to.
fn has_own_origin(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else {
        return false;
    };
    let rest = origin.strip_prefix("http://");
    let rest = rest.or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// Whether the browser states that one of our own pages sent the request.
fn comes_from_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    has_own_origin(headers) || site.is_some_and(|site| site == "same-origin")
}

/// Whether the request opens a page in a browser.
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

/// The headers of a preflight response.
pub(super) fn preflight_headers(requested: &HeaderMap) -> HeaderMap {
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
    let age = HeaderValue::from_static(PREFLIGHT_SECONDS);
    let mut preflight_headers = HeaderMap::new();
    preflight_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    preflight_headers.insert(ACCESS_CONTROL_MAX_AGE, age);
    if let Some(headers) = requested.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        preflight_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
    }
    if requested.contains_key("access-control-request-private-network") {
        let yes = HeaderValue::from_static("true");
        preflight_headers.insert("access-control-allow-private-network", yes);
    }
    preflight_headers
}

/// Allows a page of this origin to read the response.
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

/// Adds the challenge for a bearer token.
pub(super) fn require_bearer(headers: &mut HeaderMap) {
    let bearer = HeaderValue::from_static("Bearer realm=\"pegboard\"");
    headers.insert(WWW_AUTHENTICATE, bearer);
}

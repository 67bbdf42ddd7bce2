//! Logging in and out.
//!
//! Opening the link only shows a button, so that link previews do not use up the code. The page's script sends the
//! code and stores the page key from the response.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use pegboard_gateway::http::{LoginProvider, read_body};
use pegboard_model::{Limits, Reason};
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::dashboard;
use crate::error::ApiError;
use crate::logins::LOGIN_PATH;
use crate::session::session_of;
use crate::state::WebState;

/// Largest login form; a form with one code is far smaller.
const FORM_BYTES: usize = 4 * 1024;

pub(crate) fn routes(state: WebState) -> Router {
    Router::new()
        .route(LOGIN_PATH, get(show).post(log_in))
        .route("/logout", post(log_out))
        .with_state(state)
}

/// The response to a login. The page stores the key for its origin, which includes the port: pages of other programs
/// on this host receive the cookie, but never this key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoggedIn<'a> {
    page_key: &'a str,
}

async fn log_in(State(state): State<WebState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if is_cross_site(&parts.headers) {
        return ApiError::of(Reason::RequestForged).into_response();
    }
    let limits = Limits {
        request_bytes: FORM_BYTES,
        ..state.limits().clone()
    };
    let Ok(body) = read_body(&parts.headers, body, &limits).await else {
        return ApiError::of(Reason::RequestInvalid).into_response();
    };
    let code = field(&String::from_utf8_lossy(&body), "code");
    let login = code.and_then(|code| state.logins().redeem(code.trim()));
    let cookie = login.as_ref().map(|login| &*login.cookie);
    let cookie = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok());
    let (Some(login), Some(cookie)) = (login, cookie) else {
        return ApiError::of(Reason::LoginExpired).into_response();
    };
    let page_key = login.page_key.reveal();
    let mut response = crate::response::json(StatusCode::OK, &LoggedIn { page_key });
    let headers = response.headers_mut();
    headers.insert(SET_COOKIE, cookie);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn log_out(State(state): State<WebState>, headers: HeaderMap) -> Response {
    if let Some(login) = state.logins().login(&headers) {
        // Approvals for this session end with it.
        state.hub().session_ended(&session_of(&login));
    }
    match HeaderValue::from_str(&state.logins().log_out(&headers)) {
        Ok(cookie) => redirect(LOGIN_PATH, cookie),
        Err(_) => ApiError::of(Reason::Internal).into_response(),
    }
}

/// Whether a foreign page sent the form. Clients without the header are not browsers.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| site != "same-origin" && site != "none")
}

fn redirect(path: &'static str, cookie: HeaderValue) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static(path));
    headers.insert(SET_COOKIE, cookie);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn show() -> Response {
    let mut response = dashboard::login_page().into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                  form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
    let policy = HeaderValue::from_static(policy);
    headers.insert("content-security-policy", policy);
    response
}

/// A field of a URL-encoded form.
fn field(text: &str, name: &str) -> Option<String> {
    let mut fields = text.split('&').filter_map(|pair| pair.split_once('='));
    let value = fields.find(|(key, _)| *key == name)?.1.replace('+', " ");
    let value = percent_decode_str(&value).decode_utf8().ok()?;
    Some(value.into_owned())
}

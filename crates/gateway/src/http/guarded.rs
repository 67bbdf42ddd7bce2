//! The one check before every route: Host, Origin, token, and what browsers ask first.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either};
use tower_layer::Layer;
use tower_service::Service;

use super::HEALTH_PATH;
use super::access::{Access, Refused};
use super::refusal::turned_away;

/// How long a browser may remember what it was allowed.
const PREFLIGHT_SECONDS: &str = "600";

/// Puts the check before a service.
#[derive(Clone)]
pub(super) struct Guard {
    access: Access,
}

impl Guard {
    pub(super) fn new(access: Access) -> Self {
        Self { access }
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded {
            access: self.access.clone(),
            inner,
        }
    }
}

/// A service that only hears what passed the check.
#[derive(Clone)]
pub(super) struct Guarded<S> {
    access: Access,
    inner: S,
}

type Answer = Result<Response, Infallible>;

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Either<Ready<Answer>, S::Future>, BoxFuture<'static, Answer>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let now = |response| Either::Left(Either::Left(ready(Ok(response))));
        let headers = request.headers();
        if let Err(refused) = check(&self.access, &request) {
            // A page that may know why it is turned away must be able to read it.
            let origin = headers.get(ORIGIN).cloned();
            let origin = origin.filter(|_| refused == Refused::Token);
            return now(shown_to(origin, turned_away(refused)));
        }
        let Some(origin) = headers.get(ORIGIN).cloned() else {
            return Either::Left(Either::Right(self.inner.call(request)));
        };
        if is_preflight(&request) {
            let answer = (StatusCode::NO_CONTENT, allowed(headers));
            return now(shown_to(Some(origin), answer.into_response()));
        }
        let answer = self.inner.call(request);
        let answer = answer.map(|answer| answer.map(|response| shown_to(Some(origin), response)));
        Either::Right(answer.boxed())
    }
}

fn check(access: &Access, request: &Request) -> Result<(), Refused> {
    let headers = request.headers();
    access.check_host(headers)?;
    for origin in headers.get_all(ORIGIN) {
        access.check_origin(origin.to_str().map_err(|_| Refused::Origin)?)?;
    }
    // Browsers ask without the token whether they may send it.
    if is_preflight(request) || request.uri().path() == HEALTH_PATH {
        return Ok(());
    }
    access.check_token(headers)
}

fn is_preflight(request: &Request) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a page of an allowed origin may do.
fn allowed(asked: &HeaderMap) -> HeaderMap {
    let methods = HeaderValue::from_static("GET, POST, DELETE");
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
fn shown_to(origin: Option<HeaderValue>, mut response: Response) -> Response {
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

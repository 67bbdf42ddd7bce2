//! Everything that is served: the protocol's path, and the routes of others, behind one check.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::header::{CONTENT_TYPE, ORIGIN};
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use pegboard_model::Limits;
use tower_service::Service;

use super::access::{Access, AccessError};
use super::principal::Role;
use super::refusal::{access_denied, no_such_path};
use super::request_check::{check, is_preflight, preflight_headers, with_cors};
use super::{HEALTH_PATH, HttpState, PROTOCOL_PATH};
use crate::gateway::Gateway;

/// What is served. Nothing of it is reached past the checks of Host, Origin and token.
#[derive(Clone)]
pub struct Site(Arc<SiteParts>);

#[derive(Clone)]
struct SiteParts {
    access: Access,
    state: HttpState,
    others: Router,
}

impl Site {
    /// A site with the gateway at `/mcp` and `/mcp/{profile}`, and a page that tells whether it runs.
    pub fn new(gateway: Gateway, access: Access) -> Self {
        let state = HttpState::new(gateway, access.limits().clone());
        let others = Router::new().route(HEALTH_PATH, get(health));
        Self(Arc::new(SiteParts {
            access,
            state,
            others: others.fallback(no_such_path),
        }))
    }

    /// The same with more routes, behind the same checks.
    #[must_use]
    pub fn with(self, routes: Router) -> Self {
        let parts = Arc::unwrap_or_clone(self.0);
        Self(Arc::new(SiteParts {
            others: parts.others.merge(routes),
            ..parts
        }))
    }

    pub(super) fn limits(&self) -> &Limits {
        self.0.access.limits()
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.0.state.gateway
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        self.answer_authenticated(request, || {}).await
    }

    /// The same; `known` is called when the request shows a token or a login that counts.
    pub(super) async fn answer_authenticated<B>(
        &self,
        request: Request<B>,
        known: impl FnOnce(),
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let origin = head.headers.get(ORIGIN).cloned();
        let principal = match check(&self.0.access, &head) {
            Ok(principal) => principal,
            Err(refused) => {
                // A page that may know why it is turned away must be able to read it.
                let origin = origin.filter(|_| refused == AccessError::Token);
                return with_cors(origin, access_denied(refused));
            }
        };
        if principal.as_ref().is_some_and(|one| one.role > Role::Frame) {
            known();
        }
        if is_preflight(&head) {
            let answer = (StatusCode::NO_CONTENT, preflight_headers(&head.headers));
            return with_cors(origin, answer.into_response());
        }
        // Calls take the first way, and a router would be a large part of what they cost.
        let answer = if is_protocol_path(&head) {
            self.0.state.answer(head, body).await
        } else {
            principal.map(|principal| head.extensions.insert(principal));
            let request = Request::from_parts(head, Body::new(body));
            let Ok(answer) = self.0.others.clone().call(request).await;
            answer
        };
        with_cors(origin, answer)
    }
}

/// Whether a path is the protocol's: `/mcp`, with or without the name of a profile.
fn is_protocol_path(head: &Parts) -> bool {
    let rest = head.uri.path().strip_prefix(PROTOCOL_PATH);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('/')
                .is_some_and(|name| !name.contains('/'))
    })
}

async fn health() -> impl IntoResponse {
    let version = env!("CARGO_PKG_VERSION");
    let body = format!(r#"{{"status":"ok","version":"{version}"}}"#);
    ([(CONTENT_TYPE, "application/json")], body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_gate_01_the_protocol_has_a_path_for_each_profile() {
        let is_protocol_path = |path: &str| {
            let request = Request::builder().uri(path).body(()).unwrap();
            is_protocol_path(&request.into_parts().0)
        };
        for path in ["/mcp", "/mcp/", "/mcp/work", "/mcp?a=b", "/mcp/work?a=/b"] {
            assert!(is_protocol_path(path), "{path}");
        }
        for path in ["/", "/mcps", "/mcp/a/b", "/mcp/a/", "/api/mcp"] {
            assert!(!is_protocol_path(path), "{path}");
        }
    }
}

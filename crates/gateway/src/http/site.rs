//! The complete HTTP service: the MCP endpoint and additional routes, behind one access check.

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
use super::{HEALTH_PATH, HttpState, PROTOCOL_PATH, endpoint};
use crate::gateway::Gateway;

/// The HTTP service. Every request is checked for `Host`, `Origin` and token first.
#[derive(Clone)]
pub struct Site(Arc<SiteParts>);

#[derive(Clone)]
struct SiteParts {
    access: Access,
    state: HttpState,
    router: Router,
}

impl Site {
    /// Creates a site with the gateway at `/mcp` and `/mcp/{profile}`, and a health endpoint.
    pub fn new(gateway: Gateway, access: Access) -> Self {
        let state = HttpState::new(gateway, access.limits().clone());
        let router = Router::new().route(HEALTH_PATH, get(health));
        Self(Arc::new(SiteParts {
            access,
            state,
            router: router.fallback(no_such_path),
        }))
    }

    /// Adds routes behind the same checks.
    #[must_use]
    pub fn with(self, routes: Router) -> Self {
        let parts = Arc::unwrap_or_clone(self.0);
        Self(Arc::new(SiteParts {
            router: parts.router.merge(routes),
            ..parts
        }))
    }

    pub(super) fn limits(&self) -> &Limits {
        self.0.access.limits()
    }

    pub(super) fn gateway(&self) -> &Gateway {
        &self.0.state.gateway
    }

    /// Handles one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        self.handle_with(request, || {}).await
    }

    /// Like [`Site::handle`]. Calls `on_authenticated` if the request has a valid token or login.
    pub(super) async fn handle_with<B>(
        &self,
        request: Request<B>,
        on_authenticated: impl FnOnce(),
    ) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let origin = head.headers.get(ORIGIN).cloned();
        let principal = match check(&self.0.access, &head) {
            Ok(principal) => principal,
            Err(error) => {
                // A page of an allowed origin must be able to read the error.
                let origin = origin.filter(|_| error == AccessError::Token);
                return with_cors(origin, access_denied(error));
            }
        };
        if principal.as_ref().is_some_and(|one| one.role > Role::Frame) {
            on_authenticated();
        }
        if is_preflight(&head) {
            let response = (StatusCode::NO_CONTENT, preflight_headers(&head.headers));
            return with_cors(origin, response.into_response());
        }
        // The MCP endpoint bypasses the router, which would be a large part of the cost of a call.
        let response = if is_protocol_path(&head) {
            match endpoint::handle(&self.0.state, &head, body).await {
                Ok(response) | Err(response) => response,
            }
        } else {
            principal.map(|principal| head.extensions.insert(principal));
            let request = Request::from_parts(head, Body::new(body));
            let Ok(response) = self.0.router.clone().call(request).await;
            response
        };
        with_cors(origin, response)
    }
}

/// Whether the path is `/mcp`, with or without a profile name.
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

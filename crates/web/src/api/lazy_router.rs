//! A router that is built at its first request, because building it takes longer than a client's whole first response.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use tower_service::Service;

use crate::state::WebState;

#[derive(Clone)]
pub(super) struct LazyRouter {
    state: WebState,
    build: fn(WebState) -> Router,
    router: Arc<OnceLock<Router>>,
}

impl LazyRouter {
    pub(super) fn new(state: WebState, build: fn(WebState) -> Router) -> Self {
        Self {
            state,
            build,
            router: Arc::default(),
        }
    }
}

impl Service<Request> for LazyRouter {
    type Response = Response;
    type Error = Infallible;
    type Future = <Router as Service<Request>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let build = || (self.build)(self.state.clone());
        self.router.get_or_init(build).clone().call(request)
    }
}

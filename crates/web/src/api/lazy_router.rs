//! Routes that are put together when the first request for them comes: describing every one of them takes longer than a
//! client's whole first answer.

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
    make: fn(WebState) -> Router,
    made: Arc<OnceLock<Router>>,
}

impl LazyRouter {
    pub(super) fn new(state: WebState, make: fn(WebState) -> Router) -> Self {
        Self {
            state,
            make,
            made: Arc::default(),
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
        let make = || (self.make)(self.state.clone());
        self.made.get_or_init(make).clone().call(request)
    }
}

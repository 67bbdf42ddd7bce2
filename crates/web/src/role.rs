//! Extractors for the role that the access check determined.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use pegboard_gateway::http::{Principal, Role};
use pegboard_model::Reason;

use crate::error::ApiError;

/// A client that passed the access check, with any role.
#[derive(Clone, Debug)]
pub struct Authorized(pub Principal);

/// A client with the administrator role.
#[derive(Clone, Debug)]
pub struct Admin(pub Principal);

impl Authorized {
    /// Whether the client has the administrator role.
    pub fn is_admin(&self) -> bool {
        self.0.role == Role::Admin
    }

    pub(crate) fn of(parts: &Parts) -> Result<Self, ApiError> {
        let visitor = parts.extensions.get::<Principal>();
        let visitor = visitor.filter(|visitor| visitor.role > Role::Frame);
        visitor
            .cloned()
            .map(Self)
            .ok_or_else(|| ApiError::of(Reason::TokenWrong))
    }
}

impl Admin {
    /// The name of this client in the activity log.
    pub(crate) fn actor(&self) -> &'static str {
        match self.0.login {
            Some(_) => "dashboard",
            None => "api",
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Authorized {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Self::of(parts).map_err(IntoResponse::into_response)
    }
}

impl<S: Sync> FromRequestParts<S> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match Authorized::of(parts) {
            Ok(Authorized(visitor)) if visitor.role == Role::Admin => Ok(Self(visitor)),
            Ok(_) => Err(ApiError::of(Reason::AdminNeeded).into_response()),
            Err(error) => Err(error.into_response()),
        }
    }
}

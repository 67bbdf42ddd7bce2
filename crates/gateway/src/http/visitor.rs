//! Who a request comes from, as far as the guard could tell.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;

/// What whoever sent a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read, and call tools under the policies.
    Caller,
    /// Change the configuration, the policies, and what gets started.
    Admin,
}

/// Who sent a request. The guard puts one into the extensions of every request that it lets through, except to
/// paths that are open to everybody.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// What they may do.
    pub role: Role,
    /// The browser that was logged in, when it is one.
    pub login: Option<Login>,
}

/// A browser in which a person has logged in.
#[derive(Clone)]
pub struct Login {
    /// What a page must send back with everything that changes something, to prove that it is one of ours.
    pub csrf: Arc<str>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login")
    }
}

/// The header in which a page of ours sends [`Login::csrf`] back.
pub const CSRF_HEADER: &str = "x-pegboard-csrf";

/// Whoever keeps the logins of browsers.
pub trait Visitors: Send + Sync {
    /// Whether the request is for something that holds no secret and is needed to log in.
    fn is_open(&self, head: &Parts) -> bool;

    /// The login that the cookies of a request prove.
    fn recognise(&self, headers: &HeaderMap) -> Option<Login>;

    /// The path of the page that a person is sent to who has not logged in.
    fn login_page(&self) -> &'static str;
}

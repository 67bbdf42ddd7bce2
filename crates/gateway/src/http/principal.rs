//! The identity and role of the sender of a request.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use blake3::Hash;

/// What the sender of a request may do. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Load page frames without content. The role of a browser that sends a login cookie without the page key.
    Frame,
    /// Read, and call tools subject to the policies.
    Caller,
    /// Change the configuration and policies, and start servers.
    Admin,
}

/// The sender of a request. The access check stores it in the request's extensions, except for public paths.
#[derive(Clone, Debug)]
pub struct Principal {
    /// The sender's role.
    pub role: Role,
    /// The login, if the sender is a browser.
    pub login: Option<Login>,
}

/// A browser in which a person has logged in. Its cookie is sent to every port of the host, so the cookie alone opens
/// nothing. The page key is in the storage of our own origin, which pages of other ports cannot read.
#[derive(Clone)]
pub struct Login {
    /// Identifies the login in the activity log. Not secret.
    pub id: Arc<str>,
    page_key: Hash,
}

impl Login {
    /// Creates a login with the hash of its page key.
    pub fn new(id: impl Into<Arc<str>>, page_key: Hash) -> Self {
        Self {
            id: id.into(),
            page_key,
        }
    }

    /// Whether a request has the page key of this login. Hashes are compared in constant time.
    pub fn is_proven_by(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(PAGE_KEY_HEADER);
        shown.is_some_and(|shown| blake3::hash(shown.as_bytes()) == self.page_key)
    }
}

/// Omits the key.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The header with which our pages send the page key of their login.
pub const PAGE_KEY_HEADER: &str = "x-pegboard-page-key";

/// Looks up browser logins.
pub trait LoginProvider: Send + Sync {
    /// Whether the requested path needs no login, such as the login page itself.
    fn is_public(&self, head: &Parts) -> bool;

    /// Whether the requested path is a page with a content-free frame.
    fn is_page(&self, head: &Parts) -> bool;

    /// The login that belongs to the cookies of a request.
    fn login(&self, headers: &HeaderMap) -> Option<Login>;

    /// The path of the login page.
    fn login_page(&self) -> &'static str;
}

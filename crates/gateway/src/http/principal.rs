//! Who a request comes from, as far as the guard could tell.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use blake3::Hash;

/// What whoever sent a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Get the frame of a page, which holds no content. A browser has this role when it sends the cookie of a login
    /// without the page key.
    Frame,
    /// Read, and call tools under the policies.
    Caller,
    /// Change the configuration, the policies, and what gets started.
    Admin,
}

/// Who sent a request. The guard puts one into the extensions of every request that it lets through, except to
/// paths that are open to everybody.
#[derive(Clone, Debug)]
pub struct Principal {
    /// What they may do.
    pub role: Role,
    /// The browser that was logged in, when it is one.
    pub login: Option<Login>,
}

/// A browser in which a person has logged in. Its cookie reaches every port of the host, so the cookie alone opens
/// nothing; the page key is in the storage of our own origin, which pages of other ports cannot read.
#[derive(Clone)]
pub struct Login {
    /// Tells logins apart in the log of activity. It is not secret.
    pub id: Arc<str>,
    page_key: Hash,
}

impl Login {
    /// A login with the hash of its page key.
    pub fn new(id: impl Into<Arc<str>>, page_key: Hash) -> Self {
        Self {
            id: id.into(),
            page_key,
        }
    }

    /// Whether a request presents the page key of this login. Hashes are compared in constant time.
    pub fn is_proven_by(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(PAGE_KEY_HEADER);
        shown.is_some_and(|shown| blake3::hash(shown.as_bytes()) == self.page_key)
    }
}

/// The key stays out of logs.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The header in which a page of ours presents the page key of its login.
pub const PAGE_KEY_HEADER: &str = "x-pegboard-page-key";

/// Whoever keeps the logins of browsers.
pub trait LoginProvider: Send + Sync {
    /// Whether the request is for something that holds no secret and is needed to log in.
    fn is_public(&self, head: &Parts) -> bool;

    /// Whether the request is for a page that has a frame without content.
    fn is_page(&self, head: &Parts) -> bool;

    /// The login that the cookies of a request name.
    fn login(&self, headers: &HeaderMap) -> Option<Login>;

    /// The path of the page that a person is sent to who has not logged in.
    fn login_page(&self) -> &'static str;
}

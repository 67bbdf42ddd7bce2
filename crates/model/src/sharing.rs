//! Which clients may share one running instance of a server.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The `share` key of a server, from the least to the most strict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// Decided by what is known about the server.
    #[default]
    Auto,
    /// All clients of the user share one instance.
    User,
    /// The clients of one project share an instance.
    Project,
    /// Each client session has an instance of its own.
    Session,
}

impl Share {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }

    /// The scope that the key sets; `None` for `auto`.
    pub fn scope(self) -> Option<ShareScope> {
        match self {
            Self::Auto => None,
            Self::User => Some(ShareScope::User),
            Self::Project => Some(ShareScope::Project),
            Self::Session => Some(ShareScope::Session),
        }
    }

    /// Returns what applies if a project's file contains this value. Such a file can only make the scope stricter: it
    /// never includes clients outside the project, nor more than `user`, which the user's own file sets for a server
    /// of the same name.
    #[must_use]
    pub fn in_project(self, user: Option<ShareScope>) -> Self {
        match (self.scope(), user) {
            (_, Some(ShareScope::Session)) | (Some(ShareScope::Session), _) => Self::Session,
            (Some(_), _) => Self::Project,
            (None, _) => Self::Auto,
        }
    }
}

/// The clients that share one instance of a server, from the least to the most strict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ShareScope {
    /// All clients of the user.
    User,
    /// The clients of one project. The default for a server about which nothing is known.
    #[default]
    Project,
    /// One client session.
    Session,
}

impl ShareScope {
    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}

/// The scope of a server, and why it has this scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingDecision {
    /// The scope in force.
    pub scope: ShareScope,
    /// Whether `share` in the configuration sets the scope. Otherwise it is derived.
    pub is_configured: bool,
    /// A short reason for people, without a full stop.
    pub reason: Cow<'static, str>,
}

/// For example `project (auto: its tools are not known yet)`.
impl std::fmt::Display for SharingDecision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.is_configured { "" } else { "auto: " };
        write!(f, "{} ({how}{})", self.scope.as_str(), self.reason)
    }
}

/// What calls have shown about a server with one definition. It is stored with the server's record and forgotten when
/// the definition changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearntFacts {
    /// The server sent an elicitation or a sampling request on a connection that several clients can share.
    pub asks_clients: bool,
    /// The server requested the client's roots.
    pub asks_roots: bool,
    /// A client's call changed the server's list of tools.
    pub changes_list: bool,
    /// The server speaks the old HTTP+SSE transport.
    pub old_sse: bool,
}

impl LearntFacts {
    /// The facts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            asks_clients: self.asks_clients || other.asks_clients,
            asks_roots: self.asks_roots || other.asks_roots,
            changes_list: self.changes_list || other.changes_list,
            old_sse: self.old_sse || other.old_sse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_03_a_project_only_makes_the_scope_stricter() {
        use Share::{Auto, Project, Session, User};
        for (written, user, expected) in [
            (Auto, None, Auto),
            (User, None, Project),
            (Project, None, Project),
            (Session, None, Session),
            (User, Some(ShareScope::User), Project),
            (Session, Some(ShareScope::User), Session),
            (Auto, Some(ShareScope::Project), Auto),
            (Auto, Some(ShareScope::Session), Session),
            (Project, Some(ShareScope::Session), Session),
        ] {
            assert_eq!(written.in_project(user), expected, "{written:?} {user:?}");
        }
        assert!(
            ShareScope::User < ShareScope::Project && ShareScope::Project < ShareScope::Session
        );
    }
}

//! Errors of logins. They name the step, the reason and the next step, and never contain a body, a token or a code.

use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};

/// Characters shown of a text that an authorization server sent.
const SHOWN_CHARACTERS: usize = 200;

/// Creates errors about the login of one server.
#[derive(Clone, Debug)]
pub(crate) struct LoginErrors {
    pub(crate) server: ServerName,
}

impl LoginErrors {
    pub(crate) fn new(server: &ServerName) -> Self {
        Self {
            server: server.clone(),
        }
    }

    /// Creates an error about the server.
    pub(crate) fn error(&self, reason: Reason, what: impl std::fmt::Display) -> ToolError {
        ToolError::new(reason, format!("server `{}` {what}", self.server)).at_server(&self.server)
    }

    /// What the server or its authorization server publishes cannot be used.
    pub(crate) fn unsupported(
        &self,
        what: impl std::fmt::Display,
        remedy: impl Into<String>,
    ) -> ToolError {
        self.error(Reason::LoginUnsupported, what)
            .with_remedy(remedy)
    }

    /// The login did not succeed.
    pub(crate) fn failed(&self, what: impl std::fmt::Display) -> ToolError {
        let message = format!("the login to server `{}` failed: {what}", self.server);
        ToolError::new(Reason::LoginFailed, message).at_server(&self.server)
    }

    /// The authorization server cannot be reached or is busy. The login is kept.
    pub(crate) fn temporary(&self, what: impl std::fmt::Display) -> ToolError {
        let message = format!(
            "the authorization server of `{}` cannot be used now: {what}",
            self.server
        );
        let mut error = ToolError::new(Reason::ConnectFailed, message)
            .at_server(&self.server)
            .with_remedy("The login is kept. Try again later.");
        error.retryable = true;
        error
    }
}

/// Prepares a text of an authorization server for display. Markup is taken out, because an error may be shown without
/// escaping.
pub(crate) fn shown(text: &str) -> String {
    UntrustedText::new(&text.replace(['<', '>'], " "))
        .shortened(SHOWN_CHARACTERS)
        .to_string()
}

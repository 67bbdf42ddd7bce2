//! What a person is asked, and how.

use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{AskVia, ClientApproval, ServerName, UntrustedText};

use super::shown_arguments::readable;
use crate::calls::SessionId;

/// Longest arguments, in characters, that are shown in a client or at a terminal. The inbox shows up to
/// `Limits::shown_argument_bytes`.
pub(super) const ARGUMENTS_IN_MESSAGE: usize = 16_000;

/// How approvals are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for an approval in the inbox. With zero, only the client and the terminal are asked.
    pub timeout: Duration,
    /// Where approvals are requested.
    pub via: AskVia,
    /// How long an approval that was given in the calling client lasts.
    pub client: ClientApproval,
}

/// What a person is asked to approve.
#[derive(Clone, Debug)]
pub struct ApprovalPrompt {
    /// The session that makes the call.
    pub session: SessionId,
    /// The tool's exposed name.
    pub tool: String,
    /// The tool's server; `None` for a tool of the host program.
    pub server: Option<ServerName>,
    /// The exact arguments, as JSON.
    pub arguments: String,
    /// The policy rule that requires the approval.
    pub rule: String,
    /// The fields in which the tool differs from the version that was granted before, if there was one.
    pub changed: Vec<String>,
}

impl ApprovalPrompt {
    /// Whether the arguments fit into a prompt completely. A person is never asked to approve arguments that are not
    /// shown.
    pub fn fits_message(&self) -> bool {
        self.shown_arguments_text()
            .chars()
            .nth(ARGUMENTS_IN_MESSAGE)
            .is_none()
    }

    /// The complete arguments, with deceptive characters escaped and long runs of space counted.
    fn shown_arguments_text(&self) -> String {
        UntrustedText::new(&readable(&self.arguments)).to_string()
    }

    /// The prompt as text, with deceptive characters escaped.
    pub fn text(&self) -> String {
        let server = match &self.server {
            Some(server) => format!(" of server `{server}`"),
            None => String::new(),
        };
        let changed = match self.changed.is_empty() {
            true => String::new(),
            false => format!(
                "\nIt CHANGED since it was allowed; changed fields: {}.",
                self.changed.join(", ")
            ),
        };
        format!(
            "`{}`{server} asks for your approval ({}).{changed}\nArguments: {}",
            UntrustedText::new(&self.tool),
            UntrustedText::new(&self.rule),
            self.shown_arguments_text(),
        )
    }
}

/// A person's response to an [`ApprovalPrompt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptResponse {
    /// Allow this call.
    Allow,
    /// Allow this version of the tool for the rest of the session.
    AllowForSession,
    /// Allow this version of the tool from now on.
    AllowAlways,
    /// Do not run the call.
    Refuse,
    /// There was no way to ask.
    Unavailable,
}

/// Asks a person if a policy requires an approval and the client cannot ask. A terminal implements it.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Whether there is a person to ask.
    fn can_ask(&self) -> bool {
        true
    }

    /// Asks the person.
    async fn ask(&self, prompt: ApprovalPrompt) -> PromptResponse;

    /// The call waits in the inbox, under this id, because there was no other way to ask.
    fn waits_in_inbox(&self, _id: &str) {}
}

/// An approver for programs without a terminal: it never asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApprover;

#[async_trait]
impl Approver for NoApprover {
    fn can_ask(&self) -> bool {
        false
    }

    async fn ask(&self, _prompt: ApprovalPrompt) -> PromptResponse {
        PromptResponse::Unavailable
    }
}

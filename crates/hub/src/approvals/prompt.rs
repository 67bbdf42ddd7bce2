//! What a person is asked, and how.

use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{AskVia, ClientApproval, ServerName, UntrustedText};

use super::shown_arguments::readable;
use crate::calls::SessionId;

/// Characters of arguments that a person reads in a message of a client or at a terminal. Longer ones are shown in the
/// inbox, which has room for `Limits::shown_argument_bytes`.
pub(super) const ARGUMENTS_IN_MESSAGE: usize = 16_000;

/// How people are asked, as of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for a person who has to approve it; zero asks only who is there.
    pub timeout: Duration,
    /// Where a person is asked.
    pub via: AskVia,
    /// How far an approval reaches that came through the client that calls.
    pub client: ClientApproval,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct ApprovalPrompt {
    /// Who wants to call.
    pub session: SessionId,
    /// The tool's exposed name.
    pub tool: String,
    /// The server; `None` for a tool of the host program.
    pub server: Option<ServerName>,
    /// The exact arguments.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
    /// Where the tool differs from the version that was allowed before, when one was.
    pub changed: Vec<String>,
}

impl ApprovalPrompt {
    /// Whether a message can show the arguments completely. Unavailable is asked to approve what is not shown.
    pub fn fits_message(&self) -> bool {
        self.shown_arguments_text()
            .chars()
            .nth(ARGUMENTS_IN_MESSAGE)
            .is_none()
    }

    /// The arguments, complete, with whatever could deceive or tire a reader written out.
    fn shown_arguments_text(&self) -> String {
        UntrustedText::new(&readable(&self.arguments)).to_string()
    }

    /// The question in words, with whatever could deceive a reader escaped.
    pub fn text(&self) -> String {
        let server = match &self.server {
            Some(server) => format!(" of server `{server}`"),
            None => String::new(),
        };
        let changed = match self.changed.is_empty() {
            true => String::new(),
            false => format!(
                "\nIt CHANGED since it was allowed; different: {}.",
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

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptResponse {
    /// Go on, this once.
    Allow,
    /// Go on, also with later calls of this version of the tool in this session.
    AllowForSession,
    /// Go on, also with all later calls of this version of the tool.
    AllowAlways,
    /// Do not.
    Refuse,
    /// Unavailable could be asked.
    Unavailable,
}

/// Who is asked when a policy says `ask` and the client cannot.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Whether there is somebody to ask.
    fn can_ask(&self) -> bool {
        true
    }

    /// Puts the question.
    async fn ask(&self, prompt: ApprovalPrompt) -> PromptResponse;
}

/// An approver for places where no person is.
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

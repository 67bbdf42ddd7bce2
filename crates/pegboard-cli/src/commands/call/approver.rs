//! Approval of calls at the terminal, or in another one.

use async_trait::async_trait;
use pegboard_hub::{ApprovalPrompt, Approver, PromptResponse};
use pegboard_model::{Event, EventKind};
use tokio::sync::broadcast::error::RecvError;

use crate::output::Output;
use crate::prompts::{ask, can_ask};

/// Asks the user at the terminal for approval.
pub(crate) struct TerminalApprover {
    pub(crate) yes: bool,
}

#[async_trait]
impl Approver for TerminalApprover {
    fn can_ask(&self) -> bool {
        self.yes || can_ask()
    }

    async fn ask(&self, question: ApprovalPrompt) -> PromptResponse {
        if self.yes {
            return PromptResponse::Allow;
        }
        let (sender, answer) = tokio::sync::oneshot::channel();
        // On its own thread, so that the prompt does not block the program after the approval timeout.
        let asking = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(prompt_for_approval(&question.text(), &question.tool));
        });
        match asking {
            Ok(_) => answer.await.unwrap_or(PromptResponse::Unavailable),
            Err(_) => PromptResponse::Unavailable,
        }
    }
}

/// Prompts for approval; anything but a clear yes is a refusal.
pub(crate) fn prompt_for_approval(text: &str, tool: &str) -> PromptResponse {
    let choices = "[y: yes, a: always for this version of the tool, N: no]";
    match ask(&format!("{text}\nCall {tool}? {choices} ")).as_deref() {
        Some("y" | "yes") => PromptResponse::Allow,
        Some("a" | "always") => PromptResponse::AllowAlways,
        _ => PromptResponse::Refuse,
    }
}

/// How to approve a call that waits in the inbox.
pub(crate) fn pending_note(id: &str) -> String {
    format!("waiting for approval: run `pegboard approvals allow {id}` in another terminal")
}

/// Prints how to approve each call that waits in the inbox because this terminal cannot prompt.
pub(crate) async fn report_pending_approvals(
    mut events: tokio::sync::broadcast::Receiver<Event>,
    output: &Output,
) -> std::convert::Infallible {
    loop {
        match events.recv().await {
            Ok(Event {
                kind: EventKind::ApprovalRequested { id, way, .. },
                ..
            }) if way == "inbox" => output.note(&pending_note(&id)),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

//! The policy gate that every call of a server's tool passes, and the person it may ask.

use async_trait::async_trait;
use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_guard::{decide, policy_of};
use pegboard_model::{Policy, Reason, ToolError, ToolResult};

use crate::call::{CallRequest, SessionId};
use crate::hub::Inner;
use crate::refresh::may_start;

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who wants to call.
    pub session: SessionId,
    /// The tool's exposed name.
    pub tool: String,
    /// The exact arguments.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Do not.
    Refuse,
    /// Nobody could be asked.
    Nobody,
}

/// Who is asked when a policy says `ask`.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Puts the question.
    async fn ask(&self, question: Ask) -> Verdict;
}

/// An approver for places where no person is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyToAsk;

#[async_trait]
impl Approver for NobodyToAsk {
    async fn ask(&self, _question: Ask) -> Verdict {
        Verdict::Nobody
    }
}

impl Inner {
    /// Lets a call pass, or says which rule does not.
    pub(crate) async fn gate(
        &self,
        request: &CallRequest,
        view: &ToolView<'_>,
        entry: &ServerEntry,
    ) -> ToolResult<()> {
        if view.policy() == Policy::Allow {
            return Ok(());
        }
        let (tool, exposed) = (view.name(), view.exposed().as_str());
        let decision = decide(&entry.spec, tool);
        let refuse = |reason: Reason, why: &str| {
            let message = format!("tool `{exposed}` {why} ({})", decision.rule);
            Err(ToolError::new(reason, message)
                .at_server(&entry.spec.name)
                .at_tool(exposed))
        };
        match decision.policy {
            Policy::Allow => Ok(()),
            Policy::Deny => refuse(Reason::PolicyDenied, "may not be called"),
            Policy::Disable => refuse(Reason::ToolDisabled, "is disabled"),
            Policy::Ask => {
                let question = Ask {
                    session: request.session.clone(),
                    tool: exposed.to_owned(),
                    arguments: request.arguments.get().to_owned(),
                    rule: decision.rule.clone(),
                };
                match self.approver.ask(question).await {
                    // A person may take long, and the configuration change meanwhile.
                    Verdict::Allow => match self.is_still_allowed(entry, tool) {
                        true => Ok(()),
                        false => refuse(Reason::PolicyDenied, "was taken away meanwhile"),
                    },
                    Verdict::Refuse => {
                        refuse(Reason::PolicyDenied, "was refused by the person asked")
                    }
                    Verdict::Nobody => refuse(
                        Reason::PolicyDenied,
                        "needs a person's consent and nobody could be asked",
                    ),
                }
            }
        }
    }

    fn is_still_allowed(&self, entry: &ServerEntry, tool: &str) -> bool {
        let catalog = self.catalog.load();
        let present = catalog.server(&entry.spec.name);
        present.is_some_and(|present| {
            let policy = policy_of(&present.spec, tool);
            present.spec.hash == entry.spec.hash
                && may_start(&present.spec).is_ok()
                && !matches!(policy, Policy::Deny | Policy::Disable)
        })
    }
}

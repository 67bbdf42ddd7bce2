//! The policy gate for every tool call, prompt and resource.
//!
//! A request that a rule allows unconditionally passes without further checks. An approval covers one version of a tool;
//! [`super::dispatch_check`] compares that version with the server's current one when the request is sent. A granted tool
//! that changed needs a new approval, even if its new hints would allow it: a server must not escape a rule by changing
//! its own annotations.

use std::sync::Arc;

use pegboard_catalog::{ToolView, changed_fields};
use pegboard_guard::{PolicyDecision, PolicySubject, decide, fingerprint};
use pegboard_model::{
    ApprovalDecision, ConfigHash, Fingerprint, Grant, HintEffect, Outcome, Policy, PolicyFacts,
    Reason, ServerName, ToolError, ToolResult, ToolVersion,
};
use tokio::time::Instant;

use crate::approvals::{ApprovalContext, ApprovalOutcome, PriorApproval};
use crate::calls::CallRequest;
use crate::hub::Inner;
use crate::telemetry::TraceScope;

/// The tool, prompt or resource of a request, as the gate sees it.
pub(crate) struct GateSubject<'a> {
    /// The exposed name.
    pub(crate) exposed: &'a str,
    pub(crate) version: ToolVersion,
    /// The definition that an approval covers.
    pub(crate) definition: &'a str,
    pub(crate) decision: PolicyDecision,
}

/// Permission to send a request.
pub(crate) struct GatePass {
    /// The version that a person approved, for this call or with a grant.
    pub(crate) approved: Option<Approved>,
    /// How current the server's list must be when the request is sent.
    pub(crate) check: RequiredFreshness,
}

/// A version that a person approved.
pub(crate) struct Approved {
    pub(crate) version: ToolVersion,
    is_once: bool,
}

/// How current a server's list must be when a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredFreshness {
    /// The known list is enough: neither a version nor a hint decided.
    Known,
    /// A stale list is renewed if possible: its hints decide whether a person is asked.
    Renewed,
    /// The list must match the server and the store, or the request is refused: a grant, an approval or a rule about
    /// an annotation decided.
    Current,
}

/// What the rules and earlier approvals say about a request.
enum GateDecision {
    Pass(GatePass),
    /// A person has to decide.
    Ask {
        /// The grant of an earlier version, if the tool changed.
        former: Option<Box<Grant>>,
        /// How the request may be sent if there is no way to ask.
        otherwise: Option<GatePass>,
    },
}

impl GatePass {
    const FREE: Self = Self {
        approved: None,
        check: RequiredFreshness::Known,
    };

    fn approved(version: &ToolVersion, is_once: bool) -> Self {
        let version = version.clone();
        Self {
            approved: Some(Approved { version, is_once }),
            check: RequiredFreshness::Current,
        }
    }

    fn by_hints(hints: HintEffect, can_ask: bool) -> Self {
        let check = match hints {
            HintEffect::Decides => RequiredFreshness::Current,
            HintEffect::MayAsk if can_ask => RequiredFreshness::Renewed,
            HintEffect::MayAsk | HintEffect::None => RequiredFreshness::Known,
        };
        Self {
            approved: None,
            check,
        }
    }

    /// The version that was approved for this call only.
    pub(crate) fn approved_once(&self) -> Option<&ToolVersion> {
        let approved = self.approved.as_ref().filter(|approved| approved.is_once);
        approved.map(|approved| &approved.version)
    }
}

impl Inner {
    /// Decides whether a call may run.
    ///
    /// # Errors
    /// Fails with the rule that refuses the call.
    pub(crate) async fn gate(
        self: &Arc<Self>,
        request: &CallRequest,
        view: &ToolView<'_>,
        trace: &TraceScope,
    ) -> ToolResult<GatePass> {
        if !self.telemetry.recorder().is_tracing() && self.passes_freely(view) {
            return Ok(GatePass::FREE);
        }
        // Boxed, so that the rare path does not enlarge the future of every call.
        let subject = GateSubject {
            exposed: view.exposed().as_str(),
            version: version_of(view),
            definition: view.definition(),
            decision: self.decision(view),
        };
        Box::pin(self.gate_subject(request, &subject, trace)).await
    }

    /// Whether a call needs neither a person nor the ledger nor the server. This is the common case.
    fn passes_freely(&self, view: &ToolView<'_>) -> bool {
        if view.policy() != Policy::Allow || view.asks_if_possible() {
            return false;
        }
        match view.hint_effect() {
            HintEffect::None => true,
            // A fresh list is accepted as the server's current statement.
            HintEffect::MayAsk => {
                self.approvals.has_no_grant(view.server(), view.name())
                    && view.entry().is_some_and(|entry| self.is_fresh(entry))
            }
            HintEffect::Decides => false,
        }
    }

    /// Decides about any subject with a policy, and records the decision.
    pub(crate) async fn gate_subject(
        self: &Arc<Self>,
        request: &CallRequest,
        subject: &GateSubject<'_>,
        trace: &TraceScope,
    ) -> ToolResult<GatePass> {
        let (span, started) = (self.telemetry.begin(trace, "policy"), Instant::now());
        let result = match self.evaluate(request, subject).await {
            Ok(GateDecision::Pass(pass)) => Ok(pass),
            Ok(GateDecision::Ask { former, otherwise }) => {
                let context = context_of(request, subject, former.as_deref());
                match (
                    self.ask_for_approval(request, context, trace).await,
                    otherwise,
                ) {
                    (Ok(ApprovalOutcome::Unavailable), Some(pass)) => Ok(pass),
                    (Ok(outcome), _) => {
                        let is_changed = former.is_some();
                        self.apply_outcome(request, subject, is_changed, outcome)
                            .await
                    }
                    (Err(error), _) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        // Without a span, requests that pass freely are not recorded; most calls do not reach this function.
        if span.is_none() && matches!(&result, Ok(pass) if pass.approved.is_none()) {
            return result;
        }
        let facts = PolicyFacts {
            tool: subject.exposed,
            decision: subject.decision.policy.as_str(),
            rule: &subject.decision.rule,
            outcome: Outcome::of(&result),
            took: started.elapsed(),
        };
        self.telemetry.recorder().policy(span.as_ref(), &facts);
        result
    }

    /// What the rules and earlier approvals say about a request.
    async fn evaluate(
        &self,
        request: &CallRequest,
        subject: &GateSubject<'_>,
    ) -> ToolResult<GateDecision> {
        let (decision, version) = (&subject.decision, &subject.version);
        let never_asks = match decision.policy {
            Policy::Deny => {
                return Err(refusal(subject, Reason::PolicyDenied, "may not be called"));
            }
            Policy::Disable => return Err(refusal(subject, Reason::ToolDisabled, "is disabled")),
            // A rule that does not depend on hints allows every version.
            Policy::Allow if !decision.asks_if_possible && decision.hints == HintEffect::None => {
                return Ok(GateDecision::Pass(GatePass::FREE));
            }
            Policy::Allow => !decision.asks_if_possible,
            Policy::Ask => false,
        };
        let former = match self.approvals.find(request, version).await {
            PriorApproval::NextRound => {
                return Ok(GateDecision::Pass(GatePass::approved(version, true)));
            }
            PriorApproval::Granted => {
                return Ok(GateDecision::Pass(GatePass::approved(version, false)));
            }
            PriorApproval::Changed(grant) => Some(grant),
            PriorApproval::None => None,
        };
        let can_ask = self.approvals.can_ask(request);
        let by_hints = GatePass::by_hints(decision.hints, can_ask);
        if former.is_none() && (never_asks || (decision.asks_if_possible && !can_ask)) {
            return Ok(GateDecision::Pass(by_hints));
        }
        let otherwise = (decision.asks_if_possible && former.is_none()).then_some(by_hints);
        Ok(GateDecision::Ask { former, otherwise })
    }

    /// Applies the outcome of an approval request: stores a grant, or refuses the call.
    async fn apply_outcome(
        &self,
        request: &CallRequest,
        subject: &GateSubject<'_>,
        is_changed: bool,
        outcome: ApprovalOutcome,
    ) -> ToolResult<GatePass> {
        let version = &subject.version;
        let refuse = |reason: Reason, why: &str| Err(refusal(subject, reason, why));
        let (decision, by) = match outcome {
            ApprovalOutcome::Decided { decision, by } => (decision, by),
            ApprovalOutcome::Unavailable if is_changed => {
                let why = "changed since it was granted, and there is no way to ask for a new approval here";
                return refuse(Reason::ToolChanged, why);
            }
            ApprovalOutcome::Unavailable => {
                let why = "was not run: it needs the user's confirmation, and there is no way to ask for it here";
                return refuse(Reason::PolicyDenied, why);
            }
            ApprovalOutcome::Dismissed => {
                let why = "was not run: it needs the user's confirmation, and this client dismissed the prompt \
                           without a response";
                return refuse(Reason::ApprovalUnanswered, why);
            }
            ApprovalOutcome::TimedOut => {
                let why = "was not run: it needs the user's confirmation, and no response arrived in time";
                return refuse(Reason::ApprovalTimeout, why);
            }
        };
        match decision {
            ApprovalDecision::Refuse => {
                let why = format!("was not run: {by} refused it");
                return refuse(Reason::ApprovalRefused, &why);
            }
            ApprovalDecision::Session if request.is_lasting => {
                self.approvals.grant_session(&request.session, version);
            }
            ApprovalDecision::Always => {
                let grant = Grant {
                    version: version.clone(),
                    exposed: subject.exposed.to_owned(),
                    definition: subject.definition.to_owned(),
                    at: self.clock.now(),
                    by,
                };
                self.approvals.store_grant(grant).await;
            }
            ApprovalDecision::Once | ApprovalDecision::Session => {}
        }
        Ok(GatePass::approved(
            version,
            decision == ApprovalDecision::Once,
        ))
    }

    /// Explains the deciding rule.
    pub(crate) fn decision(&self, view: &ToolView<'_>) -> PolicyDecision {
        match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => decide(PolicySubject::of_server(&entry.spec, tool)),
            _ => {
                let rules = self.catalog.rules();
                decide(PolicySubject::of_host(view.exposed().as_str(), &rules))
            }
        }
    }
}

/// What an approval request shows and stores.
fn context_of(
    request: &CallRequest,
    subject: &GateSubject<'_>,
    former: Option<&Grant>,
) -> ApprovalContext {
    let changed = former.map(|former| {
        let fields = changed_fields(&former.definition, subject.definition);
        match fields.is_empty() {
            true => vec!["definition".to_owned()],
            false => fields,
        }
    });
    ApprovalContext {
        session: request.session.clone(),
        client: request.client.as_deref().map(str::to_owned),
        tool: subject.exposed.to_owned(),
        version: subject.version.clone(),
        definition: subject.definition.to_owned(),
        arguments: request.arguments.get().to_owned(),
        rule: subject.decision.rule.clone(),
        changed: changed.unwrap_or_default(),
        offers_session: request.is_lasting,
        in_inbox: subject.decision.policy == Policy::Ask || former.is_some(),
    }
}

/// The version of a tool that an approval covers.
pub(crate) fn version_of(view: &ToolView<'_>) -> ToolVersion {
    match (view.entry(), view.tool()) {
        (Some(entry), Some(tool)) => ToolVersion {
            server: Some(entry.spec.name.clone()),
            config: entry.spec.hash,
            tool: tool.name.clone(),
            fingerprint: tool.fingerprint,
        },
        _ => ToolVersion {
            server: None,
            config: ConfigHash([0; 32]),
            tool: view.exposed().to_string(),
            fingerprint: fingerprint(view.definition()).unwrap_or(Fingerprint([0; 32])),
        },
    }
}

/// A refusal with the rule and the place where it is defined.
fn refusal(subject: &GateSubject<'_>, reason: Reason, why: &str) -> ToolError {
    let decision = &subject.decision;
    let message = format!("tool `{}` {why} ({})", subject.exposed, decision.rule);
    let error = refused(
        subject.exposed,
        subject.version.server.as_ref(),
        reason,
        message,
    );
    let Some(place) = decision.origin.as_ref().and_then(|origin| {
        let file = origin.file.as_ref()?.display().to_string();
        let file = pegboard_model::UntrustedText::new(&file).to_string();
        Some(match origin.line {
            Some(line) => format!("{file}:{line}"),
            None => file,
        })
    }) else {
        return error;
    };
    let remedy = format!("{} The rule is in `{place}`.", error.remedy);
    error.with_remedy(remedy)
}

/// An error about a tool of a server or of the host program.
pub(crate) fn refused(
    exposed: &str,
    server: Option<&ServerName>,
    reason: Reason,
    message: String,
) -> ToolError {
    let error = ToolError::new(reason, message).at_tool(exposed);
    match server {
        Some(server) => error.at_server(server),
        None => error,
    }
}

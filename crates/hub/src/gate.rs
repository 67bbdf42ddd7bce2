//! The policy gate that every call of a tool passes, whoever brings the tool and whoever calls.
//!
//! A tool whose policy is `allow` passes without a look at anything else. Where a person has to agree, the
//! consent is for one version of the tool: it is checked again when the call is sent, because a person may take
//! long and the tool change meanwhile.

use std::sync::Arc;

use pegboard_catalog::{Catalog, ToolView, changed_fields};
use pegboard_guard::{PolicyDecision, PolicySubject, decide, fingerprint, policy_of};
use pegboard_model::{
    ConfigHash, ConsentDecision, Fingerprint, Grant, Outcome, Policy, PolicyFacts, Reason,
    ToolError, ToolResult, ToolVersion, TraceId,
};
use tokio::time::Instant;

use crate::asking::{Question, Said};
use crate::call::CallRequest;
use crate::hub::Inner;
use crate::refresh::may_start;
use crate::trail::Trail;

/// A call that may go on.
pub(crate) struct Pass(Option<Agreed>);

/// What a person agreed to.
struct Agreed {
    version: ToolVersion,
    exposed: String,
    is_once: bool,
}

impl Pass {
    const FREE: Self = Self(None);

    /// The version that was agreed to for this call alone.
    pub(crate) fn agreed_once(&self) -> Option<&ToolVersion> {
        let agreed = self.0.as_ref().filter(|agreed| agreed.is_once);
        agreed.map(|agreed| &agreed.version)
    }
}

impl Inner {
    /// Lets a call pass, or says which rule does not.
    pub(crate) async fn gate(
        self: &Arc<Self>,
        request: &CallRequest,
        view: &ToolView<'_>,
        trace: &Trail,
    ) -> ToolResult<Pass> {
        let is_free = view.policy() == Policy::Allow && !view.asks_if_possible();
        if is_free && !self.recorder.is_tracing() {
            return Ok(Pass::FREE);
        }
        // What few calls need should not make the others larger.
        Box::pin(self.gate_and_tell(request, view, trace)).await
    }

    async fn gate_and_tell(
        self: &Arc<Self>,
        request: &CallRequest,
        view: &ToolView<'_>,
        trace: &Trail,
    ) -> ToolResult<Pass> {
        let (span, started) = (self.begin(trace, "policy"), Instant::now());
        let decision = self.decision(view);
        let result = self.gate_closely(request, view, &decision, trace).await;
        let facts = PolicyFacts {
            tool: view.exposed().as_str(),
            decision: decision.policy.as_str(),
            rule: &decision.rule,
            outcome: Outcome::of(&result),
            took: started.elapsed(),
        };
        self.recorder.policy(span.as_ref(), &facts);
        result
    }

    async fn gate_closely(
        self: &Arc<Self>,
        request: &CallRequest,
        view: &ToolView<'_>,
        decision: &PolicyDecision,
        trace: &TraceId,
    ) -> ToolResult<Pass> {
        let refuse = |reason: Reason, why: &str| Err(refusal(view, decision, reason, why));
        match decision.policy {
            Policy::Deny => return refuse(Reason::PolicyDenied, "may not be called"),
            Policy::Disable => return refuse(Reason::ToolDisabled, "is disabled"),
            Policy::Allow if !decision.asks_if_possible => return Ok(Pass::FREE),
            Policy::Allow | Policy::Ask => {}
        }
        let version = version_of(view);
        let agreed = |is_once| {
            let agreed = Agreed {
                version: version.clone(),
                exposed: view.exposed().to_string(),
                is_once,
            };
            Ok(Pass(Some(agreed)))
        };
        if self.consents.goes_on(request, &version) {
            return agreed(true);
        }
        if self.consents.covers(&request.session, &version) {
            return agreed(false);
        }
        let grants = self
            .ledger
            .grants_of(version.server.as_ref(), &version.tool);
        // A ledger that cannot be read holds no consent.
        let grants = grants.await.unwrap_or_default();
        if grants.iter().any(|grant| grant.version == version) {
            return agreed(false);
        }
        let former = grants
            .into_iter()
            .find(|grant| grant.version.config == version.config);
        let may_go_on_unasked = decision.asks_if_possible && former.is_none();
        if may_go_on_unasked && !self.can_ask(request) {
            return Ok(Pass::FREE);
        }
        let question = self.question(request, view, decision, &version, former.as_ref());
        let is_lasting = request.is_lasting;
        let (decided, by) = match self.ask(request, question, trace).await? {
            Said::Decided { decision, by } => (decision, by),
            Said::Nobody if may_go_on_unasked => return Ok(Pass::FREE),
            Said::Nobody => {
                let why = "needs a person's consent and nobody could be asked";
                return refuse(Reason::PolicyDenied, why);
            }
            Said::TooLate => {
                let why = "needs a person's consent and nobody answered in time";
                return refuse(Reason::ApprovalTimeout, why);
            }
        };
        match decided {
            ConsentDecision::Refuse => {
                let why = format!("was refused by {by}");
                return refuse(Reason::ApprovalRefused, &why);
            }
            ConsentDecision::Session if is_lasting => {
                self.consents.keep(&request.session, &version);
            }
            ConsentDecision::Always => {
                let grant = Grant {
                    version: version.clone(),
                    exposed: view.exposed().to_string(),
                    definition: view.definition().to_owned(),
                    at: self.clock.now(),
                    by,
                };
                // This call was agreed to in any case.
                if let Err(error) = self.ledger.keep_grant(grant).await {
                    tracing::warn!(target: "pegboard", %error, "a consent could not be kept");
                }
            }
            ConsentDecision::Once | ConsentDecision::Session => {}
        }
        let pass = agreed(decided == ConsentDecision::Once)?;
        self.still_agreed(&pass)?;
        Ok(pass)
    }

    /// The deciding rule, in words.
    pub(crate) fn decision(&self, view: &ToolView<'_>) -> PolicyDecision {
        match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => decide(PolicySubject::of_server(&entry.spec, tool)),
            _ => {
                let rules = self.rules.load();
                decide(PolicySubject::of_host(view.exposed().as_str(), &rules))
            }
        }
    }

    fn question(
        &self,
        request: &CallRequest,
        view: &ToolView<'_>,
        decision: &PolicyDecision,
        version: &ToolVersion,
        former: Option<&Grant>,
    ) -> Question {
        let changed = former.map(|former| {
            let fields = changed_fields(&former.definition, view.definition());
            match fields.is_empty() {
                true => vec!["definition".to_owned()],
                false => fields,
            }
        });
        Question {
            session: request.session.clone(),
            client: request.client.as_deref().map(str::to_owned),
            tool: view.exposed().to_string(),
            version: version.clone(),
            definition: view.definition().to_owned(),
            arguments: request.arguments.get().to_owned(),
            rule: decision.rule.clone(),
            changed: changed.unwrap_or_default(),
            offers_session: request.is_lasting,
            in_inbox: decision.policy == Policy::Ask || former.is_some(),
        }
    }

    /// Whether what was agreed to is what would be called now.
    pub(crate) fn still_agreed(&self, pass: &Pass) -> ToolResult<()> {
        let Some(agreed) = &pass.0 else {
            return Ok(());
        };
        let refuse = |reason: Reason, why: &str| {
            let message = format!("tool `{}` {why}", agreed.exposed);
            let error = ToolError::new(reason, message).at_tool(agreed.exposed.as_str());
            Err(match &agreed.version.server {
                Some(server) => error.at_server(server),
                None => error,
            })
        };
        match present(&self.catalog.load(), agreed) {
            Present::Same => Ok(()),
            Present::Changed => refuse(
                Reason::ToolChanged,
                "is not what it was when somebody agreed to this call",
            ),
            Present::Forbidden => refuse(Reason::PolicyDenied, "was taken away meanwhile"),
        }
    }
}

enum Present {
    Same,
    Changed,
    Forbidden,
}

/// What became of a tool since somebody agreed to it.
fn present(catalog: &Catalog, agreed: &Agreed) -> Present {
    let version = &agreed.version;
    let Some(server) = &version.server else {
        let tool = catalog.static_tool(&agreed.exposed);
        let Some(tool) = tool.filter(|tool| !matches!(tool.policy, Policy::Deny | Policy::Disable))
        else {
            return Present::Forbidden;
        };
        return match fingerprint(&tool.definition) == Some(version.fingerprint) {
            true => Present::Same,
            false => Present::Changed,
        };
    };
    let Some(entry) = catalog.server(server) else {
        return Present::Forbidden;
    };
    if entry.spec.hash != version.config {
        return Present::Changed;
    }
    if may_start(&entry.spec).is_err() {
        return Present::Forbidden;
    }
    let mut tools = entry.record.tools.iter();
    match tools.find(|tool| tool.name == version.tool) {
        Some(tool) if tool.fingerprint == version.fingerprint => {
            let policy = policy_of(PolicySubject::of_server(&entry.spec, tool)).policy;
            match policy {
                Policy::Deny | Policy::Disable => Present::Forbidden,
                Policy::Allow | Policy::Ask => Present::Same,
            }
        }
        _ => Present::Changed,
    }
}

/// The version of a tool that a consent is for.
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

/// A refusal that names the rule, its place and who could change it.
fn refusal(view: &ToolView<'_>, decision: &PolicyDecision, reason: Reason, why: &str) -> ToolError {
    let exposed = view.exposed().as_str();
    let message = format!("tool `{exposed}` {why} ({})", decision.rule);
    let error = ToolError::new(reason, message).at_tool(exposed);
    let error = match view.server() {
        Some(server) => error.at_server(server),
        None => error,
    };
    let Some(place) = decision.origin.as_ref().and_then(|origin| {
        let file = origin.file.as_ref()?.display().to_string();
        let file = pegboard_model::Foreign::new(&file).to_string();
        Some(match origin.line {
            Some(line) => format!("{file}:{line}"),
            None => file,
        })
    }) else {
        return error;
    };
    let remedy = format!(
        "{} Whoever may change `{place}` can change the rule.",
        error.remedy
    );
    error.with_remedy(remedy)
}

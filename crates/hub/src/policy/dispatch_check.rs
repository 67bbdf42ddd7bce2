//! The last check before a request is sent: is the tool still the one that a rule or a person allowed?
//!
//! Between the gate's decision and this moment an approval may have taken minutes, the server may have been started,
//! the configuration may have been reloaded, and another process may have stored a newer list. A server can still
//! change a tool between its list and the call; only the server itself could prevent that.

use std::sync::Arc;

use pegboard_catalog::ServerEntry;
use pegboard_guard::{PolicySubject, effective_policy, fingerprint};
use pegboard_model::{Policy, Reason, ReviewKind, ServerSpec, Tool, ToolResult};

use super::gate::{GatePass, RequiredFreshness, refused};
use crate::calls::CallRequest;
use crate::discovery::Backoff;
use crate::discovery::{may_start, shutting_down};
use crate::hub::Inner;
use crate::telemetry::TraceScope;

impl Inner {
    /// Refuses a call if the tool, its server or its rules changed since the gate allowed it.
    pub(crate) async fn check_dispatch(
        self: &Arc<Self>,
        request: &CallRequest,
        pass: &GatePass,
        entry: &Arc<ServerEntry>,
        tool: &Tool,
        trace: &TraceScope,
    ) -> ToolResult<()> {
        if pass.check != RequiredFreshness::Known {
            self.renew(&entry.spec, pass.check, trace).await?;
        }
        let refuse = |reason: Reason, why: &str| {
            let exposed = tool.exposed.as_str();
            let message = format!("tool `{exposed}` {why}");
            Err(refused(exposed, Some(&entry.spec.name), reason, message))
        };
        let catalog = self.catalog.load_full();
        let Some(present) = catalog.server(&entry.spec.name) else {
            return refuse(Reason::PolicyDenied, "is no longer available");
        };
        if Arc::ptr_eq(present, entry) {
            return Ok(());
        }
        may_start(&present.spec).map_err(|error| error.at_tool(tool.exposed.as_str()))?;
        if present.spec.hash != entry.spec.hash {
            let why = "belongs to a server whose definition has changed since";
            return refuse(Reason::ToolChanged, why);
        }
        let mut tools = present.record.tools.iter();
        let Some(now) = tools.find(|now| now.name == tool.name) else {
            return refuse(Reason::ToolChanged, "is no longer in its server's list");
        };
        if present.reviews().holds(ReviewKind::Tool, &tool.name) {
            return refuse(Reason::ReviewPending, "awaits review");
        }
        if request.read_only && !now.annotations.claims_read_only() {
            return refuse(Reason::ToolNotReadOnly, "is no longer marked read-only");
        }
        let is_same = now.fingerprint == tool.fingerprint;
        if pass.approved.is_some() && !is_same {
            let why = "has changed since it was approved";
            return refuse(Reason::ToolChanged, why);
        }
        let ruling = effective_policy(PolicySubject::of_server(&present.spec, now));
        match ruling.policy {
            Policy::Deny | Policy::Disable => {
                refuse(Reason::PolicyDenied, "is now forbidden by a policy")
            }
            Policy::Ask if pass.approved.is_none() => {
                refuse(Reason::ToolChanged, "changed, and now needs an approval")
            }
            Policy::Allow if ruling.asks_if_possible && pass.approved.is_none() && !is_same => {
                match self.approvals.can_ask(request) {
                    true => refuse(Reason::ToolChanged, "changed, and now asks for an approval"),
                    false => Ok(()),
                }
            }
            Policy::Allow | Policy::Ask => Ok(()),
        }
    }

    /// Like [`Self::check_dispatch`], for a tool of the host program.
    pub(crate) fn check_static(&self, pass: &GatePass, exposed: &str) -> ToolResult<()> {
        let refuse = |reason: Reason, why: &str| {
            let message = format!("tool `{exposed}` {why}");
            Err(refused(exposed, None, reason, message))
        };
        let catalog = self.catalog.load();
        let tool = catalog.static_tool(exposed);
        let Some(tool) = tool.filter(|tool| !matches!(tool.policy, Policy::Deny | Policy::Disable))
        else {
            return refuse(Reason::PolicyDenied, "is no longer available");
        };
        match &pass.approved {
            Some(approved)
                if fingerprint(&tool.definition) != Some(approved.version.fingerprint) =>
            {
                let why = "has changed since it was approved";
                refuse(Reason::ToolChanged, why)
            }
            None if tool.policy == Policy::Ask => {
                refuse(Reason::ToolChanged, "now needs an approval")
            }
            _ => Ok(()),
        }
    }

    /// Brings the known list of a server up to date: with the record that another process stored, and with the
    /// server's own list if the known one is stale.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        spec: &Arc<ServerSpec>,
        check: RequiredFreshness,
        trace: &TraceScope,
    ) -> ToolResult<()> {
        if check == RequiredFreshness::Current {
            self.publish_stored(spec, trace).await;
        }
        let catalog = self.catalog.load_full();
        let is_stale = catalog
            .server(&spec.name)
            .is_none_or(|present| match check {
                RequiredFreshness::Current => !self.is_within_ttl(present),
                RequiredFreshness::Known | RequiredFreshness::Renewed => !self.is_fresh(present),
            });
        if !is_stale {
            return Ok(());
        }
        // A discovery in progress may have read the list before the moment that matters here.
        self.discovery.wait(spec).await;
        let renewed = self
            .discover_once(spec.clone(), trace, Backoff::Ignore)
            .await;
        match (check, renewed) {
            (RequiredFreshness::Current, Some(outcome)) => {
                outcome.result.as_ref().map(drop).map_err(Clone::clone)
            }
            (RequiredFreshness::Current, None) => Err(shutting_down()),
            // Only the decision whether to ask depends on it.
            _ => Ok(()),
        }
    }

    /// Publishes the record that another process stored, if it is newer.
    async fn publish_stored(&self, spec: &ServerSpec, trace: &TraceScope) {
        let known = self.known_record(spec).attempted_at;
        let stored = self.store.load_newer(&spec.name, &spec.hash, known).await;
        // If it cannot be read, the server's own list decides.
        if let Ok(Some(record)) = stored {
            self.publish(trace, Arc::new(record), false);
        }
    }
}

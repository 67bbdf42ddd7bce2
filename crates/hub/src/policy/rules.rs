//! The global policy rules, and explanations of a tool's policy.

use std::sync::Arc;

use pegboard_guard::{PolicyExplanation, PolicySubject, explain_decision};
use pegboard_model::{GlobalRules, ToolResult};

use crate::approvals::ApprovalSettings;
use crate::hub::Hub;
use crate::telemetry::new_trace;

impl Hub {
    /// Replaces the global policy rules. Server specs refer to them, too: call this before [`Hub::apply`] with the
    /// servers of the same configuration.
    pub fn set_rules(&self, rules: Arc<GlobalRules>) {
        if self.inner.catalog.set_rules(rules) {
            self.inner.emit_registry_updated(&new_trace());
        }
    }

    /// Replaces the approval settings.
    pub fn set_approval_settings(&self, settings: ApprovalSettings) {
        self.inner.approvals.set_settings(settings);
    }

    /// Returns the global policy rules.
    pub fn rules(&self) -> Arc<GlobalRules> {
        self.inner.catalog.rules()
    }

    /// Explains the policy of a tool: the deciding rule, and why the others lost. Disabled tools are included.
    ///
    /// # Errors
    /// Fails if the name does not identify a tool.
    pub fn explain_policy(&self, written: &str) -> ToolResult<(String, PolicyExplanation)> {
        let catalog = self.catalog();
        let written = written.trim();
        let known = catalog.all_tools().find(|view| {
            let server = view
                .server()
                .map(|server| format!("{server}/{}", view.name()));
            view.exposed().as_str() == written || server.as_deref() == Some(written)
        });
        let view = match known {
            Some(view) => view,
            None => catalog.find(written)?,
        };
        let exposed = view.exposed().to_string();
        let weighed = match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => {
                explain_decision(PolicySubject::of_server(&entry.spec, tool))
            }
            _ => {
                let rules = self.inner.catalog.rules();
                explain_decision(PolicySubject::of_host(&exposed, &rules))
            }
        };
        Ok((exposed, weighed))
    }
}

//! The rules for all tools, and what they say of one.

use std::sync::Arc;

use pegboard_guard::{PolicyExplanation, PolicySubject, explain_decision};
use pegboard_model::{GlobalRules, ToolResult};

use crate::approvals::ApprovalSettings;
use crate::hub::Hub;
use crate::telemetry::new_trace;

impl Hub {
    /// Takes over the rules for all tools. Servers carry them too: call it before [`Hub::apply`] gives the
    /// servers of the same configuration.
    pub fn set_rules(&self, rules: Arc<GlobalRules>) {
        if self.inner.catalog.set_rules(rules) {
            self.inner.emit_registry_updated(&new_trace());
        }
    }

    /// How people are asked about calls from now on.
    pub fn set_approval_settings(&self, settings: ApprovalSettings) {
        self.inner.approvals.set_settings(settings);
    }

    /// The rules for all tools.
    pub fn rules(&self) -> Arc<GlobalRules> {
        self.inner.catalog.rules()
    }

    /// What holds for a tool, which rule decides, and why the others lost. Disabled tools are found too.
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

//! The full description of one tool.

use std::borrow::Cow;

use pegboard_guard::signature_of;
use pegboard_model::{
    Annotations, DiscoveryStatus, ErrorSummary, Policy, ServerName, Timestamp, ToolExample,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::example::generate_example;
use crate::parameters::{Parameter, parameters};
use crate::related::related_tools;
use crate::view::ToolView;

/// Everything needed to understand and call a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The name that models see.
    pub name: String,
    /// The server that provides the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// The tool's name on its server.
    pub tool: String,
    /// The title that the server gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The full description.
    pub description: String,
    /// The summary in one line.
    pub summary: String,
    /// The category.
    pub category: String,
    /// Whether the tool is offered.
    pub enabled: bool,
    /// The deprecation message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// A warning to show with the tool, for example that its name looks like another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Example calls: the user's, else one generated from the schema and validated against it.
    pub examples: Vec<ToolExample>,
    /// Exposed names of tools that operate on the same things.
    pub related: Vec<String>,
    /// The parameters in one line.
    pub signature: String,
    /// The annotations that the server declared.
    pub annotations: Annotations,
    /// The policy that applies to calls.
    pub policy: Policy,
    /// The discovery status of the server.
    pub status: DiscoveryStatus,
    /// Whether the server's tool list is older than its TTL.
    pub stale: bool,
    /// The last refresh of the server's tool list, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_refresh: Option<FailedRefresh>,
    /// Estimated tokens of the definition.
    pub tokens: u32,
    /// The definition as the server sent it.
    pub definition: Box<RawValue>,
}

/// A failed refresh. The tools are those of the previous list.
#[derive(Clone, Debug, Serialize)]
pub struct FailedRefresh {
    /// When the tools were last received.
    pub discovered_at: Option<Timestamp>,
    /// When the refresh was attempted.
    pub attempted_at: Option<Timestamp>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorSummary>,
}

/// Describes one tool. Parses its definition.
pub fn describe(view: &ToolView<'_>) -> Description {
    let parts = serde_json::from_str::<pegboard_model::DefinitionParts<'_>>(view.definition()).ok();
    let title = parts.and_then(|parts| parts.title).map(Cow::into_owned);
    let schema = view.input_schema();
    let own = view.user_override().map(|own| own.examples.clone());
    let generate = || {
        let example = |arguments| ToolExample {
            description: None,
            arguments,
            expected_output: None,
        };
        generate_example(schema).map(example).into_iter().collect()
    };
    let examples = own.filter(|own| !own.is_empty()).unwrap_or_else(generate);
    Description {
        name: view.exposed().to_string(),
        server: view.server().cloned(),
        tool: view.name().to_owned(),
        title,
        description: view.description().into_owned(),
        summary: view.summary().to_owned(),
        category: view.category().to_owned(),
        enabled: view.enabled(),
        deprecated: view.deprecated().map(str::to_owned),
        note: view.note().map(str::to_owned),
        parameters: parameters(schema),
        examples,
        related: related_tools(view),
        signature: signature_of(view.name(), schema),
        annotations: view.annotations(),
        policy: view.policy(),
        status: view.status(),
        stale: view.stale(),
        failed_refresh: failed_refresh(view),
        tokens: view.tokens(),
        definition: RawValue::from_string(view.definition().to_owned()).unwrap_or_default(),
    }
}

fn failed_refresh(view: &ToolView<'_>) -> Option<FailedRefresh> {
    let entry = view.entry().filter(|entry| entry.refresh_failed())?;
    let record = &entry.record;
    Some(FailedRefresh {
        discovered_at: record.discovered_at,
        attempted_at: record.attempted_at,
        error: record.last_error.clone(),
    })
}

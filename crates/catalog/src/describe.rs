//! Everything about one tool.

use pegboard_guard::signature_of;
use pegboard_model::{
    Annotations, DiscoveryStatus, ErrorSummary, Policy, ServerName, Timestamp, ToolExample,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::example::generate_example;
use crate::parameters::{Parameter, parameters};
use crate::related::related;
use crate::view::ToolView;

/// A tool as somebody reads it who is about to call it.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The name that models see.
    pub name: String,
    /// The server that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// The server's own name for it.
    pub tool: String,
    /// The server's title for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The full description.
    pub description: String,
    /// One line.
    pub summary: String,
    /// The category.
    pub category: String,
    /// Whether it is offered.
    pub enabled: bool,
    /// Why it should no longer be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// What a reader should know before choosing it, for example that its name looks like another one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its arguments.
    pub parameters: Vec<Parameter>,
    /// Examples of calls: the user's, else one that was made from the schema and fits it.
    pub examples: Vec<ToolExample>,
    /// Tools that work on the same things.
    pub related: Vec<String>,
    /// Its arguments in one line.
    pub signature: String,
    /// The server's hints.
    pub annotations: Annotations,
    /// What may be done with it.
    pub policy: Policy,
    /// How the discovery of its server stands.
    pub status: DiscoveryStatus,
    /// Whether its server's list is older than it should be.
    pub stale: bool,
    /// The last try to refresh its server's list, if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_refresh: Option<FailedRefresh>,
    /// About how many tokens the definition costs.
    pub tokens: u32,
    /// The definition as its server wrote it.
    pub definition: Box<RawValue>,
}

/// A try to refresh a server's list that failed; the tools are those of the list before.
#[derive(Clone, Debug, Serialize)]
pub struct FailedRefresh {
    /// When the tools were last received.
    pub discovered_at: Option<Timestamp>,
    /// When the try was made.
    pub attempted_at: Option<Timestamp>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorSummary>,
}

/// Looks closely at one tool. This is the only view that parses a definition.
pub fn describe(view: &ToolView<'_>) -> Description {
    let parts = serde_json::from_str::<pegboard_model::DefinitionParts<'_>>(view.definition()).ok();
    let schema = parts
        .as_ref()
        .and_then(|parts| parts.input_schema)
        .map(RawValue::get);
    let schema = schema
        .filter(|schema| *schema != "null")
        .unwrap_or(r#"{"type":"object"}"#);
    let title = parts
        .as_ref()
        .and_then(|parts| parts.title.as_deref())
        .map(str::to_owned);
    let chosen = view
        .user_override()
        .map(|user| user.examples.clone())
        .unwrap_or_default();
    let examples = if chosen.is_empty() {
        let made = generate_example(schema);
        made.map(|arguments| ToolExample {
            description: None,
            arguments,
            expected_output: None,
        })
        .into_iter()
        .collect()
    } else {
        chosen
    };
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
        related: related(view),
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

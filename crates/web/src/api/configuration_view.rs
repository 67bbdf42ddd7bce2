//! Configurations in the shape that configuration screens of other programs expect.

use pegboard_catalog::ToolView;
use pegboard_model::{DiscoveryStatus, Policy, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::tool_list::ToolType;

/// A configuration with its tools.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigurationView {
    /// The mode of the session's profile: `lazy`, `direct` or `both`; absent for a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<&'static str>,
    /// The tools of this page, in the same order as the list beside this member.
    pub(super) available_tools: Vec<AvailableTool>,
}

/// A tool as a configuration screen shows it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AvailableTool {
    /// `server/tool` for a tool of a server, and the plain name for a tool of the host program.
    #[schema(example = "github/create_issue")]
    name: String,
    /// The description; untrusted text.
    description: String,
    /// The origin.
    r#type: ToolType,
    /// The policy: `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "allow")]
    configured_policy: Policy,
    /// The discovery status of its server: `never`, `discovering`, `success` or `failed`.
    #[schema(value_type = String, example = "success")]
    discovery_status: DiscoveryStatus,
    /// When its server's tools were last received, in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-16T09:12:44.391Z")]
    last_discovered: Option<String>,
}

impl AvailableTool {
    pub(super) fn of(view: &ToolView<'_>) -> Self {
        let discovered = view.entry().and_then(|entry| entry.record.discovered_at);
        Self {
            name: match view.server() {
                Some(server) => format!("{server}/{}", view.name()),
                None => view.name().to_owned(),
            },
            description: view.description().into_owned(),
            r#type: ToolType::of(view),
            configured_policy: view.policy(),
            discovery_status: view.status(),
            last_discovered: discovered.and_then(iso_8601),
        }
    }
}

/// Formats a time as `2026-11-16T09:12:44.391Z`; `None` if it is out of range.
fn iso_8601(at: Timestamp) -> Option<String> {
    let ms = i64::try_from(at.0).ok()?;
    let at = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{at:.3}"))
}

//! Tools in lists, and paging.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::{DiscoveryStatus, Policy};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult};

/// Default page size.
const DEFAULT_PAGE_SIZE: usize = 200;
/// Largest page size.
const MAX_PAGE_SIZE: usize = 5_000;

/// The origin of a tool.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ToolType {
    /// A tool of the host program.
    Native,
    /// A tool of a server.
    Mcp,
}

impl ToolType {
    pub(super) fn of(view: &ToolView<'_>) -> Self {
        match view.server() {
            Some(_) => Self::Mcp,
            None => Self::Native,
        }
    }
}

/// A tool in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolSummary {
    /// The exposed name, for models and calls.
    #[schema(example = "github__create_issue")]
    name: String,
    /// The description; untrusted text.
    description: String,
    /// A summary of at most 80 characters; untrusted text.
    summary: String,
    /// The origin.
    r#type: ToolType,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The server's own name for it.
    tool: String,
    /// The category.
    category: String,
    /// The policy: `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "allow")]
    policy: Policy,
    /// Whether it asks if a person can be asked, although the policy is `allow`.
    asks_if_possible: bool,
    /// Whether it is offered.
    enabled: bool,
    /// The discovery status of its server: `never`, `discovering`, `success` or `failed`.
    #[schema(value_type = String, example = "success")]
    discovery_status: DiscoveryStatus,
    /// When its server's tools were last received, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_discovered: Option<u64>,
    /// Whether its server's list is stale.
    stale: bool,
    /// Estimated tokens of the definition.
    tokens: u32,
    /// The deprecation notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
    /// Its review state, if this version was not accepted with its server: `new`, `approved`, `changed` or `flagged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<String>,
    /// Whether it awaits a review, so that models do not get it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held: bool,
    /// A warning, for example that its name looks like another tool's of the same server.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl ToolSummary {
    pub(super) fn of(view: &ToolView<'_>) -> Self {
        let server = view.server().map(ToString::to_string);
        let discovered = view.entry().and_then(|entry| entry.record.discovered_at);
        Self {
            name: view.exposed().to_string(),
            description: view.description().into_owned(),
            summary: view.summary().to_owned(),
            r#type: ToolType::of(view),
            server,
            tool: view.name().to_owned(),
            category: view.category().to_owned(),
            policy: view.policy(),
            asks_if_possible: view.asks_if_possible(),
            enabled: view.enabled(),
            discovery_status: view.status(),
            last_discovered: discovered.map(|at| at.0),
            stale: view.stale(),
            tokens: view.tokens(),
            deprecated: view.deprecated().map(str::to_owned),
            review: view
                .review()
                .map(|review| review.state().as_str().to_owned()),
            held: view.is_held(),
            note: view.note().map(str::to_owned),
        }
    }
}

/// Selects a page of a list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Maximum number of tools; 200 by default.
    #[param(minimum = 1, maximum = 5000)]
    pub(super) limit: Option<usize>,
    /// `nextCursor` of the previous page.
    pub(super) cursor: Option<String>,
}

/// A page of tools.
pub(super) struct Page<T = ToolSummary> {
    pub(super) tools: Vec<T>,
    pub(super) next: Option<String>,
    pub(super) total: usize,
}

impl PageQuery {
    /// The page of the tools that match a filter. Only tools on the page are converted.
    pub(super) fn page(
        &self,
        catalog: &Catalog,
        filter: impl Fn(&ToolView<'_>) -> bool,
    ) -> ApiResult<Page> {
        self.page_of(catalog, filter, ToolSummary::of)
    }

    /// The same with a conversion for each tool.
    pub(super) fn page_of<T>(
        &self,
        catalog: &Catalog,
        filter: impl Fn(&ToolView<'_>) -> bool,
        form: impl Fn(&ToolView<'_>) -> T,
    ) -> ApiResult<Page<T>> {
        let limit = limit(self.limit, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)?;
        let after = self.cursor.as_deref().map(decode_cursor).transpose()?;
        let mut page = Page {
            tools: Vec::new(),
            next: None,
            total: 0,
        };
        let mut last = None;
        for view in catalog.all_tools().filter(filter) {
            page.total += 1;
            let name = view.exposed().as_str();
            if after.as_deref().is_some_and(|after| name <= after) {
                continue;
            }
            if page.tools.len() == limit {
                page.next = page.next.or_else(|| last.map(encode_cursor));
                continue;
            }
            last = Some(name);
            page.tools.push(form(&view));
        }
        Ok(page)
    }
}

/// Validates a limit.
pub(super) fn limit(requested: Option<usize>, default: usize, max: usize) -> ApiResult<usize> {
    match requested {
        None => Ok(default),
        Some(limit) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => {
            let message = format!("`limit` must be between 1 and {max}");
            Err(ApiError::at_field("limit", message))
        }
    }
}

fn encode_cursor(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

fn decode_cursor(cursor: &str) -> ApiResult<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let name = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| {
        ApiError::at_field(
            "cursor",
            "`cursor` must be a `nextCursor` of an earlier page",
        )
    })
}

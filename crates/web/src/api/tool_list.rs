//! Tools as lists show them, in pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::{DiscoveryStatus, Policy};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult};

/// Tools in a page when nothing is said.
const DEFAULT_PAGE_SIZE: usize = 200;
/// Tools in a page at the most.
const MAX_PAGE_SIZE: usize = 5_000;

/// Where a tool comes from.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ToolType {
    /// The host program has it.
    Native,
    /// A server has it.
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
    /// The name that models see and that calls use.
    #[schema(example = "github__create_issue")]
    name: String,
    /// What it does; foreign text.
    description: String,
    /// One line of at most 80 characters; foreign text.
    summary: String,
    /// Where it comes from.
    r#type: ToolType,
    /// The server that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The server's own name for it.
    tool: String,
    /// The category.
    category: String,
    /// What may be done with it: `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "allow")]
    policy: Policy,
    /// Whether a person is asked nevertheless when there is one.
    asks_if_possible: bool,
    /// Whether it is offered.
    enabled: bool,
    /// How the discovery of its server stands: `never`, `discovering`, `success` or `failed`.
    #[schema(value_type = String, example = "success")]
    discovery_status: DiscoveryStatus,
    /// When its server's tools were last received, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_discovered: Option<u64>,
    /// Whether its server's list is older than it should be.
    stale: bool,
    /// About how many tokens the definition costs.
    tokens: u32,
    /// Why it should no longer be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
    /// What a reader should know before choosing it, for example that its name looks like another one's of the same
    /// server.
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
            note: view.note().map(str::to_owned),
        }
    }
}

/// Which part of a list is wanted.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// How many tools at the most; 200 when left out.
    #[param(minimum = 1, maximum = 5000)]
    pub(super) limit: Option<usize>,
    /// `nextCursor` of the page before.
    pub(super) cursor: Option<String>,
}

/// A page of tools.
pub(super) struct Page<T = ToolSummary> {
    pub(super) tools: Vec<T>,
    pub(super) next: Option<String>,
    pub(super) total: usize,
}

impl PageQuery {
    /// The page of the tools that are wanted. Only tools on the page are looked at closely.
    pub(super) fn page(
        &self,
        catalog: &Catalog,
        is_wanted: impl Fn(&ToolView<'_>) -> bool,
    ) -> ApiResult<Page> {
        self.page_of(catalog, is_wanted, ToolSummary::of)
    }

    /// The same page with each tool in another form.
    pub(super) fn page_of<T>(
        &self,
        catalog: &Catalog,
        is_wanted: impl Fn(&ToolView<'_>) -> bool,
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
        for view in catalog.all_tools().filter(is_wanted) {
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

/// A limit within its bounds.
pub(super) fn limit(asked: Option<usize>, usual: usize, most: usize) -> ApiResult<usize> {
    match asked {
        None => Ok(usual),
        Some(limit) if (1..=most).contains(&limit) => Ok(limit),
        Some(_) => {
            let message = format!("`limit` is not between 1 and {most}");
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
    name.ok_or_else(|| ApiError::at_field("cursor", "`cursor` is none that a page gave"))
}

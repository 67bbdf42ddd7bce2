//! One server in the catalog: its configuration, its last discovery result, and data derived from both.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use pegboard_guard::{PolicySubject, effective_policy, shorten};
use pegboard_model::{
    DiscoveryStatus, EffectivePolicy, HttpWire, Policy, ServerName, ServerRecord, ServerSpec,
    SharingDecision, ToolOverride, Transport, TrustState,
};

use crate::look_alike::remarks;
use crate::search::SearchData;
use crate::sharing::decide_sharing;
use crate::topic::categories;
use crate::view::ToolView;

/// A server in the catalog.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// The server's configuration.
    pub spec: Arc<ServerSpec>,
    /// The result of the last discoveries.
    pub record: Arc<ServerRecord>,
    /// Whether a discovery is running.
    pub discovering: bool,
    /// Whether the tool list is older than its TTL. The owner of the catalog sets it, because the catalog has no
    /// clock.
    pub stale: bool,
    listed: Arc<[ListedTool]>,
    /// Positions in `listed`, sorted by the tools' names on the server; built on first use.
    by_name: Arc<OnceLock<Box<[usize]>>>,
    /// Remarks on look-alike names, by position in the record; built on first use.
    remarks: Arc<OnceLock<HashMap<usize, Box<str>>>>,
    /// Which clients share the server; decided on first use.
    sharing: Arc<OnceLock<SharingDecision>>,
    /// Data for searches in the server's tools.
    pub(crate) search_data: Arc<SearchData>,
}

/// Data derived from one tool's name and the configuration. Lists of these are sorted by exposed name.
#[derive(Debug)]
pub(crate) struct ListedTool {
    /// Position in the record.
    pub(crate) at: usize,
    pub(crate) effective: EffectivePolicy,
    pub(crate) category: Category,
    /// The user's summary, shortened.
    pub(crate) summary: Option<Box<str>>,
}

impl ListedTool {
    fn is_offered(&self) -> bool {
        self.effective.policy != Policy::Disable
    }
}

/// A tool's category. Categories derived from tool names are computed together on first use, because a
/// list of definitions does not need them.
#[derive(Debug)]
pub(crate) enum Category {
    Own(Box<str>),
    Derived {
        at: usize,
        among: Arc<DerivedCategories>,
    },
}

/// The derived categories of a server's tools, by position in the record.
#[derive(Debug)]
pub(crate) struct DerivedCategories {
    spec: Arc<ServerSpec>,
    record: Arc<ServerRecord>,
    computed: OnceLock<Vec<Arc<str>>>,
}

impl DerivedCategories {
    fn get(&self) -> &[Arc<str>] {
        self.computed.get_or_init(|| {
            let tools = &self.record.tools;
            match &self.spec.category {
                Some(category) => vec![Arc::from(category.as_str()); tools.len()],
                None => categories(
                    self.spec.name.as_str(),
                    tools.iter().map(|tool| tool.name.as_str()),
                ),
            }
        })
    }
}

impl Deref for Category {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Own(category) => category,
            // Every tool has a derived category; the server's name is the fallback.
            Self::Derived { at, among } => match among.get().get(*at) {
                Some(category) => category,
                None => among.spec.name.as_str(),
            },
        }
    }
}

impl ServerEntry {
    /// Creates an entry and its sorted listing. Parses no definition.
    pub fn new(spec: Arc<ServerSpec>, record: Arc<ServerRecord>) -> Self {
        let listed = list(&spec, &record).into();
        Self {
            spec,
            record,
            discovering: false,
            stale: false,
            listed,
            by_name: Arc::default(),
            remarks: Arc::default(),
            sharing: Arc::default(),
            search_data: Arc::default(),
        }
    }

    /// Returns the entry with `discovering` set.
    #[must_use]
    pub fn with_discovering(mut self, discovering: bool) -> Self {
        self.discovering = discovering;
        self
    }

    /// Returns whether the tools are known but the last refresh failed.
    pub fn refresh_failed(&self) -> bool {
        self.record.is_known() && self.record.status == DiscoveryStatus::Failed
    }

    /// Returns the entry with `stale` set.
    #[must_use]
    pub fn with_stale(mut self, stale: bool) -> Self {
        self.stale = stale;
        self
    }

    /// Returns the transport: `stdio`, `http`, or `sse` for the old HTTP+SSE transport, configured or detected.
    pub fn transport(&self) -> &'static str {
        let is_current = self.record.config == self.spec.hash;
        match &self.spec.transport {
            Transport::Http {
                wire: HttpWire::Sse,
                ..
            } => "sse",
            Transport::Http { .. } if is_current && self.record.learnt.old_sse => "sse",
            other => other.kind(),
        }
    }

    /// Returns which clients share one instance of the server.
    pub fn sharing(&self) -> &SharingDecision {
        let decide = || decide_sharing(&self.spec, &self.record);
        self.sharing.get_or_init(decide)
    }

    /// Returns the server's name.
    pub fn name(&self) -> &ServerName {
        &self.spec.name
    }

    /// Returns the discovery status.
    pub fn status(&self) -> DiscoveryStatus {
        if self.discovering {
            DiscoveryStatus::Discovering
        } else {
            self.record.status
        }
    }

    /// Returns whether the server's tools are offered: the server is enabled and trusted.
    pub fn is_offered(&self) -> bool {
        self.spec.enabled && self.spec.trust_state == TrustState::Granted
    }

    /// Returns whether the tools were never discovered, or were discovered with another configuration.
    pub fn needs_discovery(&self) -> bool {
        !self.record.is_known() || self.record.config != self.spec.hash
    }

    /// Returns the offered tools, sorted by exposed name.
    pub fn visible_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.all_tools().filter(ToolView::enabled)
    }

    /// Returns the number of offered tools.
    pub fn offered_count(&self) -> usize {
        match self.is_offered() {
            true => self.listed.iter().filter(|tool| tool.is_offered()).count(),
            false => 0,
        }
    }

    /// Returns all known tools, offered or not, sorted by exposed name.
    pub fn all_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.listed
            .iter()
            .enumerate()
            .filter_map(move |(position, listed)| self.view(position, listed))
    }

    /// Returns the tool with this name on the server, offered or not.
    pub(crate) fn named(self: &Arc<Self>, name: &str) -> Option<ToolView<'_>> {
        let by_name = self.by_name.get_or_init(|| {
            let mut positions: Box<[usize]> = (0..self.listed.len()).collect();
            positions.sort_by_key(|at| self.name_at(*at));
            positions
        });
        // The first of several equal names, in list order.
        let at = by_name.partition_point(|at| self.name_at(*at) < Some(name));
        let view = self.tool_listed(*by_name.get(at)?)?;
        (view.name() == name).then_some(view)
    }

    /// Returns the tool with this exposed name, offered or not.
    pub(crate) fn exposed_as(self: &Arc<Self>, exposed: &str) -> Option<ToolView<'_>> {
        let at = self
            .listed
            .binary_search_by(|listed| {
                let tool = self.record.tools.get(listed.at);
                tool.map(|tool| tool.exposed.as_str()).cmp(&Some(exposed))
            })
            .ok()?;
        self.tool_listed(at)
    }

    /// Returns the tool at a position of the listing.
    pub(crate) fn tool_listed(self: &Arc<Self>, at: usize) -> Option<ToolView<'_>> {
        self.view(at, self.listed.get(at)?)
    }

    /// Reuses the search data of an earlier entry if the searched texts are equal.
    pub(crate) fn reuse_search_data(&mut self, earlier: &Self) {
        if self.has_same_search_text(earlier) {
            self.search_data = earlier.search_data.clone();
        }
    }

    fn has_same_search_text(&self, other: &Self) -> bool {
        let is_same_tool = |(one, another): (&ListedTool, &ListedTool)| {
            let (one_tool, another_tool) = (
                self.record.tools.get(one.at),
                other.record.tools.get(another.at),
            );
            let same_text = one_tool.map(|tool| (&tool.exposed, tool.fingerprint))
                == another_tool.map(|tool| (&tool.exposed, tool.fingerprint));
            same_text && one.is_offered() == another.is_offered()
        };
        self.is_offered() == other.is_offered()
            && self.listed.len() == other.listed.len()
            && self.spec.description == other.spec.description
            && self.record.instructions == other.record.instructions
            && self.spec.tools == other.spec.tools
            && self
                .listed
                .iter()
                .zip(other.listed.iter())
                .all(is_same_tool)
    }

    fn view<'a>(
        self: &'a Arc<Self>,
        position: usize,
        listed: &'a ListedTool,
    ) -> Option<ToolView<'a>> {
        let tool = self.record.tools.get(listed.at)?;
        Some(ToolView::of_server(self, tool, listed, position))
    }

    fn name_at(&self, listed: usize) -> Option<&str> {
        let tool = self.record.tools.get(self.listed.get(listed)?.at)?;
        Some(&tool.name)
    }

    /// Returns the remark on a tool's name, by position in the record.
    pub(crate) fn remark(&self, at: usize) -> Option<&str> {
        let remarks = self.remarks.get_or_init(|| remarks(&self.record.tools));
        remarks.get(&at).map(|remark| &**remark)
    }

    /// Returns the user's overrides for a tool, by its name on the server.
    pub(crate) fn user_override(&self, tool: &str) -> Option<&ToolOverride> {
        if self.spec.tools.is_empty() {
            return None;
        }
        self.spec.tools.get(tool)
    }
}

fn list(spec: &Arc<ServerSpec>, record: &Arc<ServerRecord>) -> Vec<ListedTool> {
    let derived = Arc::new(DerivedCategories {
        spec: spec.clone(),
        record: record.clone(),
        computed: OnceLock::new(),
    });
    let mut listed: Vec<ListedTool> = record
        .tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            let own = spec.tools.get(&tool.name);
            let category = own.and_then(|own| own.category.as_deref());
            let summary = own.and_then(|own| own.summary.as_deref()).map(shorten);
            ListedTool {
                at,
                effective: effective_policy(PolicySubject::of_server(spec, tool)),
                category: match category {
                    Some(category) => Category::Own(category.into()),
                    None => Category::Derived {
                        at,
                        among: derived.clone(),
                    },
                },
                summary: summary
                    .filter(|line| !line.is_empty())
                    .map(String::into_boxed_str),
            }
        })
        .collect();
    let exposed = |listed: &ListedTool| record.tools.get(listed.at).map(|tool| &tool.exposed);
    if !listed.is_sorted_by_key(exposed) {
        listed.sort_by(|one, other| exposed(one).cmp(&exposed(other)));
    }
    listed
}

//! One server in the catalog: its definition, what it last said, and what follows from both.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use pegboard_guard::{PolicySubject, effective_policy, shorten};
use pegboard_model::{
    DiscoveryStatus, EffectivePolicy, Policy, ServerName, ServerRecord, ServerSpec, ToolOverride,
    TrustState,
};

use crate::look_alike::remarks;
use crate::search::SearchData;
use crate::topic::categories;
use crate::view::ToolView;

/// A server as the catalog knows it.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// Its definition.
    pub spec: Arc<ServerSpec>,
    /// What is known from its last discoveries.
    pub record: Arc<ServerRecord>,
    /// Whether it is being discovered now.
    pub discovering: bool,
    /// Whether its tools are older than they should be; set by whoever knows the time.
    pub stale: bool,
    listed: Arc<[ListedTool]>,
    /// Positions in `listed`, sorted by the server's own names; made at the first look for one.
    by_name: Arc<OnceLock<Box<[usize]>>>,
    /// Remarks on names that look alike, by position in the record; made at the first look for one.
    remarks: Arc<OnceLock<HashMap<usize, Box<str>>>>,
    /// What a search reads of the tools.
    pub(crate) search_data: Arc<SearchData>,
}

/// What follows for one tool from its name and the configuration. Sorted by exposed name.
#[derive(Debug)]
pub(crate) struct ListedTool {
    /// Its position in the record.
    pub(crate) at: usize,
    pub(crate) effective: EffectivePolicy,
    pub(crate) category: Category,
    /// The user's own summary, cut to length.
    pub(crate) summary: Option<Box<str>>,
}

impl ListedTool {
    fn is_offered(&self) -> bool {
        self.effective.policy != Policy::Disable
    }
}

/// A tool's category. Those that follow from the names of all tools of a server are made together, at the
/// first look at one of them: a list of definitions needs none.
#[derive(Debug)]
pub(crate) enum Category {
    Own(Box<str>),
    DerivedCategories {
        at: usize,
        among: Arc<DerivedCategories>,
    },
}

/// The categories of a server's tools, by position in the record.
#[derive(Debug)]
pub(crate) struct DerivedCategories {
    spec: Arc<ServerSpec>,
    record: Arc<ServerRecord>,
    made: OnceLock<Vec<Arc<str>>>,
}

impl DerivedCategories {
    fn made(&self) -> &[Arc<str>] {
        self.made.get_or_init(|| {
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
            // One is made for every tool; the server's name is the coarsest.
            Self::DerivedCategories { at, among } => match among.made().get(*at) {
                Some(category) => category,
                None => among.spec.name.as_str(),
            },
        }
    }
}

impl ServerEntry {
    /// An entry, with its listing made ready. No definition is parsed.
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
            search_data: Arc::default(),
        }
    }

    /// The same entry with another mark for a running discovery.
    #[must_use]
    pub fn with_discovering(mut self, discovering: bool) -> Self {
        self.discovering = discovering;
        self
    }

    /// Whether its tools are known and the last try to refresh them failed.
    pub fn refresh_failed(&self) -> bool {
        self.record.is_known() && self.record.status == DiscoveryStatus::Failed
    }

    /// The same entry with another mark for staleness.
    #[must_use]
    pub fn with_stale(mut self, stale: bool) -> Self {
        self.stale = stale;
        self
    }

    /// The server's name.
    pub fn name(&self) -> &ServerName {
        &self.spec.name
    }

    /// How its discovery stands.
    pub fn status(&self) -> DiscoveryStatus {
        if self.discovering {
            DiscoveryStatus::Discovering
        } else {
            self.record.status
        }
    }

    /// Whether its tools are offered at all: it is enabled, and a person agreed to it.
    pub fn is_offered(&self) -> bool {
        self.spec.enabled && self.spec.approval == TrustState::Granted
    }

    /// Whether its tools were never received, or were received with another definition.
    pub fn needs_discovery(&self) -> bool {
        !self.record.is_known() || self.record.config != self.spec.hash
    }

    /// The tools that are offered, sorted by exposed name.
    pub fn visible_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.all_tools().filter(ToolView::enabled)
    }

    /// How many tools are offered.
    pub fn offered_count(&self) -> usize {
        match self.is_offered() {
            true => self.listed.iter().filter(|tool| tool.is_offered()).count(),
            false => 0,
        }
    }

    /// Every tool that is known, offered or not, sorted by exposed name.
    pub fn all_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.listed
            .iter()
            .enumerate()
            .filter_map(move |(position, listed)| self.viewed(position, listed))
    }

    /// The tool that the server itself knows by this name, offered or not.
    pub(crate) fn named(self: &Arc<Self>, name: &str) -> Option<ToolView<'_>> {
        let by_name = self.by_name.get_or_init(|| {
            let mut positions: Box<[usize]> = (0..self.listed.len()).collect();
            positions.sort_by_key(|at| self.name_at(*at));
            positions
        });
        // The first of several, as a list would give it.
        let at = by_name.partition_point(|at| self.name_at(*at) < Some(name));
        let view = self.tool_listed(*by_name.get(at)?)?;
        (view.name() == name).then_some(view)
    }

    /// The tool that models know by this name, offered or not.
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

    /// The tool at a place of the listing.
    pub(crate) fn tool_listed(self: &Arc<Self>, at: usize) -> Option<ToolView<'_>> {
        self.viewed(at, self.listed.get(at)?)
    }

    /// Takes over what a search prepared for an earlier entry, if it would read the same of this one.
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

    fn viewed<'a>(
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

    /// What a reader should know about the name of a tool, by its position in the record.
    pub(crate) fn remark(&self, at: usize) -> Option<&str> {
        let remarks = self.remarks.get_or_init(|| remarks(&self.record.tools));
        remarks.get(&at).map(|remark| &**remark)
    }

    /// What the user says of one tool, by its own name.
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
        made: OnceLock::new(),
    });
    let mut listed: Vec<ListedTool> = record
        .tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            let words = spec.tools.get(&tool.name);
            let own = words.and_then(|words| words.category.as_deref());
            let summary = words
                .and_then(|words| words.summary.as_deref())
                .map(shorten);
            ListedTool {
                at,
                effective: effective_policy(PolicySubject::of_server(spec, tool)),
                category: match own {
                    Some(own) => Category::Own(own.into()),
                    None => Category::DerivedCategories {
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

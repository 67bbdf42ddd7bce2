//! One tool as readers see it, whoever brings it.

use std::borrow::Cow;
use std::sync::Arc;

use pegboard_guard::fallback_summary;
use pegboard_model::{
    Annotations, DiscoveryStatus, ExposedName, HintEffect, Policy, ServerName, Tool, ToolOverride,
};

use crate::entry::{ListedTool, ServerEntry};
use crate::resolved::ResolvedTool;
use crate::static_tool::StaticTool;

/// The message of a tool that its server calls deprecated.
const DEPRECATED_BY_SERVER: &str = "its server says that it should no longer be used";

/// A tool in a catalog, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub struct ToolView<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Server {
        entry: &'a Arc<ServerEntry>,
        tool: &'a Tool,
        listed: &'a ListedTool,
        /// Its position in the entry's listing.
        position: usize,
    },
    Static(&'a Arc<StaticTool>),
}

impl<'a> ToolView<'a> {
    pub(crate) fn of_server(
        entry: &'a Arc<ServerEntry>,
        tool: &'a Tool,
        listed: &'a ListedTool,
        position: usize,
    ) -> Self {
        Self(Source::Server {
            entry,
            tool,
            listed,
            position,
        })
    }

    pub(crate) fn of_host(tool: &'a Arc<StaticTool>) -> Self {
        Self(Source::Static(tool))
    }

    /// The name that models see.
    pub fn exposed(&self) -> &'a ExposedName {
        match self.0 {
            Source::Server { tool, .. } => &tool.exposed,
            Source::Static(tool) => &tool.name,
        }
    }

    /// The server that has it; `None` for a tool of the host program.
    pub fn server(&self) -> Option<&'a ServerName> {
        self.entry().map(|entry| entry.name())
    }

    /// The name by which its server knows it.
    pub fn name(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => &tool.name,
            Source::Static(tool) => tool.name.as_str(),
        }
    }

    /// One line of at most 80 characters.
    pub fn summary(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, listed, .. } => {
                listed.summary.as_deref().unwrap_or(&tool.summary)
            }
            Source::Static(tool) => &tool.summary,
        }
    }

    /// The category.
    pub fn category(&self) -> &'a str {
        match self.0 {
            Source::Server { listed, .. } => &listed.category,
            Source::Static(tool) => &tool.category,
        }
    }

    /// Whether it is offered: its server is, and no policy disables it.
    pub fn enabled(&self) -> bool {
        match self.0 {
            Source::Server { entry, listed, .. } => {
                entry.is_offered() && listed.effective.policy != Policy::Disable
            }
            Source::Static(tool) => tool.policy != Policy::Disable,
        }
    }

    /// Why it should no longer be used, when that is so.
    pub fn deprecated(&self) -> Option<&'a str> {
        match self.0 {
            Source::Server { tool, .. } => self
                .user_override()
                .and_then(|words| words.deprecated.as_deref())
                .or_else(|| tool.deprecated.then_some(DEPRECATED_BY_SERVER)),
            Source::Static(_) => None,
        }
    }

    /// What a reader should know before choosing it: that its name looks like another one's of the same server.
    /// Free of hidden characters.
    pub fn note(&self) -> Option<&'a str> {
        match self.0 {
            Source::Server { entry, listed, .. } => entry.remark(listed.at),
            Source::Static(_) => None,
        }
    }

    /// What may be done with it.
    pub fn policy(&self) -> Policy {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.policy,
            Source::Static(tool) => tool.policy,
        }
    }

    /// Whether a person is asked nevertheless when there is one: the default for destructive tools.
    pub fn asks_if_possible(&self) -> bool {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.asks_if_possible,
            Source::Static(_) => false,
        }
    }

    /// Whether the server's own hints had a say in what may be done with it.
    pub fn hint_effect(&self) -> HintEffect {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.hints,
            Source::Static(_) => HintEffect::None,
        }
    }

    /// The server's hints.
    pub fn annotations(&self) -> Annotations {
        self.tool().map(|tool| tool.annotations).unwrap_or_default()
    }

    /// About how many tokens its definition costs.
    pub fn tokens(&self) -> u32 {
        match self.0 {
            Source::Server { tool, .. } => tool.tokens,
            Source::Static(tool) => tool.tokens,
        }
    }

    /// The definition, byte for byte.
    pub fn definition(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => &tool.definition,
            Source::Static(tool) => &tool.definition,
        }
    }

    /// The schema of its arguments as text; a tool without one takes any object.
    pub fn input_schema(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => tool.input_schema(),
            Source::Static(tool) => tool.input_schema(),
        }
    }

    /// The full description: the user's, else the server's, else a line that names the tool.
    pub fn description(&self) -> Cow<'a, str> {
        let (entry, tool) = match self.0 {
            Source::Server { entry, tool, .. } => (entry, tool),
            Source::Static(tool) => return Cow::Borrowed(&tool.description),
        };
        if let Some(own) = self
            .user_override()
            .and_then(|words| words.description.as_deref())
        {
            return Cow::Borrowed(own);
        }
        let given = tool.parts().ok().and_then(|parts| parts.description);
        match given.filter(|text| !text.trim().is_empty()) {
            Some(text) => text,
            None => Cow::Owned(fallback_summary(entry.name(), &tool.name)),
        }
    }

    /// Whether its server's list is older than it should be.
    pub fn stale(&self) -> bool {
        self.entry().is_some_and(|entry| entry.stale)
    }

    /// How the discovery of its server stands; a tool of the host program is always there.
    pub fn status(&self) -> DiscoveryStatus {
        self.entry()
            .map_or(DiscoveryStatus::Success, |entry| entry.status())
    }

    /// The tool as a value that outlives this view.
    pub fn resolved(&self) -> ResolvedTool {
        match self.0 {
            Source::Server {
                entry, position, ..
            } => ResolvedTool::of_server(self.exposed().clone(), entry.clone(), position),
            Source::Static(tool) => ResolvedTool::of_host(tool.name.clone()),
        }
    }

    /// The server's entry.
    pub fn entry(&self) -> Option<&'a Arc<ServerEntry>> {
        match self.0 {
            Source::Server { entry, .. } => Some(entry),
            Source::Static(_) => None,
        }
    }

    /// The tool as its server gave it.
    pub fn tool(&self) -> Option<&'a Tool> {
        match self.0 {
            Source::Server { tool, .. } => Some(tool),
            Source::Static(_) => None,
        }
    }

    /// The tool as the host program registered it.
    pub fn static_tool(&self) -> Option<&'a Arc<StaticTool>> {
        match self.0 {
            Source::Server { .. } => None,
            Source::Static(tool) => Some(tool),
        }
    }

    /// Whether it is for the host program itself, and left out of what people are shown of a session.
    pub fn is_internal(&self) -> bool {
        self.static_tool().is_some_and(|tool| tool.internal)
    }

    /// What the user says of it in the configuration.
    pub fn user_override(&self) -> Option<&'a ToolOverride> {
        match self.0 {
            Source::Server { entry, tool, .. } => entry.user_override(&tool.name),
            Source::Static(_) => None,
        }
    }
}

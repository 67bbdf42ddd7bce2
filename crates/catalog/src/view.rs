//! A read-only view of one tool, whether it comes from a server or from the host program.

use std::borrow::Cow;
use std::sync::Arc;

use pegboard_guard::fallback_summary;
use pegboard_model::{
    Annotations, DiscoveryStatus, ExposedName, HintEffect, Policy, ServerName, Tool, ToolOverride,
};

use crate::entry::{ListedTool, ServerEntry};
use crate::resolved::ResolvedTool;
use crate::reviews::ReviewMark;
use crate::static_tool::StaticTool;

/// Deprecation message for a tool that its server marks as deprecated.
const DEPRECATED_BY_SERVER: &str = "marked as deprecated by its server";

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

    pub(crate) fn of_static(tool: &'a Arc<StaticTool>) -> Self {
        Self(Source::Static(tool))
    }

    /// Returns the name that models see.
    pub fn exposed(&self) -> &'a ExposedName {
        match self.0 {
            Source::Server { tool, .. } => &tool.exposed,
            Source::Static(tool) => &tool.name,
        }
    }

    /// Returns the server that provides the tool, or `None` for a static tool.
    pub fn server(&self) -> Option<&'a ServerName> {
        self.entry().map(|entry| entry.name())
    }

    /// Returns the tool's name on its server.
    pub fn name(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => &tool.name,
            Source::Static(tool) => tool.name.as_str(),
        }
    }

    /// Returns a summary in one line of at most 80 characters.
    pub fn summary(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, listed, .. } => {
                listed.summary.as_deref().unwrap_or(&tool.summary)
            }
            Source::Static(tool) => &tool.summary,
        }
    }

    /// Returns the category, for example `github/issues`.
    pub fn category(&self) -> &'a str {
        match self.0 {
            Source::Server { listed, .. } => &listed.category,
            Source::Static(tool) => &tool.category,
        }
    }

    /// Returns whether the tool is offered: its server is offered, no policy disables the tool, and it does not await a
    /// review.
    pub fn enabled(&self) -> bool {
        match self.0 {
            Source::Server { entry, listed, .. } => {
                entry.is_offered() && listed.effective.policy != Policy::Disable && !self.is_held()
            }
            Source::Static(tool) => tool.policy != Policy::Disable,
        }
    }

    /// Returns the review of this version; `None` if it was accepted with its server.
    pub fn review(&self) -> Option<&'a ReviewMark> {
        match self.0 {
            Source::Server { entry, tool, .. } => entry.review_of_tool(&tool.name),
            Source::Static(_) => None,
        }
    }

    /// Returns whether models do not get the tool because it awaits a review, or was rejected by one.
    pub fn is_held(&self) -> bool {
        self.review().is_some_and(ReviewMark::is_held)
    }

    /// Returns the deprecation message, if the tool is deprecated.
    pub fn deprecated(&self) -> Option<&'a str> {
        match self.0 {
            Source::Server { tool, .. } => self
                .user_override()
                .and_then(|own| own.deprecated.as_deref())
                .or_else(|| tool.deprecated.then_some(DEPRECATED_BY_SERVER)),
            Source::Static(_) => None,
        }
    }

    /// Returns a warning to show with the tool: it awaits a review, or its name looks like another name of the same
    /// server. The text contains no hidden characters.
    pub fn note(&self) -> Option<&'a str> {
        match self.0 {
            Source::Server { entry, listed, .. } => {
                let review = self.review().and_then(ReviewMark::note);
                review.or_else(|| entry.remark(listed.at))
            }
            Source::Static(_) => None,
        }
    }

    /// Returns the policy that applies to calls of the tool.
    pub fn policy(&self) -> Policy {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.policy,
            Source::Static(tool) => tool.policy,
        }
    }

    /// Returns whether approval is requested where a person can answer, although the policy allows the call. This
    /// is the default for destructive tools.
    pub fn asks_if_possible(&self) -> bool {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.asks_if_possible,
            Source::Static(_) => false,
        }
    }

    /// Returns whether the server's annotations influenced the policy.
    pub fn hint_effect(&self) -> HintEffect {
        match self.0 {
            Source::Server { listed, .. } => listed.effective.hints,
            Source::Static(_) => HintEffect::None,
        }
    }

    /// Returns the annotations that the server declared.
    pub fn annotations(&self) -> Annotations {
        self.tool().map(|tool| tool.annotations).unwrap_or_default()
    }

    /// Returns the estimated number of tokens of the definition.
    pub fn tokens(&self) -> u32 {
        match self.0 {
            Source::Server { tool, .. } => tool.tokens,
            Source::Static(tool) => tool.tokens,
        }
    }

    /// Returns the definition, byte for byte as the server sent it.
    pub fn definition(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => &tool.definition,
            Source::Static(tool) => &tool.definition,
        }
    }

    /// Returns the input schema as JSON text. A tool without a schema accepts any object.
    pub fn input_schema(&self) -> &'a str {
        match self.0 {
            Source::Server { tool, .. } => tool.input_schema(),
            Source::Static(tool) => tool.input_schema(),
        }
    }

    /// Returns the full description: the user's override, the server's text, or a line that names the tool.
    pub fn description(&self) -> Cow<'a, str> {
        let (entry, tool) = match self.0 {
            Source::Server { entry, tool, .. } => (entry, tool),
            Source::Static(tool) => return Cow::Borrowed(&tool.description),
        };
        if let Some(own) = self
            .user_override()
            .and_then(|own| own.description.as_deref())
        {
            return Cow::Borrowed(own);
        }
        let given = tool.parts().ok().and_then(|parts| parts.description);
        match given.filter(|text| !text.trim().is_empty()) {
            Some(text) => text,
            None => Cow::Owned(fallback_summary(entry.name(), &tool.name)),
        }
    }

    /// Returns whether the server's tool list is older than its TTL.
    pub fn stale(&self) -> bool {
        self.entry().is_some_and(|entry| entry.stale)
    }

    /// Returns the discovery status of the server; always `Success` for a static tool.
    pub fn status(&self) -> DiscoveryStatus {
        self.entry()
            .map_or(DiscoveryStatus::Success, |entry| entry.status())
    }

    /// Returns the tool as a value that outlives this view.
    pub fn resolved(&self) -> ResolvedTool {
        match self.0 {
            Source::Server {
                entry, position, ..
            } => ResolvedTool::of_server(self.exposed().clone(), entry.clone(), position),
            Source::Static(tool) => ResolvedTool::of_host(tool.name.clone()),
        }
    }

    /// Returns the entry of the tool's server.
    pub fn entry(&self) -> Option<&'a Arc<ServerEntry>> {
        match self.0 {
            Source::Server { entry, .. } => Some(entry),
            Source::Static(_) => None,
        }
    }

    /// Returns the tool as its server sent it.
    pub fn tool(&self) -> Option<&'a Tool> {
        match self.0 {
            Source::Server { tool, .. } => Some(tool),
            Source::Static(_) => None,
        }
    }

    /// Returns the tool as the host program registered it.
    pub fn static_tool(&self) -> Option<&'a Arc<StaticTool>> {
        match self.0 {
            Source::Server { .. } => None,
            Source::Static(tool) => Some(tool),
        }
    }

    /// Returns whether the tool is internal to the host program and hidden from session lists.
    pub fn is_internal(&self) -> bool {
        self.static_tool().is_some_and(|tool| tool.internal)
    }

    /// Returns the user's overrides for the tool from the configuration.
    pub fn user_override(&self) -> Option<&'a ToolOverride> {
        match self.0 {
            Source::Server { entry, tool, .. } => entry.user_override(&tool.name),
            Source::Static(_) => None,
        }
    }
}

//! Search data of one server's tools, built by the first search and stored in the server's entry.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use pegboard_search::{Segment, SegmentBuilder, ServerText, ToolText};

use crate::entry::ServerEntry;
use crate::view::ToolView;

/// Characters of a server's instructions that are used as its description.
const INSTRUCTION_CHARS: usize = 600;

/// The embeddings of one server's tools.
pub trait ToolVectors: Debug + Send + Sync {
    /// Writes the cosine similarity of a query and each tool, in the order of [`ServerEntry::searchable_tools`]:
    /// `document` for the tool's description, `short` for its name.
    fn similarity(&self, query: &[f32], document: &mut [f32], short: &mut [f32]);

    /// Returns the cosine similarity of a query and the server's description.
    fn server_similarity(&self, query: &[f32]) -> Option<f32>;
}

/// The index segment of a server's offered tools, and their embeddings once they are computed.
#[derive(Debug, Default)]
pub(crate) struct SearchData {
    index: OnceLock<IndexedTools>,
    vectors: OnceLock<Arc<dyn ToolVectors>>,
}

#[derive(Debug)]
struct IndexedTools {
    segment: Arc<Segment>,
    /// The position in the listing of each tool of the segment.
    listed: Box<[usize]>,
}

impl ServerEntry {
    /// Returns the tools that searches cover, in the order of their embeddings.
    pub fn searchable_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.visible_tools()
    }

    /// Returns the server's description for searches: the user's text, else the beginning of the server's instructions,
    /// and the user's keywords.
    pub fn description(&self) -> Cow<'_, str> {
        let description = self.own_description();
        let keywords = &self.spec.keywords;
        match (keywords.is_empty(), description.is_empty()) {
            (true, _) => description,
            (false, true) => keywords.join(", ").into(),
            (false, false) => format!("{}. {description}", keywords.join(", ")).into(),
        }
    }

    fn own_description(&self) -> Cow<'_, str> {
        match (&self.spec.description, self.instructions()) {
            (Some(description), _) => Cow::Borrowed(description),
            (None, Some(instructions)) => instructions.chars().take(INSTRUCTION_CHARS).collect(),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Stores the embeddings of the tools. Later calls have no effect.
    pub fn set_vectors(&self, vectors: Arc<dyn ToolVectors>) {
        // A concurrent caller has computed the same vectors.
        let _ = self.search_data.vectors.set(vectors);
    }

    /// Returns the embeddings of the tools, if they are computed.
    pub fn vectors(&self) -> Option<&Arc<dyn ToolVectors>> {
        self.search_data.vectors.get()
    }

    /// Returns whether the server has searchable tools but no embeddings yet.
    pub fn needs_vectors(self: &Arc<Self>) -> bool {
        self.vectors().is_none() && self.searchable_tools().next().is_some()
    }

    /// Returns the index segment. The reader is shared with other servers.
    pub(super) fn segment(self: &Arc<Self>, reader: &mut SegmentBuilder) -> Arc<Segment> {
        self.index_with(reader).segment.clone()
    }

    /// Returns the tool at a position of the segment.
    pub(super) fn tool_of_segment(self: &Arc<Self>, at: usize) -> Option<ToolView<'_>> {
        let listed = *self.index().listed.get(at)?;
        self.tool_listed(listed)
    }

    /// Returns the position of a tool in the segment, by its name on the server.
    pub(super) fn place_in_segment(self: &Arc<Self>, name: &str) -> Option<usize> {
        self.searchable_tools().position(|view| view.name() == name)
    }

    fn index(self: &Arc<Self>) -> &IndexedTools {
        let known = self.search_data.index.get();
        known.unwrap_or_else(|| self.index_with(&mut SegmentBuilder::default()))
    }

    fn index_with(self: &Arc<Self>, reader: &mut SegmentBuilder) -> &IndexedTools {
        self.search_data.index.get_or_init(|| {
            let description = self.description();
            let server = ServerText {
                name: self.name().as_str(),
                description: &description,
            };
            let offered = self
                .all_tools()
                .enumerate()
                .filter(|(_, view)| view.enabled());
            let (listed, views): (Vec<usize>, Vec<ToolView<'_>>) = offered.unzip();
            let aliases: Vec<Vec<String>> = views.iter().map(aliases).collect();
            let texts = views
                .iter()
                .zip(&aliases)
                .map(|(view, aliases)| tool_text(view, aliases));
            IndexedTools {
                segment: Arc::new(reader.segment(Some(server), texts)),
                listed: listed.into(),
            }
        })
    }
}

/// Builds the segment of the static tools.
pub(crate) fn static_segment<'a>(tools: impl Iterator<Item = ToolView<'a>>) -> Segment {
    Segment::new(None, tools.map(|view| tool_text(&view, &[])))
}

fn tool_text<'a>(view: &ToolView<'a>, aliases: &'a [String]) -> ToolText<'a> {
    let description = match view.user_override().and_then(|own| own.summary.as_deref()) {
        Some(summary) => Cow::Owned(format!("{summary}\n{}", view.description())),
        None => view.description(),
    };
    ToolText {
        name: view.name(),
        exposed: view.exposed().as_str(),
        description,
        input_schema: view.input_schema(),
        aliases,
    }
}

/// Returns the other names of a tool: the title that the server gives it, and the user's aliases.
fn aliases(view: &ToolView<'_>) -> Vec<String> {
    let parts = view.tool().and_then(|tool| tool.parts().ok());
    let title = parts.and_then(|parts| parts.title).map(Cow::into_owned);
    let own = view.user_override().map(|own| own.aliases.iter().cloned());
    title.into_iter().chain(own.into_iter().flatten()).collect()
}

//! What a search reads of one server's tools, made at the first search and kept with the server's entry.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use pegboard_search::{Segment, SegmentBuilder, ServerText, ToolText};

use crate::entry::ServerEntry;
use crate::view::ToolView;

/// Characters of a server's own instructions that say what it is for.
const INSTRUCTIONS: usize = 600;

/// The vectors of one server's tools, wherever they are kept.
pub trait ToolVectors: Debug + Send + Sync {
    /// Writes the cosine between a query and each tool, in the order of
    /// [`ServerEntry::searched_tools`]: with what the tool's description says, and with its name.
    fn similarity(&self, query: &[f32], document: &mut [f32], short: &mut [f32]);

    /// The cosine between a query and what the server as a whole is for.
    fn server_similarity(&self, query: &[f32]) -> Option<f32>;
}

/// The texts of a server's offered tools, ready to be searched, and their vectors once there are some.
#[derive(Debug, Default)]
pub(crate) struct SearchData {
    words: OnceLock<Words>,
    vectors: OnceLock<Arc<dyn ToolVectors>>,
}

#[derive(Debug)]
struct Words {
    segment: Arc<Segment>,
    /// The place in the listing of each tool of the segment.
    listed: Box<[usize]>,
}

impl ServerEntry {
    /// The tools that a search looks at, in the order of their vectors.
    pub fn searchable_tools(self: &Arc<Self>) -> impl Iterator<Item = ToolView<'_>> {
        self.visible_tools()
    }

    /// What the server is for: in the user's words, else in its own.
    pub fn description(&self) -> Cow<'_, str> {
        match (&self.spec.description, &self.record.instructions) {
            (Some(description), _) => Cow::Borrowed(description),
            (None, Some(instructions)) => instructions.chars().take(INSTRUCTIONS).collect(),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Gives the entry the vectors of its tools; the first ones given stay.
    pub fn set_vectors(&self, vectors: Arc<dyn ToolVectors>) {
        // Whoever came first computed the same.
        let _ = self.search_data.vectors.set(vectors);
    }

    /// The vectors of its tools, once they are known.
    pub fn vectors(&self) -> Option<&Arc<dyn ToolVectors>> {
        self.search_data.vectors.get()
    }

    /// Whether it has tools that are searched, and no vectors of them yet.
    pub fn needs_vectors(self: &Arc<Self>) -> bool {
        self.vectors().is_none() && self.searchable_tools().next().is_some()
    }

    /// What is searched of it, read by a reader that other servers share.
    pub(super) fn segment(self: &Arc<Self>, reader: &mut SegmentBuilder) -> Arc<Segment> {
        self.words_read_by(reader).segment.clone()
    }

    /// The tool of a place in the segment.
    pub(super) fn tool_of_segment(self: &Arc<Self>, at: usize) -> Option<ToolView<'_>> {
        let listed = *self.words().listed.get(at)?;
        self.tool_listed(listed)
    }

    /// The place in the segment of a tool, by the server's own name for it.
    pub(super) fn place_in_segment(self: &Arc<Self>, name: &str) -> Option<usize> {
        self.searchable_tools().position(|view| view.name() == name)
    }

    fn words(self: &Arc<Self>) -> &Words {
        let known = self.search_data.words.get();
        known.unwrap_or_else(|| self.words_read_by(&mut SegmentBuilder::default()))
    }

    fn words_read_by(self: &Arc<Self>, reader: &mut SegmentBuilder) -> &Words {
        self.search_data.words.get_or_init(|| {
            let described = self.description();
            let server = ServerText {
                name: self.name().as_str(),
                description: &described,
            };
            let offered = self
                .all_tools()
                .enumerate()
                .filter(|(_, view)| view.enabled());
            let (listed, views): (Vec<usize>, Vec<ToolView<'_>>) = offered.unzip();
            let titles: Vec<Vec<String>> = views.iter().map(title).collect();
            let texts = views
                .iter()
                .zip(&titles)
                .map(|(view, titles)| text_of(view, titles));
            Words {
                segment: Arc::new(reader.segment(Some(server), texts)),
                listed: listed.into(),
            }
        })
    }
}

/// The texts of the host program's tools.
pub(crate) fn segment_of_host<'a>(tools: impl Iterator<Item = ToolView<'a>>) -> Segment {
    Segment::new(None, tools.map(|view| text_of(&view, &[])))
}

fn text_of<'a>(view: &ToolView<'a>, aliases: &'a [String]) -> ToolText<'a> {
    let description = match view
        .user_override()
        .and_then(|words| words.summary.as_deref())
    {
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

/// The title that a server gives a tool, where it says more than the name.
fn title(view: &ToolView<'_>) -> Vec<String> {
    let parts = view.tool().and_then(|tool| tool.parts().ok());
    let title = parts.and_then(|parts| parts.title);
    title.map(Cow::into_owned).into_iter().collect()
}

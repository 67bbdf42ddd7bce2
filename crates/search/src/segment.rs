//! The index of one server's tools.

use crate::interner::WordList;
use crate::segment_builder::SegmentBuilder;
use crate::text::{Field, ServerText, ToolText};

/// The index of one server's tools: terms, names, and term counts by field. It is immutable, so an index can be rebuilt
/// from the unchanged segments and a new one.
#[derive(Debug)]
pub struct Segment {
    pub(crate) terms: WordList,
    /// The end of each term's postings.
    pub(crate) ends: Vec<u32>,
    pub(crate) postings: Vec<Posting>,
    /// Number of words in each field of each tool.
    pub(crate) lengths: Vec<[u16; FIELDS]>,
    /// The words of names as written, for finding typos, and their terms.
    pub(crate) name_words: WordList,
    pub(crate) name_word_terms: Vec<u32>,
    /// The folded forms of each tool's name; see [`Self::folded_name`].
    pub(crate) names: WordList,
    pub(crate) exposed: WordList,
    pub(crate) server: Option<String>,
}

/// The count of a term in one field of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) tool: u32,
    pub(crate) field: u8,
    pub(crate) count: u8,
}

pub(crate) const FIELDS: usize = Field::ALL.len();

/// Number of name forms per tool.
pub(crate) const NAME_FORMS: u32 = 3;

impl Segment {
    /// Indexes the tools of one server, or tools without a server. For many servers use one [`SegmentBuilder`].
    pub fn new<'a>(
        server: Option<ServerText<'a>>,
        tools: impl IntoIterator<Item = ToolText<'a>>,
    ) -> Self {
        SegmentBuilder::default().segment(server, tools)
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.exposed.len()
    }

    /// Whether the segment has no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn exposed(&self, tool: usize) -> &str {
        self.exposed.get(tool as u32)
    }

    /// A folded form of a tool's name: the name itself, the name after its server's name, or the exposed name.
    pub(crate) fn folded_name(&self, tool: u32, form: u32) -> &str {
        self.names.get(tool * NAME_FORMS + form)
    }

    /// The postings of a term, ordered by tool and field.
    pub(crate) fn postings_of(&self, term: u32) -> &[Posting] {
        let at = term as usize;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        self.postings.get(start..end).unwrap_or_default()
    }
}

//! One server's tools prepared for search.

use crate::interner::Words;
use crate::segment_builder::SegmentBuilder;
use crate::text::{Field, ServerText, ToolText};

/// One server's tools prepared for search: words, names, and how often each field has each word. It never
/// changes, so an index can be built again from the segments that stayed and the one that is new.
#[derive(Debug)]
pub struct Segment {
    pub(crate) terms: Words,
    /// Where the postings of each term end.
    pub(crate) ends: Vec<u32>,
    pub(crate) postings: Vec<Posting>,
    /// Words in each field of each tool.
    pub(crate) lengths: Vec<[u16; FIELDS]>,
    /// The words of names as they are written, for finding mistyped ones, and their terms.
    pub(crate) name_words: Words,
    pub(crate) name_word_terms: Vec<u32>,
    /// The ways to write each tool's name, folded: see [`Self::folded_names`].
    pub(crate) names: Words,
    pub(crate) exposed: Words,
    pub(crate) server: Option<String>,
}

/// How often one field of a tool has a term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) tool: u32,
    pub(crate) field: u8,
    pub(crate) count: u8,
}

pub(crate) const FIELDS: usize = Field::ALL.len();

/// How many ways to write a name are kept of each tool.
pub(crate) const NAME_FORMS: u32 = 3;

impl Segment {
    /// Reads the tools of one server, or tools of no server. Many servers are read faster by one [`SegmentBuilder`].
    pub fn new<'a>(
        server: Option<ServerText<'a>>,
        tools: impl IntoIterator<Item = ToolText<'a>>,
    ) -> Self {
        SegmentBuilder::default().segment(server, tools)
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.exposed.len()
    }

    /// Whether it holds no tool.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn exposed(&self, tool: usize) -> &str {
        self.exposed.get(tool as u32)
    }

    /// One way to write a tool's name: by itself, behind its server's, or as it is called.
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

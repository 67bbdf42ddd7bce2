//! What each term is worth for each tool, from the counts of all segments.

use std::sync::Arc;

use crate::idf::idf;
use crate::segment::{FIELDS, Posting, Segment};
use crate::text::Field;
use crate::weights::{SATURATION, of_field};

/// What a term is worth for one tool, and whether the tool's name has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    /// The number of the tool, and below it the bit of the name.
    packed: u32,
    pub(crate) worth: f32,
}

impl Worth {
    const IN_NAME: u32 = 1;

    pub(crate) fn tool(self) -> u32 {
        self.packed >> 1
    }

    pub(crate) fn in_name(self) -> bool {
        self.packed & Self::IN_NAME != 0
    }
}

/// The worths of all terms, and how much the names say.
#[derive(Debug, Default)]
pub(crate) struct MergedPostings {
    ends: Vec<u32>,
    worths: Vec<Worth>,
    /// How much the words of each tool's name say together.
    pub(crate) name_masses: Vec<f32>,
}

/// What one occurrence in each field of a tool is worth.
type Worths = [f32; FIELDS];

impl MergedPostings {
    /// `bases` are the numbers of the segments' first tools; `global` are the numbers of their terms.
    pub(crate) fn of(
        segments: &[Arc<Segment>],
        bases: &[u32],
        global: &[Vec<u32>],
        terms: usize,
    ) -> Self {
        let usual = usual_lengths(segments);
        let mut ends = vec![0_u32; terms];
        for (segment, global) in segments.iter().zip(global) {
            for (local, term) in (0..).zip(global) {
                let tools = segment.postings_of(local).chunk_by(same_tool).count();
                if let Some(end) = ends.get_mut(*term as usize) {
                    *end += tools as u32;
                }
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            // For now where each term starts; filling moves it to where it ends.
            let count = *end;
            *end = sum;
            sum += count;
        }
        let nothing = Worth {
            packed: 0,
            worth: 0.0,
        };
        let mut worths = vec![nothing; sum as usize];
        let mut by_field = Vec::new();
        for ((segment, global), base) in segments.iter().zip(global).zip(bases) {
            by_field.clear();
            by_field.extend(
                segment
                    .lengths
                    .iter()
                    .map(|lengths| by_length(lengths, &usual)),
            );
            for (local, term) in (0..).zip(global) {
                let Some(end) = ends.get_mut(*term as usize) else {
                    continue;
                };
                for postings in segment.postings_of(local).chunk_by(same_tool) {
                    if let Some(slot) = worths.get_mut(*end as usize) {
                        *slot = worth_of(postings, &by_field, *base);
                    }
                    *end += 1;
                }
            }
        }
        let mut merged = Self {
            ends,
            worths,
            name_masses: Vec::new(),
        };
        merged.weigh_names(segments.iter().map(|segment| segment.len()).sum());
        merged
    }

    /// The tools that have a term, ordered by number.
    pub(crate) fn of_term(&self, term: u32) -> &[Worth] {
        let at = term as usize;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        self.worths.get(start..end).unwrap_or_default()
    }

    fn weigh_names(&mut self, tools: usize) {
        let mut masses = vec![0.0; tools];
        for term in 0..self.ends.len() as u32 {
            let having = self.of_term(term);
            let rare = idf(having.len(), tools);
            for worth in having.iter().filter(|worth| worth.in_name()) {
                if let Some(mass) = masses.get_mut(worth.tool() as usize) {
                    *mass += rare;
                }
            }
        }
        self.name_masses = masses;
    }
}

fn same_tool(one: &Posting, other: &Posting) -> bool {
    one.tool == other.tool
}

/// What a term's occurrences in one tool are worth together. More of them say ever less.
fn worth_of(postings: &[Posting], by_field: &[Worths], base: u32) -> Worth {
    let (mut sum, mut flags, mut tool) = (0.0, 0, 0);
    for posting in postings {
        tool = posting.tool;
        let worths = by_field.get(tool as usize);
        let worth = worths.and_then(|worths| worths.get(usize::from(posting.field)));
        sum += worth.copied().unwrap_or(0.0) * f32::from(posting.count);
        if posting.field == Field::Name as u8 {
            flags = Worth::IN_NAME;
        }
    }
    Worth {
        packed: (base + tool) << 1 | flags,
        worth: sum * (1.0 + SATURATION) / (sum + SATURATION),
    }
}

/// The mean length of each field, over the tools that have it.
fn usual_lengths(segments: &[Arc<Segment>]) -> Worths {
    let mut sums = [(0.0_f64, 0.0_f64); FIELDS];
    for lengths in segments.iter().flat_map(|segment| &segment.lengths) {
        for ((sum, count), length) in sums.iter_mut().zip(lengths) {
            if *length > 0 {
                *sum += f64::from(*length);
                *count += 1.0;
            }
        }
    }
    sums.map(|(sum, count)| (sum / count.max(1.0)).max(1.0) as f32)
}

fn by_length(lengths: &[u16; FIELDS], usual: &Worths) -> Worths {
    let mut worths = [0.0; FIELDS];
    for ((worth, field), (length, usual)) in worths
        .iter_mut()
        .zip(Field::ALL)
        .zip(lengths.iter().zip(usual))
    {
        let weight = of_field(field);
        let long = 1.0 - weight.by_length + weight.by_length * f32::from(*length) / usual;
        *worth = weight.worth / long;
    }
    worths
}

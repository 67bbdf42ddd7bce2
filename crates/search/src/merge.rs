//! The postings of all segments, merged by term, with BM25F term frequencies.

use std::sync::Arc;

use crate::idf::idf;
use crate::segment::{FIELDS, Posting, Segment};
use crate::text::Field;
use crate::weights::{SATURATION, of_field};

/// The weighted frequency of a term in one tool, and whether the tool's name contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermFrequency {
    /// The tool number, shifted left by one, and the `IN_NAME` flag.
    packed: u32,
    pub(crate) tf: f32,
}

impl TermFrequency {
    const IN_NAME: u32 = 1;

    pub(crate) fn tool(self) -> u32 {
        self.packed >> 1
    }

    pub(crate) fn in_name(self) -> bool {
        self.packed & Self::IN_NAME != 0
    }
}

/// The term frequencies of all terms.
#[derive(Debug, Default)]
pub(crate) struct MergedPostings {
    ends: Vec<u32>,
    frequencies: Vec<TermFrequency>,
    /// The sum of the IDFs of the terms in each tool's name.
    pub(crate) name_idf_sums: Vec<f32>,
}

/// A number for each field: the weight of one occurrence, or a mean length.
type FieldWeights = [f32; FIELDS];

impl MergedPostings {
    /// Merges segments. `bases` are the numbers of the segments' first tools, `global` maps their terms to the index.
    pub(crate) fn new(
        segments: &[Arc<Segment>],
        bases: &[u32],
        global: &[Vec<u32>],
        terms: usize,
    ) -> Self {
        let mean = mean_lengths(segments);
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
            // The start of each term for now; filling moves it to the end.
            let count = *end;
            *end = sum;
            sum += count;
        }
        let nothing = TermFrequency { packed: 0, tf: 0.0 };
        let mut frequencies = vec![nothing; sum as usize];
        let mut by_field = Vec::new();
        for ((segment, global), base) in segments.iter().zip(global).zip(bases) {
            by_field.clear();
            by_field.extend(
                segment
                    .lengths
                    .iter()
                    .map(|lengths| weights_by_length(lengths, &mean)),
            );
            for (local, term) in (0..).zip(global) {
                let Some(end) = ends.get_mut(*term as usize) else {
                    continue;
                };
                for postings in segment.postings_of(local).chunk_by(same_tool) {
                    if let Some(slot) = frequencies.get_mut(*end as usize) {
                        *slot = frequency_of(postings, &by_field, *base);
                    }
                    *end += 1;
                }
            }
        }
        let mut merged = Self {
            ends,
            frequencies,
            name_idf_sums: Vec::new(),
        };
        merged.sum_name_idfs(segments.iter().map(|segment| segment.len()).sum());
        merged
    }

    /// The tools that contain a term, ordered by number.
    pub(crate) fn of_term(&self, term: u32) -> &[TermFrequency] {
        let at = term as usize;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(0, |end| *end as usize);
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        self.frequencies.get(start..end).unwrap_or_default()
    }

    fn sum_name_idfs(&mut self, tools: usize) {
        let mut sums = vec![0.0; tools];
        for term in 0..self.ends.len() as u32 {
            let tools_with_term = self.of_term(term);
            let idf = idf(tools_with_term.len(), tools);
            for found in tools_with_term.iter().filter(|found| found.in_name()) {
                if let Some(sum) = sums.get_mut(found.tool() as usize) {
                    *sum += idf;
                }
            }
        }
        self.name_idf_sums = sums;
    }
}

fn same_tool(one: &Posting, other: &Posting) -> bool {
    one.tool == other.tool
}

/// The combined, saturated frequency of a term in one tool.
fn frequency_of(postings: &[Posting], by_field: &[FieldWeights], base: u32) -> TermFrequency {
    let (mut sum, mut flags, mut tool) = (0.0, 0, 0);
    for posting in postings {
        tool = posting.tool;
        let weights = by_field.get(tool as usize);
        let weight = weights.and_then(|weights| weights.get(usize::from(posting.field)));
        sum += weight.copied().unwrap_or(0.0) * f32::from(posting.count);
        if posting.field == Field::Name as u8 {
            flags = TermFrequency::IN_NAME;
        }
    }
    TermFrequency {
        packed: (base + tool) << 1 | flags,
        tf: sum * (1.0 + SATURATION) / (sum + SATURATION),
    }
}

/// The mean length of each field over the tools that have it.
fn mean_lengths(segments: &[Arc<Segment>]) -> FieldWeights {
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

/// The field weights of a tool, normalized by the lengths of its fields.
fn weights_by_length(lengths: &[u16; FIELDS], mean: &FieldWeights) -> FieldWeights {
    let mut weights = [0.0; FIELDS];
    for ((weight, field), (length, mean)) in weights
        .iter_mut()
        .zip(Field::ALL)
        .zip(lengths.iter().zip(mean))
    {
        let params = of_field(field);
        let norm = 1.0 - params.length_norm + params.length_norm * f32::from(*length) / mean;
        *weight = params.weight / norm;
    }
    weights
}

//! Scores of all tools by words, meaning and past calls, written into buffers.

use crate::actions;
use crate::index::Index;
use crate::parsed_query::QueryTerm;
use crate::query::{Query, SemanticCoverage, SemanticQuery};
use crate::scratch::{ActionMatch, Evidence, Scratch, fill};
use crate::weights::{MEMORY_MAX, MEMORY_MIN_SIMILARITY};

impl Index {
    /// Scores all tools by the terms of a query.
    pub(crate) fn score_words(&self, terms: &[QueryTerm], scratch: &mut Scratch) {
        fill(&mut scratch.words, self.len(), Evidence::default());
        scratch.best.resize(self.len(), 0.0);
        for alternatives in terms.chunk_by(QueryTerm::is_alternative_to) {
            let [term] = alternatives else {
                self.score_best(alternatives, scratch);
                continue;
            };
            for found in self.tools_of(term.term) {
                if let Some(evidence) = scratch.words.get_mut(found.tool() as usize) {
                    evidence.score += term.factor * found.tf;
                    evidence.name_coverage += if found.in_name() { term.coverage } else { 0.0 };
                }
            }
        }
    }

    /// Scores the alternatives for one word: for each tool the best one counts. The postings are read twice, which is
    /// faster than tracking the affected tools.
    fn score_best(&self, alternatives: &[QueryTerm], scratch: &mut Scratch) {
        for term in alternatives {
            for found in self.tools_of(term.term) {
                if let Some(best) = scratch.best.get_mut(found.tool() as usize) {
                    *best = best.max(term.factor * found.tf);
                }
            }
        }
        for term in alternatives {
            for found in self.tools_of(term.term) {
                let at = found.tool() as usize;
                let best = scratch.best.get_mut(at).map(std::mem::take);
                if let Some((evidence, best)) = scratch.words.get_mut(at).zip(best) {
                    evidence.score += best;
                    evidence.name_coverage += if found.in_name() { term.coverage } else { 0.0 };
                }
            }
        }
    }

    /// Computes the cosines of all tools.
    pub(crate) fn score_meaning(
        &self,
        meaning: Option<SemanticQuery<'_>>,
        scratch: &mut Scratch,
    ) -> SemanticCoverage {
        let Some(meaning) = meaning else {
            return SemanticCoverage::None;
        };
        self.compare(meaning, scratch);
        let compared = |(one, other): (&f32, &f32)| !one.is_nan() && !other.is_nan();
        let count = scratch
            .document
            .iter()
            .zip(&scratch.short)
            .filter(|pair| compared(*pair))
            .count();
        match count {
            0 => SemanticCoverage::None,
            all if all == self.len() => SemanticCoverage::All,
            _ => SemanticCoverage::Some,
        }
    }

    /// Compares the verbs of all names with the action of the request.
    pub(crate) fn score_actions(&self, words: &[String], scratch: &mut Scratch) {
        scratch.actions.clear();
        let asked = actions::of_request(words);
        if asked == 0 {
            return;
        }
        fill(&mut scratch.actions, self.len(), ActionMatch::Unknown);
        let mut mark = |actions, is: ActionMatch| {
            actions::each_stem(actions, |stem| {
                let term = self.term(stem);
                let tools = term.map_or(&[][..], |term| self.tools_of(term));
                for found in tools.iter().filter(|found| found.in_name()) {
                    if let Some(slot) = scratch.actions.get_mut(found.tool() as usize) {
                        *slot = is;
                    }
                }
            });
        };
        mark(actions::opposites(asked), ActionMatch::Opposite);
        // A name with both, such as `create_or_delete`, is not an opposite.
        mark(asked, ActionMatch::Same);
    }

    /// Scores all tools by past calls.
    pub(crate) fn score_memory(&self, query: &Query<'_>, scratch: &mut Scratch) {
        scratch.memory.clear();
        if query.memory.is_empty() {
            return;
        }
        fill(&mut scratch.memory, self.len(), 0.0);
        for past in query.memory {
            let slot = self
                .number(past.at)
                .and_then(|tool| scratch.memory.get_mut(tool as usize));
            // NaN fails the comparison.
            if let Some(slot) = slot.filter(|_| past.similarity > MEMORY_MIN_SIMILARITY) {
                let above = past.similarity.min(1.0) - MEMORY_MIN_SIMILARITY;
                let closeness = above / (1.0 - MEMORY_MIN_SIMILARITY);
                *slot = slot.max(MEMORY_MAX * closeness.powi(3));
            }
        }
    }
}

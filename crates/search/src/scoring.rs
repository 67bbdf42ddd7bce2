//! What words, meaning and memory say about each tool, written into buffers.

use crate::index::Index;
use crate::parsed_query::QueryTerm;
use crate::query::{Query, SemanticCoverage, SemanticQuery};
use crate::scratch::{Evidence, Scratch, fill};
use crate::weights::{MEMORY_GATE, MEMORY_MOST};

impl Index {
    /// What the words of a request are worth for each tool.
    pub(crate) fn score_words(&self, wanted: &[QueryTerm], scratch: &mut Scratch) {
        fill(&mut scratch.words, self.len(), Evidence::default());
        scratch.best.resize(self.len(), 0.0);
        for alternatives in wanted.chunk_by(QueryTerm::is_alternative_to) {
            let [wanted] = alternatives else {
                self.score_best(alternatives, scratch);
                continue;
            };
            for found in self.tools_of(wanted.term) {
                if let Some(evidence) = scratch.words.get_mut(found.tool() as usize) {
                    evidence.worth += wanted.factor * found.worth;
                    evidence.of_name += if found.in_name() { wanted.covers } else { 0.0 };
                }
            }
        }
    }

    /// Several ways to meet one word: each tool counts its best. The tools are gone through twice, which is quicker
    /// than to keep in mind which were met.
    fn score_best(&self, alternatives: &[QueryTerm], scratch: &mut Scratch) {
        for wanted in alternatives {
            for found in self.tools_of(wanted.term) {
                if let Some(best) = scratch.best.get_mut(found.tool() as usize) {
                    *best = best.max(wanted.factor * found.worth);
                }
            }
        }
        for wanted in alternatives {
            for found in self.tools_of(wanted.term) {
                let at = found.tool() as usize;
                let best = scratch.best.get_mut(at).map(std::mem::take);
                if let Some((evidence, best)) = scratch.words.get_mut(at).zip(best) {
                    evidence.worth += best;
                    evidence.of_name += if found.in_name() { wanted.covers } else { 0.0 };
                }
            }
        }
    }

    /// How far each tool fits, as cosines.
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

    /// What past requests add for each tool.
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
            // A likeness that is no number is not above the gate.
            if let Some(slot) = slot.filter(|_| past.similarity > MEMORY_GATE) {
                *slot = slot.max(MEMORY_MOST * past.similarity.min(1.0));
            }
        }
    }
}

//! The search: from the query to the hits.

use crate::explain::{MatchedWord, NameMatch, NameMatchKind, ScoreExplanation};
use crate::fusion::{Fusion, ScoreParts};
use crate::index::Index;
use crate::named_server::{NamedServer, named_server};
use crate::parsed_query::{ParsedQuery, QueryTerm};
use crate::query::{Hit, Query, QueryKind, Ranking, SemanticCoverage};
use crate::scratch::Scratch;
use crate::text::Field;
use crate::top_k::TopK;
use crate::weights::{EXACT_NAME, PREFIX_NAME, RELATED, TYPO_NAME};

impl Index {
    /// Returns the best tools for a query, at most `limit`.
    pub fn search(&self, query: &Query<'_>, limit: usize) -> Ranking {
        let mut scratch = self.take_scratch();
        let found = self.search_with(query, limit, &mut scratch);
        self.return_scratch(scratch);
        found
    }

    fn search_with(&self, query: &Query<'_>, limit: usize, scratch: &mut Scratch) -> Ranking {
        let parsed = ParsedQuery::new(query.text, self);
        self.score_words(&parsed.terms, scratch);
        let exact = self.score_names(&parsed, scratch);
        let by_meaning = self.score_meaning(query.meaning, scratch);
        self.score_memory(query, scratch);
        self.score_actions(&parsed.words, scratch);

        let server = named_server(self, query.text.trim(), &parsed.folded);
        let fusion = Fusion::new(self, &parsed, scratch, by_meaning != SemanticCoverage::None);
        let asked = !parsed.folded.is_empty() || !parsed.words.is_empty();
        let mut top = TopK::new(self, if asked { limit.min(self.len()) } else { 0 });
        let total = self.rank(&fusion, scratch, by_meaning, server, &mut top);
        let best = top.into_best();
        let kind = match server {
            Some(NamedServer { segment, .. }) => QueryKind::NamedServer(segment),
            None if exact => QueryKind::ExactName,
            None => QueryKind::Ranked,
        };
        let hits: Vec<Hit> = best
            .into_iter()
            .map(|(tool, _)| self.hit(tool, query, &parsed, &fusion, scratch))
            .collect();
        Ranking {
            total: total.max(hits.len()),
            hits,
            by_meaning,
            kind,
        }
    }

    /// Offers every matching tool to `top` and returns their number.
    fn rank(
        &self,
        fusion: &Fusion<'_>,
        scratch: &Scratch,
        by_meaning: SemanticCoverage,
        server: Option<NamedServer>,
        top: &mut TopK<'_>,
    ) -> usize {
        let by_words = by_meaning == SemanticCoverage::None;
        if by_words && server.is_none() && scratch.names.is_empty() && scratch.memory.is_empty() {
            return self.rank_words(fusion, scratch, top);
        }
        let means_something = !by_words && fusion.nearest >= RELATED;
        let mut total = 0;
        for segment in 0..self.segments.len() {
            let named = server.is_some_and(|server| server.segment == segment);
            let only_other = server.is_some_and(|server| server.only) && !named;
            let range = self.range(segment);
            let words = scratch.words.get(range.clone()).unwrap_or_default();
            for (tool, evidence) in range.zip(words) {
                let of = |values: &[f32]| values.get(tool).copied().unwrap_or(0.0);
                let (name, memory) = (of(&scratch.names), of(&scratch.memory));
                let matches = named || evidence.score > 0.0 || name > 0.0 || memory > 0.0;
                if only_other && name <= 0.0 || !matches && !means_something {
                    continue;
                }
                total += usize::from(matches);
                // Most tools cannot reach the best, which a cheap upper bound shows.
                let most = name + memory + fusion.at_most(evidence.score);
                if by_words && !named && most < top.floor() {
                    continue;
                }
                let parts = fusion.parts(scratch, tool, segment);
                let is_lifted = named && parts.name < EXACT_NAME;
                let lift = if is_lifted { SERVER_LIFT } else { 0.0 };
                top.offer(tool as u32, parts.sum() + lift);
            }
        }
        total
    }

    /// Like `rank`, for queries that match by words only.
    fn rank_words(&self, fusion: &Fusion<'_>, scratch: &Scratch, top: &mut TopK<'_>) -> usize {
        let mut total = 0;
        for (tool, evidence) in (0..).zip(&scratch.words) {
            let matches = evidence.score > 0.0;
            total += usize::from(matches);
            if matches && fusion.at_most(evidence.score) >= top.floor() {
                let at = self.at(tool);
                let parts = fusion.parts(scratch, tool as usize, at.segment);
                top.offer(tool, parts.sum());
            }
        }
        total
    }

    fn hit(
        &self,
        tool: u32,
        query: &Query<'_>,
        parsed: &ParsedQuery,
        fusion: &Fusion<'_>,
        scratch: &Scratch,
    ) -> Hit {
        let at = self.at(tool);
        let parts = fusion.parts(scratch, tool as usize, at.segment);
        let why = query
            .explain
            .then(|| Box::new(self.why(tool, parts, parsed, fusion, scratch)));
        Hit {
            at,
            score: parts.sum(),
            confidence: fusion.confidence(scratch, tool as usize, &parts),
            why,
        }
    }

    fn why(
        &self,
        tool: u32,
        parts: ScoreParts,
        parsed: &ParsedQuery,
        fusion: &Fusion<'_>,
        scratch: &Scratch,
    ) -> ScoreExplanation {
        let kind = match parts.name {
            part if part >= EXACT_NAME => Some(NameMatchKind::Exact),
            part if part >= PREFIX_NAME => Some(NameMatchKind::Prefix),
            part if part >= TYPO_NAME[0] => Some(NameMatchKind::Typo(1)),
            part if part > 0.0 => Some(NameMatchKind::Typo(2)),
            _ => None,
        };
        let cosine = |values: &[f32]| values.get(tool as usize).copied().filter(|c| !c.is_nan());
        let matched = if kind == Some(NameMatchKind::Exact) {
            Vec::new()
        } else {
            let factor = fusion.words_factor(scratch, tool as usize);
            let matched = |term: &QueryTerm| self.matched(tool, term, parsed, factor);
            let best = |alternatives: &[QueryTerm]| {
                let all = alternatives.iter().filter_map(matched);
                all.reduce(|one, other| {
                    if other.weight > one.weight {
                        other
                    } else {
                        one
                    }
                })
            };
            let words = parsed.terms.chunk_by(QueryTerm::is_alternative_to);
            words.filter_map(best).collect()
        };
        ScoreExplanation {
            name: kind.map(|kind| NameMatch {
                kind,
                score: parts.name,
            }),
            matched,
            words: parts.words,
            coverage: parts.coverage,
            server: parts.server,
            meaning: parts.meaning,
            cosines: cosine(&scratch.document).zip(cosine(&scratch.short)),
            memory: parts.memory,
            action: parts.action,
        }
    }

    /// The match of a term, if the tool contains it. `factor` turns its score into a part of the tool's score.
    fn matched(
        &self,
        tool: u32,
        term: &QueryTerm,
        parsed: &ParsedQuery,
        factor: f32,
    ) -> Option<MatchedWord> {
        let tools = self.tools_of(term.term);
        let found = tools
            .binary_search_by_key(&tool, |found| found.tool())
            .ok()?;
        let tf = tools.get(found)?.tf;
        Some(MatchedWord {
            word: parsed.words.get(term.word).cloned().unwrap_or_default(),
            term_text: self.word_of(term.term).to_owned(),
            via: term.via,
            fields: Field::of_bits(self.fields_of(tool, term.term)),
            weight: factor * term.factor * tf,
        })
    }
}

/// Lifts the tools of a named server above all others except tools with exactly that name.
const SERVER_LIFT: f32 = EXACT_NAME - 1.0;

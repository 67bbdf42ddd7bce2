//! Learning from use, replayed: the first half of a set's queries is the history of the second half.

use pegboard_benches::retrieval::{Corpus, PastQuery, Searcher};

use crate::HITS;
use crate::metrics::Metrics;
use crate::sets::QuerySet;

/// Number of hits that a model sees and chooses from.
const SHOWN: usize = 5;

/// The second half of the queries, without and with the history.
pub(crate) struct Replay {
    pub(crate) without: Vec<Metrics>,
    pub(crate) with: Vec<Metrics>,
}

/// As in the program, a query is remembered for a needed tool only if it was shown.
pub(crate) fn replay(set: &QuerySet, corpus: &Corpus, searcher: &Searcher<'_>) -> Replay {
    let (first, second) = set.queries.split_at(set.queries.len() / 2);
    let mut history: Vec<PastQuery> = Vec::new();
    for query in first {
        let ranking = searcher.search(&query.query, SHOWN, &[]);
        let shown = searcher.ids(&ranking);
        for group in &query.gold_groups {
            let called = shown.iter().find(|id| group.iter().any(|own| own == *id));
            let tool = called.and_then(|id| corpus.find(id));
            history.extend(tool.and_then(|tool| searcher.past_query(&query.query, tool)));
        }
    }
    let mut replay = Replay {
        without: Vec::new(),
        with: Vec::new(),
    };
    for query in second {
        let plain = searcher.search(&query.query, HITS, &[]);
        let learnt = searcher.search(&query.query, HITS, &history);
        replay
            .without
            .push(Metrics::of(&searcher.ids(&plain), query));
        replay.with.push(Metrics::of(&searcher.ids(&learnt), query));
    }
    replay
}

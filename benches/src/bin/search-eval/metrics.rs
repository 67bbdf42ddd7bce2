//! Measures of a ranking.

use serde::{Deserialize, Serialize};

use crate::sets::LabelledQuery;

/// The measures of one query, or their mean over several.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Metrics {
    /// Share of the needed tools that is first.
    pub(crate) recall_1: f64,
    /// Share of the needed tools among the first five.
    pub(crate) recall_5: f64,
    /// Normalised discounted cumulative gain of the first five.
    pub(crate) ndcg_5: f64,
    /// Whether the first hit is a needed tool.
    #[serde(skip)]
    pub(crate) first_is_right: bool,
    /// For minimal pairs: 1 if the right tool is above the wrong one.
    pub(crate) right_above_wrong: Option<f64>,
}

impl Metrics {
    pub(crate) fn of(ids: &[&str], query: &LabelledQuery) -> Self {
        let place = |id: &str| ids.iter().position(|found| *found == id);
        let groups = query.gold_groups.iter();
        let places: Vec<Option<usize>> = groups
            .map(|group| group.iter().filter_map(|id| place(id)).min())
            .collect();
        let needed = places.len().max(1) as f64;
        let among = |first: usize| {
            let found = places.iter().flatten().filter(|place| **place < first);
            found.count() as f64 / needed
        };
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let found = places.iter().flatten().filter(|place| **place < 5);
        let ideal: f64 = (0..places.len().clamp(1, 5)).map(gain).sum();
        let best = places.iter().flatten().min();
        let above = |wrong: &String| {
            let right = best.copied().unwrap_or(usize::MAX);
            let is_above = right < place(wrong).unwrap_or(usize::MAX);
            f64::from(u8::from(is_above))
        };
        Self {
            recall_1: among(1),
            recall_5: among(5),
            ndcg_5: found.map(|place| gain(*place)).sum::<f64>() / ideal,
            first_is_right: best == Some(&0),
            right_above_wrong: query.wrong.as_ref().map(above),
        }
    }
}

/// The mean of each measure.
pub(crate) fn mean_of(all: &[Metrics]) -> Metrics {
    let mean =
        |of: &dyn Fn(&Metrics) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    let above: Vec<f64> = all.iter().filter_map(|one| one.right_above_wrong).collect();
    let share = above.iter().sum::<f64>() / above.len().max(1) as f64;
    Metrics {
        recall_1: mean(&|one| one.recall_1),
        recall_5: mean(&|one| one.recall_5),
        ndcg_5: mean(&|one| one.ndcg_5),
        first_is_right: false,
        right_above_wrong: (!above.is_empty()).then_some(share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_counts_once_and_order_matters() {
        let group = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let query = LabelledQuery {
            query: String::new(),
            gold_groups: vec![group(&["a", "b"]), group(&["c"])],
            wrong: Some("d".to_owned()),
        };
        let check = |ids: &[&str], expected: (f64, f64, f64)| {
            let metrics = Metrics::of(ids, &query);
            let found = (metrics.recall_1, metrics.recall_5);
            assert_eq!(found, (expected.0, expected.1), "{ids:?}");
            assert_eq!(metrics.right_above_wrong, Some(expected.2), "{ids:?}");
        };
        check(&["a", "b", "c", "d"], (0.5, 1.0, 1.0));
        check(&["d", "x", "y", "z", "w", "a"], (0.0, 0.0, 0.0));
        check(&[], (0.0, 0.0, 0.0));
    }
}

//! Selection of the best tools without sorting all.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::index::Index;

/// The best tools so far, at most `limit`.
pub(crate) struct TopK<'i> {
    index: &'i Index,
    limit: usize,
    worst_first: BinaryHeap<Ranked<'i>>,
    /// Score of the worst tool once the list is full.
    floor: f32,
}

struct Ranked<'i> {
    score: f32,
    tool: u32,
    index: &'i Index,
}

impl<'i> TopK<'i> {
    pub(crate) fn new(index: &'i Index, limit: usize) -> Self {
        let floor = f32::NEG_INFINITY;
        Self {
            index,
            limit,
            worst_first: BinaryHeap::new(),
            floor: if limit == 0 { f32::INFINITY } else { floor },
        }
    }

    /// Minimum score to be among the best.
    pub(crate) fn floor(&self) -> f32 {
        self.floor
    }

    pub(crate) fn offer(&mut self, tool: u32, score: f32) {
        // NaN would break the order.
        let score = if score.is_nan() { 0.0 } else { score };
        if score < self.floor || self.limit == 0 {
            return;
        }
        let new = Ranked {
            score,
            tool,
            index: self.index,
        };
        if self.worst_first.len() < self.limit {
            self.worst_first.push(new);
        } else if let Some(mut worst) = self.worst_first.peek_mut()
            && new < *worst
        {
            *worst = new;
        }
        if self.worst_first.len() == self.limit {
            self.floor = self
                .worst_first
                .peek()
                .map_or(self.floor, |worst| worst.score);
        }
    }

    /// Tools and scores, best first.
    pub(crate) fn into_best(self) -> Vec<(u32, f32)> {
        let sorted = self.worst_first.into_sorted_vec();
        sorted
            .into_iter()
            .map(|one| (one.tool, one.score))
            .collect()
    }
}

impl Ord for Ranked<'_> {
    /// Better tools are less: by score, then name, then position.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || {
            let name = |one: &Self| self.index.exposed(one.tool);
            name(self).cmp(name(other))
        };
        other
            .score
            .total_cmp(&self.score)
            .then_with(by_name)
            .then_with(|| self.tool.cmp(&other.tool))
    }
}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked<'_> {}

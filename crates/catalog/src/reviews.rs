//! The reviews of a server's definitions, with what was decided about them.

use std::collections::HashMap;

use pegboard_model::{Review, ReviewKind, ReviewState};

/// Rules that a note names.
const NAMED: usize = 3;

/// The review of one definition and its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewMark {
    review: Review,
    decision: Option<bool>,
    is_held: bool,
    note: Option<Box<str>>,
}

impl ReviewMark {
    /// Creates a mark. `decision` is a person's decision about exactly this version; `is_held` applies to a version
    /// without one.
    pub fn new(review: Review, decision: Option<bool>, is_held: bool) -> Self {
        let is_held = match decision {
            Some(accepted) => !accepted,
            None => is_held,
        };
        let mut mark = Self {
            review,
            decision,
            is_held,
            note: None,
        };
        mark.note = mark.note_text().map(String::into_boxed_str);
        mark
    }

    /// The review as it was at the discovery.
    pub fn review(&self) -> &Review {
        &self.review
    }

    /// The current state: a version that a person accepted is approved.
    pub fn state(&self) -> ReviewState {
        match self.decision {
            Some(true) => ReviewState::Approved,
            _ => self.review.state,
        }
    }

    /// Whether a person rejected it.
    pub fn is_rejected(&self) -> bool {
        self.decision == Some(false)
    }

    /// Whether models do not get it.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// A warning for people; `None` if the version is approved.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn note_text(&self) -> Option<String> {
        let what = match self.state() {
            ReviewState::Approved => return None,
            ReviewState::New => "is new".to_owned(),
            ReviewState::Changed => "changed after it was accepted".to_owned(),
            ReviewState::Flagged => {
                let rules: Vec<&str> = self
                    .review
                    .findings
                    .iter()
                    .map(|found| found.rule.as_str())
                    .collect();
                let more = rules.len().saturating_sub(NAMED);
                let named = rules
                    .iter()
                    .take(NAMED)
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ");
                match more {
                    0 => format!("is flagged ({named})"),
                    more => format!("is flagged ({named} and {more} more)"),
                }
            }
        };
        Some(match (self.is_rejected(), self.is_held) {
            (true, _) => format!("{what}, and was rejected"),
            (false, true) => format!("{what}, and awaits review"),
            (false, false) => what,
        })
    }
}

/// The reviews of one server. Most servers have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reviews {
    tools: HashMap<String, ReviewMark>,
    others: Vec<ReviewMark>,
}

impl Reviews {
    /// Returns the review of a definition.
    pub fn get(&self, kind: ReviewKind, name: &str) -> Option<&ReviewMark> {
        match kind {
            ReviewKind::Tool => self.tools.get(name),
            _ => self
                .others
                .iter()
                .find(|mark| mark.review.kind == kind && mark.review.name == name),
        }
    }

    /// Returns whether models do not get a definition.
    pub fn holds(&self, kind: ReviewKind, name: &str) -> bool {
        self.get(kind, name).is_some_and(ReviewMark::is_held)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.others.is_empty()
    }

    /// Returns all reviews, sorted by kind and name.
    pub fn all(&self) -> Vec<&ReviewMark> {
        let mut all: Vec<&ReviewMark> = self.tools.values().chain(&self.others).collect();
        all.sort_by_key(|mark| (mark.review.kind, &mark.review.name));
        all
    }
}

impl FromIterator<ReviewMark> for Reviews {
    fn from_iter<I: IntoIterator<Item = ReviewMark>>(marks: I) -> Self {
        let mut reviews = Self::default();
        for mark in marks {
            match mark.review.kind {
                ReviewKind::Tool => drop(reviews.tools.insert(mark.review.name.clone(), mark)),
                _ => reviews.others.push(mark),
            }
        }
        reviews
    }
}

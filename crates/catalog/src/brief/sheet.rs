//! A text with a budget.

use pegboard_guard::estimate_tokens;

use super::cost::cost;

/// What a list and a summary may cost, so that they stay below 500 tokens: hostile text costs up to 7 %
/// more than it is counted.
pub(crate) const LIST_TOKENS: u64 = 460;
/// What a description may cost by the estimate that is right for real tools, so that it stays below 400.
const DESCRIPTION_TOKENS: u32 = 360;
/// What it may cost when it is counted with suspicion: hostile ones go beyond 400, but not far.
const HOSTILE_DESCRIPTION_TOKENS: u64 = 470;

/// Whether a description is short enough.
pub(crate) fn fits_description(text: &str) -> bool {
    estimate_tokens(text) <= DESCRIPTION_TOKENS && cost(text) <= HOSTILE_DESCRIPTION_TOKENS * 1000
}

/// A text that takes only what it has room for.
pub(crate) struct Sheet {
    text: String,
    left: u64,
}

impl Sheet {
    /// An empty text with room for so many tokens.
    pub(crate) fn of(tokens: u64) -> Self {
        Self {
            text: String::new(),
            left: tokens * 1000,
        }
    }

    /// Adds a piece if it fits.
    #[must_use]
    pub(crate) fn add(&mut self, piece: &str) -> bool {
        match self.left.checked_sub(cost(piece)) {
            Some(left) => {
                self.left = left;
                self.text.push_str(piece);
                true
            }
            None => false,
        }
    }

    /// Sets room aside for a text that comes later; without the room nothing more fits.
    #[must_use]
    pub(crate) fn keeping_room_for(mut self, later: &str) -> Self {
        self.left = self.left.saturating_sub(cost(later));
        self
    }

    /// The text, with what room was kept for.
    pub(crate) fn ended_with(mut self, later: &str) -> String {
        self.text.push_str(later);
        self.text
    }
}

//! A text with a token budget.

use pegboard_guard::estimate_tokens;

use super::token_cost::cost;

/// Token budget of a list or summary, which must stay below 500 tokens: hostile text costs up to 7 % more than
/// estimated.
pub(crate) const LIST_TOKENS: u64 = 460;
/// Limit of a description by the estimate that is right for real tools, so that it stays below 400 tokens.
const DESCRIPTION_TOKENS: u32 = 360;
/// Limit of a description by the upper estimate. Hostile ones exceed 400 tokens, but not by much.
const HOSTILE_DESCRIPTION_TOKENS: u64 = 470;

/// Returns whether a description is short enough.
pub(crate) fn fits_description(text: &str) -> bool {
    estimate_tokens(text) <= DESCRIPTION_TOKENS && cost(text) <= HOSTILE_DESCRIPTION_TOKENS * 1000
}

/// A text that accepts only what fits into its budget.
pub(crate) struct BudgetedText {
    text: String,
    left: u64,
}

impl BudgetedText {
    /// Creates an empty text with a budget in tokens.
    pub(crate) fn of(tokens: u64) -> Self {
        Self {
            text: String::new(),
            left: tokens * 1000,
        }
    }

    /// Appends a piece if it fits, and returns whether it did.
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

    /// Reserves budget for a text that is appended at the end. If there is not enough left, nothing more fits.
    #[must_use]
    pub(crate) fn reserving(mut self, later: &str) -> Self {
        self.left = self.left.saturating_sub(cost(later));
        self
    }

    /// Returns the text followed by the ending for which budget was reserved.
    pub(crate) fn ending_with(mut self, later: &str) -> String {
        self.text.push_str(later);
        self.text
    }
}

//! What people and tools said: kept only where that was asked for, and never whole when it is long.

use crate::redactor::{Redactor, cut};

/// Most bytes of one text that are exported.
const CONTENT_MAX: usize = 16 * 1024;

/// A text that has not been redacted yet. It has no `Debug`, so that it cannot be printed on the way.
pub(crate) struct Content {
    text: String,
    was_cut: bool,
}

impl Content {
    /// Copies as much of a text as is needed to redact what will be exported.
    pub(crate) fn of(text: &str, redactor: &Redactor) -> Self {
        let kept = cut(text, CONTENT_MAX.saturating_add(redactor.margin()));
        Self {
            text: kept.to_owned(),
            was_cut: kept.len() < text.len(),
        }
    }

    /// The text as it may be exported.
    pub(crate) fn cleaned(&self, redactor: &Redactor) -> String {
        redactor.clean_cut(&self.text, self.was_cut, CONTENT_MAX)
    }

    pub(crate) fn weight(&self) -> usize {
        self.text.len()
    }
}

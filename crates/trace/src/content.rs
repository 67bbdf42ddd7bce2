//! Captured content: arguments, results and messages, truncated.

use crate::redactor::{Redactor, cut};

/// Maximum bytes of one exported text.
const CONTENT_MAX: usize = 16 * 1024;

/// A text before redaction. Not `Debug`, so that it cannot be printed by accident.
pub(crate) struct Content {
    text: String,
    was_cut: bool,
}

impl Content {
    /// Copies the part of a text that is needed to redact its exported start.
    pub(crate) fn of(text: &str, redactor: &Redactor) -> Self {
        let kept = cut(text, CONTENT_MAX.saturating_add(redactor.margin()));
        Self {
            text: kept.to_owned(),
            was_cut: kept.len() < text.len(),
        }
    }

    /// The redacted text for export.
    pub(crate) fn cleaned(&self, redactor: &Redactor) -> String {
        redactor.clean_cut(&self.text, self.was_cut, CONTENT_MAX)
    }

    pub(crate) fn weight(&self) -> usize {
        self.text.len()
    }
}

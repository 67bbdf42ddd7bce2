//! One-line summaries of tools.

use pegboard_model::{ExposedName, ServerName};
use unicode_segmentation::UnicodeSegmentation;

use crate::sentence::{first_sentence, one_line};

/// Maximum number of characters of a summary.
pub const SUMMARY_MAX: usize = 80;
const ELLIPSIS: char = '…';

/// Summarizes a description: its first sentence, truncated at a word. `None` if the description has no text.
pub fn summarise(description: &str) -> Option<String> {
    let sentence = first_sentence(description);
    (!sentence.is_empty()).then(|| shorten(&sentence))
}

/// The summary of a tool without a description.
pub fn fallback_summary(server: &ServerName, tool: &str) -> String {
    let name = one_line(tool);
    if name.is_empty() {
        return shorten(&format!("{server} tool: {}", ExposedName::of(server, tool)));
    }
    shorten(&format!("{server} tool: {name}"))
}

/// Shortens a text to one line of at most [`SUMMARY_MAX`] characters, truncated at a word if possible and never inside
/// a grapheme cluster.
pub fn shorten(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= SUMMARY_MAX {
        return line;
    }
    let unstopped = line.strip_suffix('.').unwrap_or(&line);
    if unstopped.chars().count() <= SUMMARY_MAX {
        return unstopped.to_owned();
    }
    let room = SUMMARY_MAX - 1;
    let mut end = 0;
    let mut used = 0;
    for (at, grapheme) in line.grapheme_indices(true) {
        used += grapheme.chars().count();
        if used > room {
            break;
        }
        end = at + grapheme.len();
    }
    if end == 0 {
        // A single grapheme cluster fills the line: truncate inside it.
        end = line
            .char_indices()
            .nth(room)
            .map_or(line.len(), |(at, _)| at);
    }
    let kept = line.get(..end).unwrap_or_default();
    let next_is_space = line.get(end..).is_some_and(|rest| rest.starts_with(' '));
    let kept = match kept.rfind(' ') {
        Some(space) if !next_is_space && space >= kept.len() / 2 => {
            kept.get(..space).unwrap_or(kept)
        }
        _ => kept,
    };
    let mut short = kept
        .trim_end_matches([' ', ',', ';', ':', '-', '('])
        .to_owned();
    short.push(ELLIPSIS);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r_reg_09_long_sentences_are_cut_at_a_word() {
        let long = "Search for code across all public repositories on the platform using the full query syntax. More.";
        let short = summarise(long).unwrap();
        assert_eq!(
            short,
            "Search for code across all public repositories on the platform using the full…"
        );
        assert!(short.chars().count() <= SUMMARY_MAX);
        assert_eq!(shorten(&format!("{}.", "x".repeat(80))), "x".repeat(80));
    }

    #[test]
    fn r_reg_09_a_cut_never_splits_what_is_seen_as_one_character() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let short = shorten(&family.repeat(40));
        assert!(short.chars().count() <= SUMMARY_MAX);
        assert_eq!(
            short.trim_end_matches('…').len() % family.len(),
            0,
            "{short}"
        );
        assert_eq!(shorten(&"日".repeat(100)).chars().count(), SUMMARY_MAX);
    }

    #[test]
    fn r_disc_09_a_tool_without_words_gets_a_line() {
        let server = ServerName::parse("github").unwrap();
        assert_eq!(
            fallback_summary(&server, "close_issue"),
            "github tool: close_issue"
        );
        assert!(fallback_summary(&server, "\u{1b}").starts_with("github tool: github__"));
        assert_eq!(summarise(" \n"), None);
    }

    proptest! {
        #[test]
        fn r_reg_09_summaries_have_at_most_80_characters(text in "(?s).{0,400}") {
            if let Some(summary) = summarise(&text) {
                prop_assert!(summary.chars().count() <= SUMMARY_MAX, "{}", summary);
                prop_assert!(!summary.chars().any(char::is_control));
                prop_assert!(!summary.is_empty());
            }
        }
    }
}

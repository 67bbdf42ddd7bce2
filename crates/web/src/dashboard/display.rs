//! Formatting for display: untrusted text escaped, numbers with separators, relative times.

use std::time::Duration;

use maud::{Markup, Render, html};
use pegboard_model::{Timestamp, UntrustedText};

use super::indent::indented;

/// Largest length of untrusted text in one line.
const LINE: usize = 300;
/// Largest length of untrusted text in a block: more than any legitimate definition, little enough for a page.
const BLOCK: usize = 200_000;

/// Untrusted text in one line. Hidden characters are escaped; markup is escaped by the template.
pub(crate) fn line(text: &str) -> String {
    UntrustedText::new(text).shortened(LINE).to_string()
}

/// Untrusted text with its line breaks.
pub(crate) fn block(text: &str) -> String {
    UntrustedText::block(text).shortened(BLOCK).to_string()
}

/// Indented JSON, otherwise verbatim.
pub(crate) fn pretty(json: &str) -> String {
    block(&indented(json))
}

/// A number with separators.
pub(crate) fn thousands(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun, in the plural if needed.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number as u64))
}

/// A duration in its largest unit.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A relative time; the page's script updates it and adds the exact time.
#[derive(Clone, Copy)]
pub(crate) struct Ago {
    pub(crate) now: Timestamp,
    pub(crate) then: Option<Timestamp>,
}

impl Render for Ago {
    fn render(&self) -> Markup {
        let Some(then) = self.then else {
            return html! { span.faint { "never" } };
        };
        let passed = self.now.since(then);
        let text = match passed.as_secs() {
            0 => "just now".to_owned(),
            _ => format!("{} ago", duration(passed)),
        };
        html! { span.nowrap data-at=(then.0) { (text) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(thousands(1_174_647_u64), "1,174,647");
        assert_eq!(count(1, "tool"), "1 tool");
        assert_eq!(count(2500, "tool"), "2,500 tools");
        let ago = |now, then| {
            Ago {
                now: Timestamp(now),
                then,
            }
            .render()
            .into_string()
        };
        assert!(ago(200_000, Some(Timestamp(20_000))).contains(">3 min ago<"));
        assert!(ago(200_000, None).contains("never"));
        assert!(ago(5, Some(Timestamp(5))).contains("just now"));
    }

    #[test]
    fn r_sec_01_foreign_text_can_neither_hide_nor_become_markup() {
        let shown = html! { (line("<b>\u{202e}x\u{200b}\n")) }.into_string();
        assert_eq!(shown, "&lt;b&gt;\\u{202e}x\\u{200b}\\n");
        assert_eq!(block("a\nb\u{7}"), "a\nb\\u{7}");
        assert_eq!(pretty(r#"{"a":1}"#), "{\n  \"a\": 1\n}");
        assert!(line(&"x".repeat(5000)).chars().count() <= LINE + 1);
    }
}

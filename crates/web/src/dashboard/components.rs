//! Pieces of markup that several screens use.

use maud::{Markup, html};
use pegboard_model::ErrorSummary;

use super::display::{block, line, thousands};
use super::request::query_string;

/// Nothing is there yet: what it means and what to do next.
pub(crate) fn empty(title: &str, text: &str, actions: &Markup) -> Markup {
    html! {
        div.empty {
            strong { (title) }
            p { (inline_code(text)) }
            div.row { (actions) }
        }
    }
}

/// A text to read closely, with a button that copies it. The text is foreign.
pub(crate) fn code(text: &str) -> Markup {
    html! {
        div.code {
            pre tabindex="0" { (block(text)) }
            button.copy.slim type="button" data-copy { "Copy" }
        }
    }
}

/// The same for what nobody pastes anywhere.
pub(crate) fn plain_code(text: &str) -> Markup {
    html! { div.code { pre tabindex="0" { (block(text)) } } }
}

/// The same for what a person approves: nothing of it is below the edge of a box that scrolls.
pub(crate) fn whole_code(text: &str) -> Markup {
    html! { div.code.whole { pre tabindex="0" { (block(text)) } } }
}

/// A failure with its code, reason and next step.
pub(crate) fn failure(title: &str, note: &ErrorSummary) -> Markup {
    html! {
        div.callout.bad role="alert" {
            strong { (title) }
            (message(&note.message))
            span.muted { (inline_code(&note.remedy)) " " code { (note.reason.code()) } }
        }
    }
}

/// A message; what follows its first line is what a program wrote, and is shown line by line.
pub(crate) fn message(text: &str) -> Markup {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    html! {
        span { (inline_code(first)) }
        @if !rest.trim().is_empty() { div.code.log { pre tabindex="0" { (block(rest)) } } }
    }
}

/// A sentence in which `…` marks what is typed.
pub(crate) fn inline_code(text: &str) -> Markup {
    html! {
        @for (at, piece) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (line(piece)) } } @else { (line(piece)) }
        }
    }
}

/// Parts of a whole as one bar. Styles inside a page are forbidden, so the widths are those of a drawing.
pub(crate) fn bar(label: &str, parts: &[(&str, f64)]) -> Markup {
    let whole: f64 = parts.iter().map(|(_, part)| part.max(0.0)).sum();
    let scale = if whole > 0.0 { 1000.0 / whole } else { 0.0 };
    let mut from = 0.0;
    let placed = parts
        .iter()
        .filter(|(_, part)| *part > 0.0)
        .map(|(class, part)| {
            let start = from;
            from += part * scale;
            (class, start, part * scale)
        });
    let placed: Vec<_> = placed.collect();
    html! {
        svg.bar viewBox="0 0 1000 6" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (class, x, width) in placed {
                rect class=(class) x=(format!("{x:.1}")) y="0" width=(format!("{width:.1}")) height="6" {}
            }
        }
    }
}

/// Where one is in a list, and the ways to the rest of it.
pub(crate) struct Pager<'a> {
    pub(crate) path: &'a str,
    /// What stays in the address.
    pub(crate) values: &'a [(&'a str, &'a str)],
    pub(crate) page: usize,
    pub(crate) size: usize,
    pub(crate) total: usize,
    pub(crate) noun: &'a str,
}

impl Pager<'_> {
    pub(crate) fn render(&self) -> Markup {
        let first = (self.page - 1) * self.size;
        let last = (first + self.size).min(self.total);
        let pages = self.total.div_ceil(self.size).max(1);
        html! {
            nav.pager aria-label="Pages" {
                span.num {
                    @if self.total == 0 { "No " (self.noun) }
                    @else { (thousands(first as u64 + 1)) "–" (thousands(last as u64)) " of " (thousands(self.total as u64)) " " (self.noun) }
                }
                @if pages > 1 {
                    span.row {
                        (self.link("Previous", self.page > 1, self.page.saturating_sub(1)))
                        (self.link("Next", self.page < pages, self.page + 1))
                    }
                }
            }
        }
    }

    fn link(&self, word: &str, is_there: bool, page: usize) -> Markup {
        let number = page.to_string();
        let mut values = self.values.to_vec();
        if page > 1 {
            values.push(("page", &number));
        }
        let href = is_there.then(|| format!("{}{}", self.path, query_string(&values)));
        html! {
            a.button.slim href=[href] aria-disabled=[(!is_there).then_some("true")] data-page { (word) }
        }
    }
}

/// The page that is there, when the wanted one lies behind the end.
pub(crate) fn clamp_page(page: usize, size: usize, total: usize) -> usize {
    page.min(total.div_ceil(size).max(1))
}

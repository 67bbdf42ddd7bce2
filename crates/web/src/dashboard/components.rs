//! Markup shared by several screens.

use maud::{Markup, html};
use pegboard_model::ErrorSummary;

use super::display::{block, line, thousands};
use super::request::query_string;

/// The empty state of a list, with next steps.
pub(crate) fn empty(title: &str, text: &str, actions: &Markup) -> Markup {
    html! {
        div.empty {
            strong { (title) }
            p { (inline_code(text)) }
            div.row { (actions) }
        }
    }
}

/// A block of untrusted text with a copy button.
pub(crate) fn code(text: &str) -> Markup {
    html! {
        div.code {
            pre tabindex="0" { (block(text)) }
            button.copy.slim type="button" data-copy { "Copy" }
        }
    }
}

/// A block of untrusted text without a copy button.
pub(crate) fn plain_code(text: &str) -> Markup {
    html! { div.code { pre tabindex="0" { (block(text)) } } }
}

/// A block for text that a person approves; it does not scroll, so all of it is visible.
pub(crate) fn whole_code(text: &str) -> Markup {
    html! { div.code.whole { pre tabindex="0" { (block(text)) } } }
}

/// An error with its code, reason and next step.
pub(crate) fn failure(title: &str, note: &ErrorSummary) -> Markup {
    html! {
        div.callout.bad role="alert" {
            strong { (title) }
            (message(&note.message))
            span.muted { (inline_code(&note.remedy)) " " code { (note.reason.code()) } }
        }
    }
}

/// A message. Lines after the first are output of a program and keep their line breaks.
pub(crate) fn message(text: &str) -> Markup {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    html! {
        span { (inline_code(first)) }
        @if !rest.trim().is_empty() { div.code.log { pre tabindex="0" { (block(rest)) } } }
    }
}

/// Text in which backticks mark inline code.
pub(crate) fn inline_code(text: &str) -> Markup {
    html! {
        @for (at, piece) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (line(piece)) } } @else { (line(piece)) }
        }
    }
}

/// A stacked bar. Inline styles are forbidden, so it is an SVG.
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

/// The pager of a list.
pub(crate) struct Pager<'a> {
    pub(crate) path: &'a str,
    /// Query parameters to keep.
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

    fn link(&self, label: &str, is_enabled: bool, page: usize) -> Markup {
        let number = page.to_string();
        let mut values = self.values.to_vec();
        if page > 1 {
            values.push(("page", &number));
        }
        let href = is_enabled.then(|| format!("{}{}", self.path, query_string(&values)));
        html! {
            a.button.slim href=[href] aria-disabled=[(!is_enabled).then_some("true")] data-page { (label) }
        }
    }
}

/// Limits a page number to the existing pages.
pub(crate) fn clamp_page(page: usize, size: usize, total: usize) -> usize {
    page.min(total.div_ceil(size).max(1))
}

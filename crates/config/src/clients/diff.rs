//! The difference between two versions of a client's file, for people.

use pegboard_model::UntrustedText;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::mask::VisibleParts;
use super::text::{ClientText, Container};

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// Longest part of a line that is shown. A whole file may be on one line.
const SHOWN_CHARACTERS: usize = 160;

/// A version of the file, by lines.
struct Version<'t> {
    lines: Vec<&'t str>,
    starts: Vec<usize>,
    parts: Option<VisibleParts>,
}

impl<'t> Version<'t> {
    fn new(text: Option<&'t ClientText>, container: &Container) -> Self {
        let content = text.map_or("", |text| text.source.text.as_str());
        let lines: Vec<&str> = content.split_inclusive('\n').collect();
        let starts = lines.iter().scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        });
        Self {
            starts: starts.collect(),
            lines,
            parts: text.map(|text| VisibleParts::new(text, container)),
        }
    }

    /// A line with its secrets masked, from an offset in it.
    fn shown(&self, index: usize, from: usize) -> String {
        let line = self.lines.get(index).copied().unwrap_or_default();
        let start = self.starts.get(index).copied().unwrap_or_default();
        let line = line.trim_end_matches(['\r', '\n']);
        // Only what may be shown is masked: a line may have megabytes.
        let bytes = SHOWN_CHARACTERS * 4;
        let to = floor_boundary(line, from.saturating_add(bytes));
        let from = floor_boundary(line, from);
        let part = line.get(from..to).unwrap_or_default();
        let masked = match &self.parts {
            Some(parts) => parts.mask(part, start + from),
            None => String::new(),
        };
        let lead = if from > 0 { "…" } else { "" };
        let shown = UntrustedText::new(&masked).shortened(SHOWN_CHARACTERS);
        format!("{lead}{shown}")
    }
}

/// Formats the difference as a unified diff. Values that may be secrets are masked.
pub(crate) fn unified_diff(
    before: Option<&ClientText>,
    after: Option<&ClientText>,
    container: &Container,
) -> String {
    let (old, new) = (
        Version::new(before, container),
        Version::new(after, container),
    );
    let ops = capture_diff_slices(Algorithm::Myers, &old.lines, &new.lines);
    let mut diff = String::new();
    for group in group_diff_ops(ops, CONTEXT_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let old_len = last.old_range().end - old_start;
        let new_len = last.new_range().end - new_start;
        diff.push_str(&format!(
            "@@ -{},{old_len} +{},{new_len} @@\n",
            old_start + usize::from(old_len > 0),
            new_start + usize::from(new_len > 0)
        ));
        for op in &group {
            push_op(&mut diff, op, &old, &new);
        }
    }
    diff
}

fn push_op(diff: &mut String, op: &DiffOp, old: &Version<'_>, new: &Version<'_>) {
    if matches!(op, DiffOp::Equal { .. }) {
        for index in op.new_range() {
            diff.push_str(&format!(" {}\n", new.shown(index, 0)));
        }
        return;
    }
    // In a long line the place of the change is shown.
    let pair = (op.old_range().len() == 1 && op.new_range().len() == 1)
        .then(|| (op.old_range().start, op.new_range().start));
    let from = pair.map_or(0, |(old_index, new_index)| {
        let line = |version: &Version<'_>, index: usize| {
            version
                .lines
                .get(index)
                .copied()
                .unwrap_or_default()
                .to_owned()
        };
        change_start(&line(old, old_index), &line(new, new_index))
    });
    for index in op.old_range() {
        diff.push_str(&format!("-{}\n", old.shown(index, from)));
    }
    for index in op.new_range() {
        diff.push_str(&format!("+{}\n", new.shown(index, from)));
    }
}

/// Where to start showing two versions of a line: a little before they differ, or at 0 for short lines.
fn change_start(old: &str, new: &str) -> usize {
    if old.len().max(new.len()) <= SHOWN_CHARACTERS {
        return 0;
    }
    let pairs = old.bytes().zip(new.bytes());
    let common = pairs.take_while(|(old, new)| old == new).count();
    common.saturating_sub(SHOWN_CHARACTERS / 4)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

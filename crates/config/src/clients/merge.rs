//! Undoes a change in a text that was changed again since, line by line.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A range of lines of the connected text, and the lines that were there before.
struct Hunk {
    start: usize,
    end: usize,
    old_start: usize,
    old_end: usize,
}

/// Takes the change from `before` to `after` back in `current`. Returns `None` if lines of that change were changed
/// since.
pub(crate) fn undo_lines(before: &str, after: &str, current: &str) -> Option<String> {
    let [before, after, current] = [before, after, current].map(lines);
    let mut text = String::new();
    let mut at = 0;
    let ops = capture_diff_slices(Algorithm::Myers, &after, &current);
    for hunk in hunks(&before, &after) {
        let (start, end) = unchanged(&ops, &hunk)?;
        text.extend(current.get(at..start)?.iter().copied());
        text.extend(before.get(hunk.old_start..hunk.old_end)?.iter().copied());
        at = end;
    }
    text.extend(current.get(at..)?.iter().copied());
    Some(text)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunks(before: &[&str], after: &[&str]) -> Vec<Hunk> {
    let ops = capture_diff_slices(Algorithm::Myers, after, before);
    let changed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changed
        .map(|op| Hunk {
            start: op.old_range().start,
            end: op.old_range().end,
            old_start: op.new_range().start,
            old_end: op.new_range().end,
        })
        .collect()
}

/// The range of a hunk in the current text, if its lines are unchanged. A hunk without lines, where servers were taken
/// out, needs an unchanged line on one side at least.
fn unchanged(ops: &[DiffOp], hunk: &Hunk) -> Option<(usize, usize)> {
    ops.iter().find_map(|op| {
        let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *op
        else {
            return None;
        };
        let contains = old_index <= hunk.start && hunk.end <= old_index + len;
        let start = new_index + hunk.start.checked_sub(old_index)?;
        contains.then_some((start, start + hunk.end - hunk.start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, current: &str, expected: Option<&str>) {
        assert_eq!(undo_lines(before, after, current).as_deref(), expected);
    }

    #[test]
    fn r_cfg_07_a_change_is_undone_among_later_changes() {
        let (before, after) = ("a\nb\nc\nd\n", "a\nb\nNEW\nd\n");
        check(before, after, after, Some(before));
        check(before, after, "a\nb\nNEW\nd\ne\n", Some("a\nb\nc\nd\ne\n"));
        check(before, after, "0\na\nb\nNEW\n", Some("0\na\nb\nc\n"));
        check(before, after, "a\nb\nOTHER\nd\n", None);
        check("a\nb", "a\nb\nc", "x\nb\nc", Some("x\nb"));
        check("a\nb\nc\n", "a\nc\n", "a\nc\nd\n", Some("a\nb\nc\nd\n"));
        check("a\n", "a\n", "z\n", Some("z\n"));
    }
}

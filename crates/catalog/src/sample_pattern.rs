//! Generates a short text that matches a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Pattern nodes that are visited, counting each repetition. This also bounds the text.
const STEPS: usize = 5_000;
/// Characters that are preferred in character classes, so that samples look natural.
const PREFERRED: &[char] = &['a', 'A', '1', '0', '-'];

/// Returns a short match of a pattern: first alternatives, and as few repetitions as possible but at least one.
/// Returns `None` if the pattern uses features that only backtracking engines support.
pub(crate) fn sample_pattern(pattern: &str) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    let mut steps = STEPS;
    write_sample(&hir, &mut text, &mut steps)?;
    Some(text)
}

/// Recursion is bounded: the parser rejects patterns nested deeper than 250 levels.
fn write_sample(hir: &Hir, text: &mut String, steps: &mut usize) -> Option<()> {
    *steps = steps.checked_sub(1)?;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(sample_class(class)?),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.max(1).min(most) {
                write_sample(&repetition.sub, text, steps)?;
            }
        }
        HirKind::Capture(capture) => write_sample(&capture.sub, text, steps)?,
        HirKind::Concat(parts) => parts
            .iter()
            .try_for_each(|part| write_sample(part, text, steps))?,
        HirKind::Alternation(parts) => write_sample(parts.first()?, text, steps)?,
    }
    Some(())
}

fn sample_class(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => class
            .iter()
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    let held = |wanted: &char| {
        ranges
            .iter()
            .any(|(start, end)| start <= wanted && wanted <= end)
    };
    PREFERRED
        .iter()
        .copied()
        .find(held)
        .or_else(|| Some(ranges.first()?.0))
}

#[cfg(test)]
mod tests {
    use super::sample_pattern;

    #[test]
    fn patterns_are_read_plainly() {
        for (pattern, expected) in [
            (r"^gls_[a-zA-Z0-9_-]+$", Some("gls_a")),
            (r"^[A-Z][A-Z0-9]+-\d+$", Some("AA-1")),
            (r"^I?\d+[:|-]\d+(?:;\d+)*$", Some("I1-1;1")),
            (r"^(open|closed)$", Some("open")),
            (r"^\d{12}$", Some("111111111111")),
            (r"^(?=a)b", None),
            (r"(?:a{1000}){1000}", None),
            (r"(?:(?:a?){4000000}){4000000}", None),
            ("(", None),
        ] {
            assert_eq!(sample_pattern(pattern).as_deref(), expected, "{pattern}");
        }
    }
}

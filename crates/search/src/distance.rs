//! Number of typos between two words: an extra, missing or wrong letter, or two swapped letters.

/// The number of typos between two words; `None` if there are more than `max`.
pub(crate) fn typos(one: &str, other: &str, max: u8) -> Option<u8> {
    if one == other {
        return Some(0);
    }
    let front = common(one.chars(), other.chars());
    let (one, other) = (one.get(front..)?, other.get(front..)?);
    let back = common(one.chars().rev(), other.chars().rev());
    let one = one.get(..one.len() - back)?;
    let other = other.get(..other.len() - back)?;

    // With a single typo, only a few letters differ after removing the shared ends.
    let (mut these, mut those) = (one.chars(), other.chars());
    let first = (these.next(), these.next(), these.next());
    let second = (those.next(), those.next(), those.next());
    match (first, second) {
        ((None, ..), (_, None, _)) | ((_, None, _), (None, ..)) | ((_, None, _), (_, None, _)) => {
            return Some(1);
        }
        ((a, b, None), (c, d, None)) if a == d && b == c => return Some(1),
        _ => {}
    }
    if max < 2 || one.len().abs_diff(other.len()) > 4 * usize::from(max) {
        return None;
    }
    let count = strsim::osa_distance(one, other);
    u8::try_from(count).ok().filter(|count| *count <= max)
}

/// Length in bytes of the common prefix.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other)
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn typos_are_counted() {
        for (one, other, expected) in [
            ("issue", "issue", Some(0)),
            ("issue", "isue", Some(1)),
            ("issue", "isseu", Some(1)),
            ("issue", "lssue", Some(1)),
            ("issue", "isssue", Some(1)),
            ("aab", "ab", Some(1)),
            ("größe", "grösse", Some(2)),
            ("issue", "isu", Some(2)),
            ("create", "delete", None),
        ] {
            assert_eq!(typos(one, other, 2), expected, "{one} {other}");
        }
        assert_eq!(typos("issue", "isu", 1), None);
    }

    proptest! {
        #[test]
        fn the_fast_path_agrees_with_the_full_distance(one in "[ab]{0,6}", other in "[abä]{0,6}") {
            let long = strsim::osa_distance(&one, &other);
            for most in 1..=2 {
                let expected = u8::try_from(long).ok().filter(|count| *count <= most);
                prop_assert_eq!(typos(&one, &other, most), expected);
            }
        }
    }
}

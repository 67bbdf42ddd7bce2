//! Checks whether a URI matches a URI template.

/// Expressions of one template that are processed; real templates have a handful.
const MAX_EXPRESSIONS: usize = 64;

/// Bytes of a URI that is matched. Longer templates are not accepted anyway.
const MAX_URI_BYTES: usize = 8 * 1024;

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// An expression; `may_hold_slashes` says whether its value can contain `/`.
    Value {
        may_hold_slashes: bool,
    },
}

/// Returns whether a URI matches an RFC 6570 template. Simple expressions (`{id}`) match text without slashes;
/// reserved and fragment expressions (`{+path}`, `{#part}`) and those of higher levels match any text. An expression
/// may be empty. A malformed template matches nothing. A URI with `.` or `..` segments matches no template,
/// because it denotes another URI, which may be outside of what the template describes.
pub(crate) fn matches(template: &str, uri: &str) -> bool {
    uri.len() <= MAX_URI_BYTES
        && parts(template).is_some_and(|parts| fits(&parts, uri))
        && !has_dot_segments(uri)
}

/// Returns whether a URI has a `.` or `..` segment, including percent-encoded dots and slashes and backslashes: a
/// server may decode the URI before it uses it as a path.
fn has_dot_segments(uri: &str) -> bool {
    let mut decoded = uri.to_ascii_lowercase();
    // Doubly encoded characters begin with an encoded percent sign. Each replacement shortens the text.
    while let Some(at) = decoded.find("%25") {
        decoded.replace_range(at..at + 3, "%");
    }
    let decoded = decoded.replace("%2e", ".").replace("%2f", "/");
    let decoded = decoded.replace("%5c", "/");
    decoded
        .split(['/', '\\', '?', '#', '&', '=', ':', ';'])
        .any(|segment| matches!(segment, "." | ".."))
}

/// Returns whether a template fixes the scheme of its URIs, as `file:///{+path}` does and `{+any}` does not.
pub(crate) fn names_scheme(template: &str) -> bool {
    let fixed = template.split('{').next().unwrap_or_default();
    let scheme = fixed.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}')?;
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let simple = expression.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if expression.is_empty() || parts.len() > 2 * MAX_EXPRESSIONS {
            return None;
        }
        parts.push(Part::Value {
            may_hold_slashes: !simple,
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Some(parts)
}

/// Tracks all end positions that are possible so far, so that the effort is at most the number of parts times the
/// length of the URI.
fn fits(parts: &[Part<'_>], uri: &str) -> bool {
    let uri = uri.as_bytes();
    let mut reached = vec![false; uri.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in parts {
        let mut next = vec![false; uri.len() + 1];
        match part {
            Part::Text(text) => {
                for (at, _) in reached.iter().enumerate().filter(|(_, here)| **here) {
                    let follows = uri
                        .get(at..)
                        .is_some_and(|rest| rest.starts_with(text.as_bytes()));
                    if let Some(end) = next.get_mut(at + text.len()).filter(|_| follows) {
                        *end = true;
                    }
                }
            }
            Part::Value { may_hold_slashes } => {
                let mut inside = false;
                for (at, end) in next.iter_mut().enumerate() {
                    let before = at.checked_sub(1).and_then(|at| uri.get(at));
                    let broken = !may_hold_slashes && before == Some(&b'/');
                    inside = (inside && !broken) || reached.get(at) == Some(&true);
                    *end = inside;
                }
            }
        }
        reached = next;
        if !reached.contains(&true) {
            return false;
        }
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: bool) {
        assert_eq!(matches(template, uri), expected, "{template} {uri}");
    }

    #[test]
    fn r_gate_03_a_uri_is_matched_with_a_template() {
        check("test://static", "test://static", true);
        check("test://static", "test://static/", false);
        check("test://{id}/data", "test://7/data", true);
        check("test://{id}/data", "test:///data", true);
        check("test://{id}/data", "test://7/8/data", false);
        check("test://{id}/data", "test://7/dat", false);
        check("file:///{+path}", "file:///a/b.txt", true);
        check("file:///{path}", "file:///a/b.txt", false);
        check("a://{x}-{y}.{z}", "a://1-2-3.4", true);
        check("a://{x}-{y}", "a://1", false);
        check("a://x{?q,n}", "a://x?q=1&n=2", true);
        check("a://x{#part}", "a://x#p", true);
        check("a://{open", "a://open", false);
        check("a://{}", "a://", false);
        check("{x}", "日本", true);
    }

    #[test]
    fn r_sec_06_a_uri_with_dot_segments_fits_no_template() {
        for uri in [
            "file:///docs/../etc/shadow",
            "file:///docs/a/../../etc/shadow",
            "file:///docs/./a",
            "file:///docs/..",
            "file:///docs/%2e%2e/etc/shadow",
            "file:///docs/.%2E/etc/shadow",
            "file:///docs/a%2f..%2F..%2fetc",
            "file:///docs/%252e%252e/etc",
            "file:///docs/..\\etc",
            "file:///docs/..%5cetc",
            "file:///docs/x?path=../etc",
        ] {
            check("file:///docs/{+path}", uri, false);
            check("{+any}", uri, false);
        }
        check("file:///docs/{name}", "file:///docs/..", false);
        for uri in [
            "file:///docs/a..b/.hidden",
            "file:///docs/v1.2/...",
            "file:///docs/a%20b",
            "file:///docs/100%25",
        ] {
            check("file:///docs/{+path}", uri, true);
        }
    }

    #[test]
    fn r_sec_06_a_template_for_everything_names_no_scheme() {
        for (template, expected) in [
            ("file:///{+path}", true),
            ("git+ssh://{host}", true),
            ("{+any}", false),
            ("{scheme}://x", false),
            ("x{+any}", false),
            (":{x}", false),
            ("", false),
        ] {
            assert_eq!(names_scheme(template), expected, "{template}");
        }
    }

    proptest! {
        #[test]
        fn r_sec_01_any_template_and_uri_get_an_answer(template in "[a{}+/é]{0,60}", uri in "[aé/]{0,60}") {
            let _ = matches(&template, &uri);
            prop_assert_eq!(matches("{+any}", &uri), true);
        }

        #[test]
        fn a_filled_template_fits(id in "[a-z0-9]{0,9}", path in "[a-z/]{0,20}") {
            let uri = format!("s://{id}/of/{path}.txt");
            prop_assert_eq!(matches("s://{id}/of/{+path}.txt", &uri), true);
        }
    }
}

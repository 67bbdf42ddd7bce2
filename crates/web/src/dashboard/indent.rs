//! Indents JSON without parsing it: what a person approves must not lose a digit, a duplicate key, or the rest of
//! truncated text.

/// Largest indentation; deeper levels stay at this one.
const LEVELS: usize = 40;

/// Puts each member on its own line. Only white space between tokens changes; invalid JSON keeps its characters too.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 2);
    let mut level = 0_usize;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push(c);
                copy_text(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        level += 1;
                        new_line(&mut out, level);
                    }
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                new_line(&mut out, level);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, level);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn copy_text(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '"' => return,
            '\\' => out.extend(chars.next()),
            _ => {}
        }
    }
}

fn new_line(out: &mut String, level: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level.min(LEVELS)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(indented(json), expected);
    }

    #[test]
    fn r_pol_02_arguments_keep_every_digit_and_every_key() {
        check(
            r#"{"a":123456789012345678901234567890,"a":1.10,"b":[]}"#,
            "{\n  \"a\": 123456789012345678901234567890,\n  \"a\": 1.10,\n  \"b\": []\n}",
        );
        check(
            r#"{"s":"{,:\"}\\","t":[1,{"u":null}]}"#,
            "{\n  \"s\": \"{,:\\\"}\\\\\",\n  \"t\": [\n    1,\n    {\n      \"u\": null\n    }\n  ]\n}",
        );
        check(r#"{ "a" : { } }"#, "{\n  \"a\": {}\n}");
        check(
            r#"{"cut": "here and no fur"#,
            "{\n  \"cut\": \"here and no fur",
        );
        check("", "");
    }

    #[test]
    fn deep_nesting_does_not_blow_a_text_up() {
        let deep = "[".repeat(5_000);
        assert!(indented(&deep).len() < 5_000 * (2 * LEVELS + 3));
    }
}

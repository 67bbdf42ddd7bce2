//! JSON with line breaks, otherwise letter for letter: what a person agrees to must not lose a digit, a second key of
//! the same name, or what a cut left over.

/// Levels that are indented; deeper ones stay at this one.
const LEVELS: usize = 40;

/// The same JSON with a line for each member. White space between the parts is all that changes; a text that is no
/// JSON keeps its letters, too.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 2);
    let mut level = 0_usize;
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                out.push(letter);
                copy_text(&mut letters, &mut out);
            }
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match letters.next_if(|next| matches!(next, '}' | ']')) {
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
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, level);
            }
            ':' => out.push_str(": "),
            letter if letter.is_ascii_whitespace() => {}
            letter => out.push(letter),
        }
    }
    out
}

fn copy_text(letters: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(letter) = letters.next() {
        out.push(letter);
        match letter {
            '"' => return,
            '\\' => out.extend(letters.next()),
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

//! A server's command or URL as text for people.

use pegboard_model::{Template, Transport, UntrustedText, secret_arguments};

use crate::explain::masked_url;
use crate::sensitive::has_written_secret;
use crate::template::masked;

/// Returns the complete command line or URL for a review: `${…}` unresolved, paths absolute, words quoted for a
/// shell, and invisible characters escaped.
pub fn command_line(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let words = std::iter::once(command)
                .chain(args)
                .map(|word| quoted(&word.exact()));
            words.collect::<Vec<_>>().join(" ")
        }
        Transport::Http { url, .. } => UntrustedText::new(url.written()).to_string(),
    }
}

/// Like [`command_line`], with everything masked that may be a secret. For all places other than a review.
pub fn masked_command_line(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, .. } => {
            let flags = secret_arguments(args.iter().map(Template::written));
            let args = args.iter().zip(flags).map(|(arg, secret)| {
                if secret {
                    masked(arg.written())
                } else {
                    quoted(arg.written())
                }
            });
            let command = match has_written_secret(command.written()) {
                true => masked(command.written()),
                false => quoted(command.written()),
            };
            let words = std::iter::once(command).chain(args);
            words.collect::<Vec<_>>().join(" ")
        }
        Transport::Http { url, .. } => masked_url(url.written()),
    }
}

/// Quotes a word for a shell and escapes characters that are invisible.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./${}~-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped = UntrustedText::new(word).to_string();
    if escaped == word && !has_hiding_space(word) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    // Inside `$'…'` a literal backslash must be escaped.
    let parts = word
        .split('\\')
        .map(|part| visible_spaces(&UntrustedText::new(part).to_string().replace('\'', "\\'")));
    format!("$'{}'", parts.collect::<Vec<_>>().join("\\\\"))
}

/// A run of spaces that can push the text after it out of view.
const HIDING_SPACES: &str = "    ";

/// Whether a text contains a long run of spaces, or whitespace other than ASCII.
pub(crate) fn has_hiding_space(text: &str) -> bool {
    text.contains(HIDING_SPACES) || text.contains(is_unusual_space)
}

fn is_unusual_space(character: char) -> bool {
    character.is_whitespace() && !character.is_ascii()
}

/// Escapes the spaces that [`has_hiding_space`] finds.
fn visible_spaces(text: &str) -> String {
    let text = text.replace(HIDING_SPACES, r"\x20\x20\x20\x20");
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unusual_space(character) {
            true => out.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
            false => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::{Secret, TemplatePart};

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let mut words = words.iter().map(|word| Template::literal(*word));
        let command = words.next().unwrap();
        let transport = Transport::Stdio {
            command,
            args: words.collect(),
            env: Default::default(),
            cwd: None,
        };
        assert_eq!(command_line(&transport), expected);
    }

    #[test]
    fn the_whole_command_is_shown_and_nothing_in_it_can_hide() {
        check(
            &["npx", "-y", "server@1.2.3", "--token=${TOKEN}"],
            "npx -y server@1.2.3 --token=${TOKEN}",
        );
        check(
            &["sh", "-c", "rm -rf ~; echo 'x'"],
            "sh -c 'rm -rf ~; echo '\\''x'\\'''",
        );
        check(
            &["a", "", "b\u{202e}c", "d\n\\e"],
            "a '' $'b\\u{202e}c' $'d\\n\\\\e'",
        );
        check(
            &["sh", "-c", "true      ;evil", "a  b", "c\u{3000}d"],
            "sh -c $'true\\x20\\x20\\x20\\x20  ;evil' 'a  b' $'c\\u{3000}d'",
        );
        let long = "x".repeat(100_000);
        check(&[&long], &long);
    }

    #[test]
    fn r_cfg_08_secrets_among_the_arguments_are_masked_outside_reviews() {
        let args = [
            "--token",
            "canary",
            "--key=canary",
            "--token=${TOKEN}",
            "plain",
        ];
        let transport = Transport::Stdio {
            command: Template::literal("run"),
            args: args.map(Template::literal).to_vec(),
            env: Default::default(),
            cwd: None,
        };
        let shown = masked_command_line(&transport);
        assert_eq!(shown, "run --token *** *** ***${TOKEN} plain");
        assert!(
            command_line(&transport).contains("canary"),
            "everything is shown before it is trusted"
        );
    }

    #[test]
    fn r_cfg_08_keys_among_the_arguments_are_hidden_whatever_comes_before_them() {
        let args = [
            "ghp_canary0123456789",
            "--id=AKIACANARY0123456789",
            "sk-proj-canary0123456789",
            "Authorization: Bearer canary",
            "db://ann:canary@host",
            "pypi-query-mcp-server",
        ];
        let transport = Transport::Stdio {
            command: Template::literal("/opt/ghp_canary0123456789/run"),
            args: args.map(Template::literal).to_vec(),
            env: Default::default(),
            cwd: None,
        };
        let shown = masked_command_line(&transport);
        assert_eq!(shown, "*** *** *** *** *** *** pypi-query-mcp-server");
        let url = Template::literal("https://host/s/ghp_canary0123456789/mcp");
        let transport = Transport::Http {
            url,
            headers: Default::default(),
            bearer: None,
            wire: Default::default(),
        };
        assert_eq!(masked_command_line(&transport), "https://host/s/***/mcp");
    }

    #[test]
    fn r_cfg_08_the_command_shows_references_and_not_their_values() {
        let part = TemplatePart::Resolved(Secret::new("https://host/?key=canary"));
        let url = Template::new("${URL}", vec![part]);
        let shown = command_line(&Transport::Http {
            url,
            headers: Default::default(),
            bearer: None,
            wire: Default::default(),
        });
        assert_eq!(shown, "${URL}");
    }
}

//! Removal of literal values from a query: URLs, paths, quoted text, numbers and ids are arguments for a call and say
//! little about the tool.

use std::borrow::Cow;

/// Maximum length of quoted text; a longer span is more likely between two apostrophes.
const QUOTED: usize = 200;
/// Minimum length of a hash or id.
const SHORTEST_ID: usize = 8;

/// Removes the values from a query. File extensions are kept, because `report.pdf` suggests tools that read PDF.
pub(crate) fn without_values(request: &str) -> Cow<'_, str> {
    let has_values = |c: char| c.is_ascii_digit() || "/@\\`\"'“”‘’.".contains(c);
    if !request.contains(has_values) {
        return Cow::Borrowed(request);
    }
    let unquoted = without_quoted(request);
    let mut kept = String::with_capacity(unquoted.len());
    for token in unquoted.split_whitespace() {
        let bare = token.trim_matches(|c: char| ",;:!?()[]{}<>\"'`".contains(c));
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        if is_value(bare) {
            if let Some(kind) = file_kind(bare) {
                kept.push_str(kind);
                kept.push(' ');
            }
            continue;
        }
        kept.push_str(token);
        kept.push(' ');
    }
    Cow::Owned(kept)
}

fn without_quoted(request: &str) -> String {
    let mut kept = String::with_capacity(request.len());
    let mut rest = request;
    let mut inside_word = false;
    while let Some(character) = rest.chars().next() {
        let behind = rest.get(character.len_utf8()..).unwrap_or_default();
        let close = match character {
            '"' | '`' | '\'' if !inside_word => Some(character),
            '“' => Some('”'),
            '‘' if !inside_word => Some('’'),
            _ => None,
        };
        if let Some(after) = close.and_then(|close| behind_quote(behind, close)) {
            kept.push(' ');
            rest = after;
            inside_word = false;
            continue;
        }
        kept.push(character);
        inside_word = character.is_alphanumeric();
        rest = behind;
    }
    kept
}

/// The text after the closing quote, if there is one at the end of a word.
fn behind_quote(text: &str, close: char) -> Option<&str> {
    let closes = |(at, c): &(usize, char)| {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        *c == close && !after.starts_with(char::is_alphanumeric)
    };
    let (at, _) = text.char_indices().take(QUOTED).find(closes)?;
    text.get(at + close.len_utf8()..)
}

fn is_value(token: &str) -> bool {
    is_address(token) || is_path(token) || is_number(token) || is_id(token)
}

fn is_address(token: &str) -> bool {
    let mail = token
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    mail || token.contains("://") || token.starts_with("www.")
}

fn is_path(token: &str) -> bool {
    let rooted = ["/", "~/", "./", "../"];
    let rooted = token.len() > 2 && rooted.iter().any(|root| token.starts_with(root));
    let drive =
        matches!(token.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic());
    rooted || drive || file_kind(token).is_some()
}

/// The extension of a file name.
fn file_kind(token: &str) -> Option<&str> {
    let (name, kind) = token.rsplit_once('.')?;
    let plain = |c: char| c.is_alphanumeric() || "_-/\\~.: ".contains(c);
    let known = (2..=5).contains(&kind.len())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && kind.bytes().any(|byte| byte.is_ascii_alphabetic());
    let named = name.chars().any(char::is_alphanumeric) && name.chars().all(plain);
    (known && named && !token.contains("://") && !token.contains('@')).then_some(kind)
}

fn is_number(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
        && token
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.,:/%$€£¥#".contains(c))
}

/// Whether a token is a hash or another id: long, with letters and digits.
fn is_id(token: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if token.len() < SHORTEST_ID || !token.bytes().all(plain) {
        return false;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let hex = token
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits > 0
        && (hex && digits >= 2 || token.len() >= 2 * SHORTEST_ID && 4 * digits >= token.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: &str) {
        let kept = without_values(request);
        let kept: Vec<&str> = kept.split_whitespace().collect();
        assert_eq!(kept.join(" "), expected, "{request}");
    }

    #[test]
    fn values_are_removed() {
        check("fetch https://example.com/a?b=1 please", "fetch please");
        check("mail it to ann@example.org, today", "mail it to today");
        check("read /home/user/notes and ~/b", "read and");
        check("turn C:\\data\\report.docx into pdf", "turn docx into pdf");
        check("open src/main.rs", "open rs");
        check("set it to \"boiling hot\" and `x y`", "set it to and");
        check(
            "show order 4,711 of 2026-01-02 for $12.50",
            "show order of for",
        );
        check(
            "get commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "get commit",
        );
        check(
            "status of 550e8400-e29b-41d4-a716-446655440000",
            "status of",
        );
    }

    #[test]
    fn words_are_kept() {
        check(
            "read/write files and/or folders",
            "read/write files and/or folders",
        );
        check(
            "don't stop the user's server",
            "don't stop the user's server",
        );
        check("use s3 and utf8", "use s3 and utf8");
        check("Stop. Then go.", "Stop. Then go.");
        check("github/create_issue", "github/create_issue");
    }
}

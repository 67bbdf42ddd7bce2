//! The texts that stand for a tool: the forms the model was tuned with, but that words which stand in every server's
//! name are left out of it.

/// Words of servers' names that tell none from another.
const COMMON: [&str; 3] = ["mcp", "server", "servers"];

/// What a tool does: its name in words, then its description.
pub fn document_text(name: &str, description: &str) -> String {
    let mut text = in_words(name);
    text.push_str(": ");
    text.push_str(description);
    text
}

/// What a tool is called: the server, where there is one, and the tool's name in words.
pub fn short_text(server: Option<&str>, name: &str) -> String {
    match server {
        Some(server) => format!("{} {}", server_in_words(server), in_words(name)),
        None => in_words(name),
    }
}

/// What a server is for: its name in words, then what is said about it.
pub fn server_text(server: &str, description: &str) -> String {
    format!("{}: {description}", server_in_words(server))
}

/// A server's name without the words that every server has, unless it has no others.
fn server_in_words(server: &str) -> String {
    let words = in_words(&server.replace('@', " "));
    let is_common = |word: &&str| {
        COMMON
            .iter()
            .any(|common| word.eq_ignore_ascii_case(common))
    };
    let own: Vec<&str> = words
        .split_whitespace()
        .filter(|word| !is_common(word))
        .collect();
    match own.is_empty() {
        true => words,
        false => own.join(" "),
    }
}

/// `readFile_v2` as `read File v2`; a run of capitals stays one word (`getURLContent` as `get URL
/// Content`).
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut before: Option<char> = None;
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        if matches!(letter, '_' | '-' | '.' | '/') {
            words.push(' ');
            before = None;
            continue;
        }
        if let Some(before) = before
            && letter.is_uppercase()
        {
            let ends_a_word = before.is_lowercase() || before.is_numeric();
            let begins_a_word = before.is_uppercase() && begins_with_two_small(letters.clone());
            if ends_a_word || begins_a_word {
                words.push(' ');
            }
        }
        words.push(letter);
        before = Some(letter);
    }
    words
}

/// One small letter after capitals is a plural (`listIDs`), two are the rest of a word.
fn begins_with_two_small(mut letters: impl Iterator<Item = char>) -> bool {
    let mut is_small = || letters.next().is_some_and(char::is_lowercase);
    is_small() && is_small()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_find_02_names_are_written_as_words() {
        let check = |name, words: &str| assert_eq!(in_words(name), words);
        check("readFile_v2", "read File v2");
        check("create-pull.request/now", "create pull request now");
        check("getURLContent", "get URL Content");
        check("listIDs", "list IDs");
        check("getAPage", "get A Page");
        check("v2Beta", "v2 Beta");
        check("HTTP", "HTTP");
        check("", "");
        check("日本語Tool", "日本語Tool");
    }

    #[test]
    fn r_find_02_a_tool_has_a_long_and_a_short_text() {
        assert_eq!(
            document_text("read_file", "Reads a file."),
            "read file: Reads a file."
        );
        assert_eq!(
            short_text(Some("git-hub"), "createIssue"),
            "git hub create Issue"
        );
        assert_eq!(short_text(None, "createIssue"), "create Issue");
    }

    #[test]
    fn r_find_02_a_server_is_known_by_its_own_words() {
        let check = |name, text: &str| assert_eq!(server_text(name, "Mail."), text);
        check("@acme/mail-mcp-server", "acme mail: Mail.");
        check("mailServer", "mail: Mail.");
        check("mcp-server", "mcp server: Mail.");
        assert_eq!(short_text(Some("mcp_mail"), "send"), "mail send");
    }
}

//! The texts that represent tools and servers. They have the form that the model was tuned with, except that words
//! common to many server names are removed.

/// Words in server names that do not distinguish servers.
const COMMON: [&str; 3] = ["mcp", "server", "servers"];

/// The long text of a tool: its name, split into words, and its description.
pub fn document_text(name: &str, description: &str) -> String {
    let mut text = split_identifier(name);
    text.push_str(": ");
    text.push_str(description);
    text
}

/// The short text of a tool: the server, if any, and the tool name, split into words.
pub fn short_text(server: Option<&str>, name: &str) -> String {
    match server {
        Some(server) => format!("{} {}", server_words(server), split_identifier(name)),
        None => split_identifier(name),
    }
}

/// The text of a server: its name, split into words, and its description.
pub fn server_text(server: &str, description: &str) -> String {
    format!("{}: {description}", server_words(server))
}

/// The words of a server name without the common ones, unless it has no others.
fn server_words(server: &str) -> String {
    let words = split_identifier(&server.replace('@', " "));
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

/// Splits an identifier into words: `readFile_v2` becomes `read File v2`. A run of capitals is one word: `getURLContent`
/// becomes `get URL Content`.
fn split_identifier(name: &str) -> String {
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
            let ends_word = before.is_lowercase() || before.is_numeric();
            let starts_word = before.is_uppercase() && starts_with_two_lowercase(letters.clone());
            if ends_word || starts_word {
                words.push(' ');
            }
        }
        words.push(letter);
        before = Some(letter);
    }
    words
}

/// One lower-case letter after capitals is a plural (`listIDs`), two are the rest of a word.
fn starts_with_two_lowercase(mut letters: impl Iterator<Item = char>) -> bool {
    let mut is_lowercase = || letters.next().is_some_and(char::is_lowercase);
    is_lowercase() && is_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_find_02_names_are_split_into_words() {
        let check = |name, words: &str| assert_eq!(split_identifier(name), words);
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
    fn r_find_02_common_words_of_server_names_are_removed() {
        let check = |name, text: &str| assert_eq!(server_text(name, "Mail."), text);
        check("@acme/mail-mcp-server", "acme mail: Mail.");
        check("mailServer", "mail: Mail.");
        check("mcp-server", "mcp server: Mail.");
        assert_eq!(short_text(Some("mcp_mail"), "send"), "mail send");
    }
}

//! Splits tool names into words.

use std::borrow::Cow;

/// Verbs. The words after a verb say what it applies to.
const VERBS: &[&str] = &[
    "add",
    "analyze",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "attach",
    "build",
    "cancel",
    "change",
    "check",
    "clear",
    "clone",
    "close",
    "compare",
    "complete",
    "configure",
    "convert",
    "copy",
    "count",
    "create",
    "delete",
    "deploy",
    "describe",
    "detect",
    "disable",
    "download",
    "edit",
    "enable",
    "execute",
    "export",
    "extract",
    "fetch",
    "find",
    "fork",
    "format",
    "generate",
    "get",
    "import",
    "insert",
    "install",
    "invite",
    "list",
    "load",
    "lookup",
    "make",
    "manage",
    "mark",
    "merge",
    "modify",
    "move",
    "open",
    "patch",
    "post",
    "publish",
    "push",
    "put",
    "query",
    "read",
    "register",
    "reject",
    "remove",
    "rename",
    "render",
    "replace",
    "reply",
    "reset",
    "resolve",
    "restart",
    "restore",
    "resume",
    "retrieve",
    "retry",
    "revoke",
    "run",
    "save",
    "scan",
    "schedule",
    "search",
    "select",
    "send",
    "set",
    "share",
    "show",
    "start",
    "stop",
    "submit",
    "subscribe",
    "sync",
    "take",
    "test",
    "toggle",
    "transfer",
    "trigger",
    "undo",
    "update",
    "upload",
    "upsert",
    "use",
    "validate",
    "verify",
    "view",
    "wait",
    "watch",
    "write",
];

/// Words that say nothing about the topic.
const FILLERS: &[&str] = &[
    "a", "all", "and", "batch", "bulk", "by", "for", "from", "in", "many", "multiple", "my", "new",
    "of", "on", "or", "single", "the", "to", "with",
];

/// Words of one name that are considered.
const MAX_WORDS: usize = 16;

/// Returns the words of a name in lower case, separated by spaces. A name is split at everything except letters
/// and digits, and before a capital that follows a lower-case letter.
pub(crate) fn word_line(name: &str) -> String {
    let mut line = String::with_capacity(name.len() + 4);
    let (mut after_small, mut gap, mut count) = (false, false, 1);
    for character in name.chars() {
        let inside = character.is_alphanumeric();
        gap |= !inside || character.is_uppercase() && after_small;
        after_small = character.is_lowercase() || character.is_ascii_digit();
        if !inside {
            continue;
        }
        if gap && !line.is_empty() {
            if count == MAX_WORDS {
                break;
            }
            count += 1;
            line.push(' ');
        }
        gap = false;
        if character.is_ascii() {
            line.push(character.to_ascii_lowercase());
        } else {
            line.extend(character.to_lowercase());
        }
    }
    line
}

/// Returns the same words as a list.
pub(crate) fn words(name: &str) -> Vec<String> {
    word_line(name)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.binary_search(&word).is_ok()
}

/// Returns whether a word says what a tool is about.
pub(crate) fn is_topical(word: &str) -> bool {
    !is_verb(word) && !FILLERS.contains(&word)
}

/// Returns the position of the topic word, which follows the verb, as in `create_or_update_file`.
pub(crate) fn topic_at(words: &[&str], from: usize) -> Option<usize> {
    let mut at = from;
    if words.get(at).copied().is_some_and(is_verb) {
        at += 1;
    }
    while let Some(filler) = words.get(at).filter(|word| FILLERS.contains(word)) {
        at += 1;
        let joins = matches!(*filler, "and" | "or");
        if joins && words.get(at).copied().is_some_and(is_verb) {
            at += 1;
        }
    }
    words.get(at).map(|_| at)
}

/// Returns the same form for a word and its plural. It need not be a real word.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() <= 3 || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return Cow::Borrowed(word);
    }
    if let Some(head) = word.strip_suffix("ies") {
        return Cow::Owned(format!("{head}y"));
    }
    let by_two = ["ches", "shes", "sses", "xes", "zes"]
        .iter()
        .any(|ending| word.ends_with(ending));
    let ending = if by_two { "es" } else { "s" };
    Cow::Borrowed(word.strip_suffix(ending).unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words("create_pull-request"), ["create", "pull", "request"]);
        assert_eq!(words("getIssueComments"), ["get", "issue", "comments"]);
        assert_eq!(words("__node_version"), ["node", "version"]);
        assert_eq!(words("API-get-v2/users"), ["api", "get", "v2", "users"]);
        assert!(words("···").is_empty());
    }

    #[test]
    fn plural_and_singular_have_the_same_stem() {
        for (one, many) in [
            ("issue", "issues"),
            ("repository", "repositories"),
            ("branch", "branches"),
            ("box", "boxes"),
            ("class", "classes"),
        ] {
            assert_eq!(stem(one), stem(many));
        }
        assert_eq!(stem("status"), "status");
    }

    #[test]
    fn the_topic_follows_the_verb() {
        let topic = |name: &str| {
            let line = word_line(name);
            let words: Vec<&str> = line.split(' ').collect();
            topic_at(&words, 0).map(|at| words[at].to_owned())
        };
        assert_eq!(topic("create_or_update_file").as_deref(), Some("file"));
        assert_eq!(topic("list_merge_requests").as_deref(), Some("merge"));
        assert_eq!(topic("list_all_my_repos").as_deref(), Some("repos"));
        assert_eq!(topic("browser_click").as_deref(), Some("browser"));
        assert_eq!(topic("search"), None);
    }

    #[test]
    fn the_verbs_are_sorted_for_the_search() {
        assert!(VERBS.is_sorted());
    }
}

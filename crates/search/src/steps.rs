//! Splitting of a request into its steps: "find the invoice mail and put its total into the sheet".

use crate::actions::is_action;
use crate::stems::is_stop_word;
use crate::tokens::{TokenKind, cut, each_word};
use crate::weights::{MAX_STEPS, QUERY_BYTES};

/// Minimum number of words of a step that are not stop words; a shorter one belongs to the step before.
const STEP_WORDS: usize = 2;

/// Words between two steps.
const BETWEEN: &[&str] = &[
    "and",
    "then",
    "also",
    "afterwards",
    "finally",
    "plus",
    "next",
];

/// Signs between alternatives and the items of a list, as agents write them.
const ALTERNATIVES: &[&str] = &["or", "+"];

/// Words that may precede the verb of a step.
const BEFORE_VERB: &[&str] = &[
    "can", "could", "help", "i", "let", "lets", "like", "me", "need", "please", "to", "us", "want",
    "we", "will", "would", "you",
];

/// The steps of a request, at most six; one for a request with a single step. Sentences and the items of a list are
/// steps, and so are parts of a sentence that are joined by words such as `and` or `then` and begin with a verb.
pub fn steps(request: &str) -> Vec<&str> {
    let request = cut(request.trim(), QUERY_BYTES);
    let mut steps: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut ends: Vec<usize> = boundaries(request);
    ends.push(request.len());
    for end in ends {
        let text = request.get(start..end).unwrap_or_default();
        let rest = request.get(end..).unwrap_or_default();
        let is_long = |text: &str| content_words(text) >= STEP_WORDS;
        let is_last = end == request.len();
        // A part that is too short to be a step stays with what follows, the last one with what precedes.
        if is_long(text) && (is_last || is_long(rest)) {
            if steps.len() + 1 == MAX_STEPS {
                steps.push(request.get(start..).unwrap_or_default().trim());
                return steps;
            }
            steps.push(text.trim());
            start = end;
        }
    }
    if steps.is_empty() {
        steps.push(request);
    }
    steps
}

/// The steps of a request that begin with a verb, if there are several: what it asks for, one after the other. Empty
/// for a request that asks for one thing.
pub fn tasks(request: &str) -> Vec<&str> {
    let mut tasks = steps(request);
    tasks.retain(|step| {
        let words: Vec<(usize, &str)> = words(step).collect();
        starts_with_verb(&words)
    });
    for task in &mut tasks {
        let joins = |c: char| !c.is_alphanumeric();
        while let Some((first, rest)) = task.split_once(char::is_whitespace)
            && is_between(first)
        {
            *task = rest.trim_start_matches(joins);
        }
        *task = task.trim_end_matches([',', ';', '.']);
    }
    if tasks.len() < 2 {
        tasks.clear();
    }
    tasks
}

/// Whether a request contains a phrase, word by word, in any case and with any separators.
pub fn contains_phrase(request: &str, phrase: &str) -> bool {
    let plain = |text: &str| {
        let mut found = Vec::new();
        each_word(text, QUERY_BYTES, |word, kind| {
            if kind != TokenKind::Joined {
                found.push(word.to_owned());
            }
        });
        found
    };
    let phrase = plain(phrase);
    !phrase.is_empty()
        && plain(request)
            .windows(phrase.len())
            .any(|words| words == phrase)
}

/// The places where a step may end, in bytes.
fn boundaries(request: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let words: Vec<(usize, &str)> = words(request).collect();
    for (at, (start, word)) in words.iter().enumerate() {
        let end = start + word.len();
        let ends_sentence = word.ends_with(['.', '?', '!', ';']) && word.len() > 2;
        let ends_line = request
            .get(end..)
            .is_some_and(|rest| rest.starts_with('\n'));
        let ends_item = word.ends_with(',') || ALTERNATIVES.contains(word);
        if ends_sentence || ends_line || ends_item {
            found.push(end);
        } else if is_between(word) {
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let already = before.is_some_and(|(_, word)| is_between(word));
            let follows = words.get(at + 1..).unwrap_or_default();
            if at > 0 && !already && starts_with_verb(follows) {
                found.push(*start);
            }
        }
    }
    found
}

fn is_between(word: &str) -> bool {
    BETWEEN.contains(&bare(word).to_lowercase().as_str())
}

fn starts_with_verb(words: &[(usize, &str)]) -> bool {
    let mut plain = words.iter().map(|(_, word)| bare(word).to_lowercase());
    let skipped = |word: &String| {
        let word = word.as_str();
        BETWEEN.contains(&word) || BEFORE_VERB.contains(&word)
    };
    plain
        .find(|word| !skipped(word))
        .is_some_and(|word| is_action(&word))
}

fn content_words(text: &str) -> usize {
    let plain = words(text).map(|(_, word)| bare(word).to_lowercase());
    plain
        .filter(|word| !word.is_empty() && !is_stop_word(word))
        .count()
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The words between white space, with their places in bytes.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr().addr();
    let words = text.split_whitespace();
    words.map(move |word| (word.as_ptr().addr() - start, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: &[&str]) {
        assert_eq!(steps(request), expected);
    }

    #[test]
    fn requests_are_split_into_steps() {
        check(
            "find the invoice mail and put its total into the sheet",
            &["find the invoice mail", "and put its total into the sheet"],
        );
        check(
            "What is the price of Apple stock right now? And could you recommend hotels in Paris?",
            &[
                "What is the price of Apple stock right now?",
                "And could you recommend hotels in Paris?",
            ],
        );
        check(
            "download the report, then please convert it to pdf",
            &["download the report,", "then please convert it to pdf"],
        );
    }

    #[test]
    fn tasks_are_the_steps_with_a_verb() {
        assert_eq!(
            tasks("find the invoice mail and put its total into the sheet"),
            ["find the invoice mail", "put its total into the sheet"]
        );
        assert!(tasks("maps, search places, geocoding of addresses").is_empty());
        assert!(tasks("create an issue about the login page").is_empty());
    }

    #[test]
    fn a_phrase_is_found_word_by_word() {
        assert!(contains_phrase(
            "Show My-Open tickets please",
            "my open tickets"
        ));
        assert!(!contains_phrase("my opened tickets", "my open tickets"));
        assert!(!contains_phrase("anything", " "));
    }

    #[test]
    fn one_step_stays_whole() {
        for request in [
            "create issue",
            "files and folders",
            "search and replace",
            "",
            "Hi. Stop.",
        ] {
            check(request, &[request]);
        }
        check(
            "read/write notes and memos of Anna",
            &["read/write notes and memos of Anna"],
        );
    }

    #[test]
    fn the_number_of_steps_is_limited() {
        let request = "Open the first file. ".repeat(50);
        assert_eq!(steps(&request).len(), MAX_STEPS);
    }
}

//! Splits a text into words with their meaning classes.

use std::collections::HashSet;

use super::classes::*;
use super::lexicon::{classes_of, is_listed, pair_classes};
use super::places::{is_address, is_secret_path};

/// Maximum number of words of one text that are examined. Definitions are limited in bytes before, to far fewer: a
/// text must not escape by its length.
const WORDS_MAX: usize = 2_000_000;
/// Shortest word that is joined from spaced-out letters.
const JOINED_MIN: usize = 5;
/// Names of pseudo tags that claim authority.
const TAGS: &[&str] = &[
    "important",
    "hidden",
    "secret",
    "system",
    "critical",
    "internal",
    "admin",
    "priority",
    "override",
    "mandatory",
    "urgent",
    "system_prompt",
    "assistant",
    "developer",
    "sys",
    "prompt",
    "command",
    "directive",
    "private",
    "confidential",
    "attention",
    "requirement",
    "must",
];

/// Names that texts may mention.
#[derive(Clone, Copy, Default)]
pub(super) struct NamesInText<'a> {
    /// The tools of the same server; lower case.
    pub(super) own: Option<&'a HashSet<String>>,
    /// The parameters of the tool; lower case.
    pub(super) local: Option<&'a HashSet<String>>,
    /// Tools of other servers; lower case.
    pub(super) others: Option<&'a HashSet<String>>,
    /// The name of the tool itself, lower case.
    pub(super) this: &'a str,
}

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) classes: Classes,
    /// Number of the sentence.
    pub(super) sentence: u32,
    /// Byte range in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The classes of exactly this form, to tell `send` from `sends`.
    direct: Classes,
    starts_clause: bool,
}

/// Splits a text that is already normalised and in lower case.
pub(super) fn words(text: &str, names: NamesInText<'_>) -> Vec<Word> {
    let mut words = Vec::with_capacity(text.len() / 6);
    let mut sentence = 0;
    let mut starts_clause = true;
    for (start, chunk) in chunks(text) {
        if words.len() >= WORDS_MAX {
            break;
        }
        let before = text.get(..start).unwrap_or_default();
        if breaks_line(before, chunk) {
            sentence += 1;
            starts_clause = true;
        }
        push_chunk(
            &mut words,
            text,
            (start, chunk),
            sentence,
            starts_clause,
            names,
        );
        let rest = text.get(start + chunk.len()..).unwrap_or_default();
        let mark = chunk.chars().next_back();
        let next = rest.chars().next();
        starts_clause = matches!(mark, Some(',' | ';' | ':' | '.' | '!' | '?'))
            || matches!(
                next,
                Some(',' | ';' | '>' | ']' | '(' | '"' | '}' | ')' | '`' | '—' | '|')
            );
        if matches!(mark, Some('.' | '!' | '?')) && !is_abbreviation(chunk) {
            sentence += 1;
        }
    }
    complete(&mut words, text, names);
    words
}

fn is_abbreviation(chunk: &str) -> bool {
    matches!(chunk, "e.g." | "i.e." | "etc." | "vs." | "no.")
}

/// Whether there is a line break before a chunk that starts a new sentence. A wrapped line continues in lower case,
/// which is gone here, so a break counts if the line before ended or the new line starts like a list or a heading.
fn breaks_line(before: &str, chunk: &str) -> bool {
    let spaces = before.len() - before.trim_end_matches(char::is_whitespace).len();
    let gap = before.get(before.len() - spaces..).unwrap_or_default();
    let breaks = gap.bytes().filter(|byte| *byte == b'\n').count();
    let is_item = chunk.starts_with(['-', '*', '#', '•']) || chunk.ends_with([':', ')']);
    breaks > 1
        || (breaks == 1 && (is_item || before.trim_end().ends_with([':', '.', '>', ')', ',', '!'])))
}

/// The parts of a text between white space and brackets, with their positions.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let is_gap = |character: char| {
            character.is_whitespace()
                || matches!(
                    character,
                    '(' | ')' | '[' | ']' | '{' | '}' | '"' | '`' | '|' | '>' | '“' | '”'
                )
        };
        let tail = text.get(rest..)?;
        let from = tail.find(|character| !is_gap(character))?;
        let tail = tail.get(from..)?;
        let length = tail.find(is_gap).unwrap_or(tail.len());
        let start = rest + from;
        rest = start + length.max(1);
        Some((start, tail.get(..length)?))
    })
}

fn push_chunk(
    words: &mut Vec<Word>,
    text: &str,
    (start, chunk): (usize, &str),
    sentence: u32,
    starts_clause: bool,
    names: NamesInText<'_>,
) {
    let is_edge = |character: char| {
        !character.is_alphanumeric() && !matches!(character, '_' | '~' | '/' | '<' | '+' | '$')
    };
    let tail = chunk.trim_start_matches(is_edge);
    // A dot at the start belongs to a name such as `.env`.
    let dot = usize::from(
        !tail.is_empty()
            && chunk
                .get(..chunk.len() - tail.len())
                .is_some_and(|before| before.ends_with('.')),
    );
    let offset = start + chunk.len() - tail.len() - dot;
    let trimmed = chunk
        .get(offset - start..)
        .unwrap_or_default()
        .trim_end_matches(is_edge);
    let after = text
        .get(start + chunk.len()..)
        .and_then(|rest| rest.chars().next());
    let mut push = |classes: Classes, direct: Classes, from: usize, to: usize, first: bool| {
        words.push(Word {
            classes,
            sentence,
            start: from,
            end: to,
            direct,
            starts_clause: starts_clause && first,
        });
    };
    let (from, to) = (offset, offset + trimmed.len());
    if let Some(tag) = trimmed.strip_prefix('<') {
        let name = tag.trim_start_matches('/').trim_end_matches(is_edge);
        let is_tag = after == Some('>') && TAGS.contains(&name);
        let is_template = tag.is_empty() && after == Some('|');
        let classes = if is_tag {
            AUTHORITY_TAG
        } else if is_template {
            ROLE_MARK
        } else {
            0
        };
        push(classes, 0, from, to, true);
        return;
    }
    if trimmed.is_empty() {
        return;
    }
    let mut classes = 0;
    if trimmed
        .bytes()
        .any(|byte| matches!(byte, b'/' | b'@' | b'~' | b'.' | b'\\' | b'+'))
    {
        if is_secret_path(trimmed) {
            classes |= SECRET_PATH;
        }
        // A link to documentation is not an address that data is sent to.
        let is_link = text
            .get(..start)
            .is_some_and(|before| before.ends_with("]("));
        if !is_link && is_address(trimmed) {
            classes |= ADDRESS;
        }
    }
    if classes != 0 {
        push(classes, 0, from, to, true);
        return;
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if trimmed.contains(['_', '-']) && trimmed.bytes().all(is_name) {
        let class = name_class(trimmed, names);
        let (listed, direct) = classes_of(trimmed);
        if class != 0 || listed != 0 {
            push(class | listed, direct, from, to, true);
            return;
        }
    }
    let mut at = from;
    for (position, part) in trimmed
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
        .enumerate()
    {
        if !part.is_empty() {
            let (mut classes, direct) = classes_of(part.trim_end_matches('\''));
            classes |= name_class(part, names);
            if classes == 0 && part.bytes().any(|byte| byte.is_ascii_digit()) {
                classes |= digits_class(part);
            }
            let ends_with_colon = chunk.ends_with(':') && at + part.len() == to;
            if ends_with_colon && starts_clause && matches!(part, "system" | "assistant" | "sys") {
                classes |= ROLE_MARK;
            }
            push(classes, direct, at, at + part.len(), position == 0);
        }
        at += part.len() + 1;
    }
}

/// A number, or a word in which digits stand for letters.
fn digits_class(part: &str) -> Classes {
    if part.bytes().all(|byte| byte.is_ascii_digit()) {
        return LITERAL;
    }
    let spelled: String = part
        .chars()
        .map(|character| match character {
            '0' => 'o',
            '1' => 'i',
            '3' => 'e',
            '4' => 'a',
            '5' => 's',
            '7' => 't',
            other => other,
        })
        .collect();
    match classes_of(&spelled).0 {
        // A code such as an account number.
        0 if part.bytes().filter(u8::is_ascii_digit).count() >= 3 => LITERAL,
        classes => classes,
    }
}

fn name_class(word: &str, names: NamesInText<'_>) -> Classes {
    let known = |set: Option<&HashSet<String>>| set.is_some_and(|set| set.contains(word));
    if word == names.this {
        return THIS_TOOL;
    }
    // A server may leave out its own prefix: `search_tasks` for `asana_search_tasks`.
    let is_part = || {
        names
            .own
            .is_some_and(|own| own.iter().any(|name| name.contains(word)))
    };
    if known(names.own) || known(names.local) {
        return 0;
    }
    if word.len() > 3 && known(names.others) && !is_part() {
        // A plain word such as `search` is a name only next to `tool`.
        return if word.contains(['_', '-']) {
            OTHER_TOOL
        } else {
            PEER_WORD
        };
    }
    let is_name = word
        .split_once('_')
        .is_some_and(|(verb, rest)| !rest.is_empty() && is_tool_verb(verb));
    // `voice_url` and `VoiceUrl` are one name.
    let is_local = || {
        names
            .local
            .is_some_and(|local| local.contains(&word.replace('_', "")))
    };
    if is_name && names.own.is_some() && !is_local() && !is_part() {
        UNKNOWN_TOOL
    } else {
        0
    }
}

/// Whether a name's first part is a verb, as in the names of most tools.
fn is_tool_verb(word: &str) -> bool {
    const OTHERS: &[&str] = &[
        "list", "create", "update", "find", "pay", "buy", "make", "draft", "edit", "move", "log",
        "record", "cancel", "close", "approve", "book", "schedule",
    ];
    OTHERS.contains(&word) || classes_of(word).1 & (VERBS | DESTROY) != 0
}

/// Adds the classes that depend on neighbours: pairs, commands, joined letters.
fn complete(words: &mut [Word], text: &str, names: NamesInText<'_>) {
    for at in 0..words.len() {
        let (done, rest) = words.split_at_mut(at);
        let Some((word, following)) = rest.split_first_mut() else {
            break;
        };
        let own = text.get(word.start..word.end).unwrap_or_default();
        if let Some(next) = following
            .first_mut()
            .filter(|next| next.sentence == word.sentence)
        {
            let after = text.get(next.start..next.end).unwrap_or_default();
            let pair = pair_classes(own, after);
            word.classes |= pair;
            if pair & SECRET != 0 {
                // `access token` reads nothing.
                word.classes &= !READ;
            }
            next.classes |= pair & !(INSTEAD | OBLIGE | THIS_TOOL);
            if own.len() == 1 {
                join(done, word, following, text);
            }
        }
        let before = done
            .last_mut()
            .filter(|before| before.sentence == word.sentence);
        word.classes |= prohibition(
            own,
            before
                .as_deref()
                .map(|before| text.get(before.start..before.end).unwrap_or_default()),
        );
        if matches!(own, "tool" | "function")
            && let Some(before) = done.last_mut()
        {
            before.classes |= named_tool(before, text, names);
        }
        let before = done
            .last()
            .filter(|before| before.sentence == word.sentence);
        if word.direct & VERBS == 0 {
            continue;
        }
        let leads = before.is_none_or(|before| {
            let link = text.get(before.start..before.end).unwrap_or_default();
            before.classes & LEADS != 0 || LINKS.contains(&link)
        });
        if leads || word.starts_clause {
            word.classes |= COMMAND;
            if word.direct & (SEND | INCLUDE | REVEAL) != 0 {
                word.classes |= DEMAND;
            }
        }
    }
}

/// The class of a word before `tool`: a plain word such as `search` is a name only there. A quoted one is a name in any
/// case.
fn named_tool(word: &Word, text: &str, names: NamesInText<'_>) -> Classes {
    let name = text.get(word.start..word.end).unwrap_or_default();
    let is_own = name == names.this || names.own.is_some_and(|own| own.contains(name));
    let is_quoted = text
        .get(..word.start)
        .is_some_and(|before| before.ends_with(['`', '\'', '"']));
    match () {
        () if word.classes & PEER_WORD != 0 => OTHER_TOOL,
        () if is_quoted && !is_own && names.own.is_some() => UNKNOWN_TOOL,
        () => 0,
    }
}

/// Classes of verbs that can be a command.
const VERBS: Classes = SEND
    | READ
    | INCLUDE
    | REVEAL
    | CHANGE
    | RUN
    | INSTALL
    | IGNORE
    | EXFILTRATE
    | TELL
    | OBEY
    | DESTROY
    | CONCEAL;
/// Classes of words that a command can follow.
const LEADS: Classes = OBLIGE | ALSO | ORDER | COVERT | YOU | MODEL | AUTHORITY_TAG | ROLE_MARK;
/// Other words that a command can follow.
const LINKS: &[&str] = &[
    "and", "then", "to", "instead", "simply", "just", "could", "can", "but", "will", "not", "or",
    "first",
];

/// A form of `not` that forbids: `do not`, `never`; but not `does not`, `cannot`.
fn prohibition(word: &str, before: Option<&str>) -> Classes {
    match word {
        "never" | "don't" | "dont" | "without" | "avoid" | "refrain" | "mustn't" | "shouldn't" => {
            PROHIBIT
        }
        "not"
            if before.is_none_or(|before| {
                matches!(
                    before,
                    "do" | "must" | "should" | "shall" | "to" | "and" | "but" | "need"
                )
            }) =>
        {
            PROHIBIT
        }
        _ => 0,
    }
}

/// Reads letters that are spaced out as one word: `i g n o r e`, or `ign o re`.
fn join(before: &mut [Word], letter: &mut Word, after: &mut [Word], text: &str) {
    let part = |word: &Word| text.get(word.start..word.end).unwrap_or_default();
    let is_letter =
        |word: &Word| part(word).len() == 1 && part(word).starts_with(char::is_alphabetic);
    if !is_letter(letter) {
        return;
    }
    let run: String = std::iter::once(part(letter))
        .chain(after.iter().take_while(|word| is_letter(word)).map(part))
        .take(32)
        .collect();
    if run.len() >= JOINED_MIN {
        // The last letter, so that the words after it are near.
        let (classes, direct) = classes_of(&run);
        if let Some(last) = after.get_mut(run.len() - 2) {
            last.classes |= classes;
            last.direct |= direct;
        }
        return;
    }
    if let (Some(before), Some(next)) = (before.last_mut(), after.first()) {
        let joined = format!("{}{}{}", part(before), part(letter), part(next));
        if joined.len() >= JOINED_MIN && before.classes == 0 && is_listed(&joined) {
            let (classes, direct) = classes_of(&joined);
            before.classes |= classes;
            before.direct |= direct;
        }
    }
}

//! The explanation of search scores, as text and as JSON.

use pegboard_catalog::{ScoreExplanation, SearchResults};
use pegboard_search::{MatchKind, MatchedWord, NameMatchKind};
use serde::Serialize;

use crate::commands::{CommandResult, Output};
use crate::output::Paint;

/// The parts of a score; their sum is the score.
#[derive(Serialize)]
pub(super) struct ScoreBreakdown {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    words: f32,
    coverage: f32,
    server: f32,
    meaning: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosines: Option<Cosines>,
    memory: f32,
    action: f32,
    matched: Vec<Word>,
}

#[derive(Serialize)]
struct Name {
    kind: String,
    part: f32,
}

#[derive(Serialize)]
struct Cosines {
    description: f32,
    name: f32,
}

#[derive(Serialize)]
struct Word {
    word: String,
    met: String,
    via: &'static str,
    fields: Vec<&'static str>,
    weight: f32,
}

impl ScoreBreakdown {
    pub(super) fn of(why: &ScoreExplanation) -> Self {
        Self {
            name: why.name.map(|name| Name {
                kind: name_kind(name.kind),
                part: name.score,
            }),
            words: why.words,
            coverage: why.coverage,
            server: why.server,
            meaning: why.meaning,
            cosines: why
                .cosines
                .map(|(description, name)| Cosines { description, name }),
            memory: why.memory,
            action: why.action,
            matched: why.matched.iter().map(word).collect(),
        }
    }
}

fn word(matched: &MatchedWord) -> Word {
    Word {
        word: matched.word.clone(),
        met: matched.term_text.clone(),
        via: via(matched.via),
        fields: matched.fields.iter().map(|field| field.as_str()).collect(),
        weight: matched.weight,
    }
}

fn name_kind(kind: NameMatchKind) -> String {
    match kind {
        NameMatchKind::Exact => "exact".to_owned(),
        NameMatchKind::Prefix => "beginning".to_owned(),
        NameMatchKind::Typo(edits) => format!("{edits} typo"),
    }
}

fn via(via: MatchKind) -> &'static str {
    match via {
        MatchKind::Same => "same",
        MatchKind::Joined => "joined",
        MatchKind::Synonym => "synonym",
        MatchKind::Typo => "typo",
    }
}

/// Prints each tool with how likely it is right, the reasons in words, and the parts of the score.
pub(super) fn show(found: &SearchResults<'_>, output: &Output) -> CommandResult {
    for (at, hit) in found.hits.iter().enumerate() {
        let name = output.paint(Paint::Strong, hit.tool.exposed().as_str());
        let likely = format!("{:.0} % likely", 100.0 * hit.confidence);
        output.line(&format!(
            "{:>2}. {name}  score {:.3}, {likely}",
            at + 1,
            hit.score
        ))?;
        let Some(why) = hit.why.as_deref() else {
            continue;
        };
        if at == 0 {
            output.line(&format!("    first, because {}", because(why)))?;
        }
        for part in parts(why) {
            output.line(&format!("    {part}"))?;
        }
        for matched in &why.matched {
            output.line(&format!(
                "      {}",
                output.paint(Paint::Dim, &in_words(matched))
            ))?;
        }
    }
    Ok(())
}

/// The largest part of the score, in words.
fn because(why: &ScoreExplanation) -> String {
    if let Some(name) = why.name {
        return match name.kind {
            NameMatchKind::Exact => "the query is its name".to_owned(),
            NameMatchKind::Prefix => "its name begins with the query".to_owned(),
            NameMatchKind::Typo(_) => "its name is the query, except for typos".to_owned(),
        };
    }
    let words: Vec<&str> = why.matched.iter().map(|word| word.word.as_str()).collect();
    let reasons = [
        (
            why.memory,
            "similar searches led to it, or it has such an alias".to_owned(),
        ),
        (
            why.words,
            format!("it contains the words {}", words.join(", ")),
        ),
        (
            why.meaning,
            "its description means nearly the same as the query".to_owned(),
        ),
    ];
    let largest = reasons
        .into_iter()
        .max_by(|one, other| one.0.total_cmp(&other.0));
    largest.map(|(_, reason)| reason).unwrap_or_default()
}

/// The parts of the score with what each says; their sum is the score.
fn parts(why: &ScoreExplanation) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(name) = why.name {
        parts.push(format!(
            "{:+.3}  name ({})",
            name.score,
            name_kind(name.kind)
        ));
    }
    match why.cosines {
        Some((description, name)) => parts.push(format!(
            "{:+.3}  meaning (of 0.7: similarity {description:.2} to its description, {name:.2} to its name)",
            why.meaning
        )),
        None => parts.push("meaning: not encoded yet".to_owned()),
    }
    let mut add = |part: f32, what: &str| {
        if part != 0.0 {
            parts.push(format!("{part:+.3}  {what}"));
        }
    };
    add(why.server, "what its server is about");
    add(why.coverage, "how much of its name the query covers");
    match why.action < 0.0 {
        true => add(why.action, "its name says the opposite of the query"),
        false => add(why.action, "its name says what the query asks for"),
    }
    add(why.memory, "past searches that led to it, and aliases");
    add(why.words, "words:");
    parts
}

fn in_words(matched: &MatchedWord) -> String {
    let fields: Vec<&str> = matched.fields.iter().map(|field| field.as_str()).collect();
    let met = match matched.via {
        MatchKind::Same => String::new(),
        MatchKind::Joined => format!(" in `{}`", matched.term_text),
        MatchKind::Synonym => format!(" like `{}`", matched.term_text),
        MatchKind::Typo => format!(" for `{}`", matched.term_text),
    };
    format!(
        "{}{met} +{:.3} in {}",
        matched.word,
        matched.weight,
        fields.join(", ")
    )
}

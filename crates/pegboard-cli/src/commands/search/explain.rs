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

/// Prints each tool with its score, the parts of the score, and the matched words.
pub(super) fn show(found: &SearchResults<'_>, output: &Output) -> CommandResult {
    for (at, hit) in found.hits.iter().enumerate() {
        let name = output.paint(Paint::Strong, hit.tool.exposed().as_str());
        output.line(&format!("{:>2}. {name}  {:.3}", at + 1, hit.score))?;
        let Some(why) = hit.why.as_deref() else {
            continue;
        };
        output.line(&format!("    {}", parts(why)))?;
        for matched in &why.matched {
            output.line(&format!(
                "      {}",
                output.paint(Paint::Dim, &in_words(matched))
            ))?;
        }
    }
    Ok(())
}

fn parts(why: &ScoreExplanation) -> String {
    let mut parts = Vec::new();
    if let Some(name) = why.name {
        parts.push(format!("name {:.3} ({})", name.score, name_kind(name.kind)));
    }
    parts.push(format!("words {:.3}", why.words));
    if why.coverage != 0.0 {
        parts.push(format!("name covered {:.3}", why.coverage));
    }
    if why.server != 0.0 {
        parts.push(format!("server {:.3}", why.server));
    }
    match why.cosines {
        Some((description, name)) => parts.push(format!(
            "meaning {:.3} (description {description:.2}, name {name:.2})",
            why.meaning
        )),
        None => parts.push("meaning not encoded yet".to_owned()),
    }
    if why.memory != 0.0 {
        parts.push(format!("past searches {:.3}", why.memory));
    }
    parts.join(" · ")
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

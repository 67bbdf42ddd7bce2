//! Tools of the same server that work on the same things.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::ServerEntry;
use crate::view::ToolView;
use crate::words::{is_topical, stem, words};

/// Tools that are named.
const RELATED: usize = 5;

/// The exposed names of related tools, the closest first: the user's choice, else the tools of the same
/// server whose names share the most words that say what they work on.
pub(crate) fn related(view: &ToolView<'_>) -> Vec<String> {
    if let Some(chosen) = view.user_override().and_then(|user| user.related.clone()) {
        return chosen;
    }
    let Some(entry) = view.entry() else {
        return Vec::new();
    };
    let common = words_of_all(entry);
    let topic = |name: &str| -> BTreeSet<String> {
        let stems = words(name)
            .into_iter()
            .filter(|word| is_topical(word))
            .map(|word| stem(&word).into_owned());
        stems.filter(|word| !common.contains(word)).collect()
    };
    let own = topic(view.name());
    let mut near: Vec<(usize, ToolView<'_>)> = entry
        .visible_tools()
        .filter(|other| other.exposed() != view.exposed())
        .map(|other| (topic(other.name()).intersection(&own).count(), other))
        .filter(|(shared, _)| *shared > 0)
        .collect();
    near.sort_by_key(|(shared, other)| (Reverse(*shared), other.exposed()));
    near.into_iter()
        .take(RELATED)
        .map(|(_, other)| other.exposed().to_string())
        .collect()
}

/// Words that every tool of a server has in its name relate nothing.
fn words_of_all(entry: &Arc<ServerEntry>) -> BTreeSet<String> {
    let mut names = entry.record.tools.iter().map(|tool| {
        words(&tool.name)
            .iter()
            .map(|word| stem(word).into_owned())
            .collect::<BTreeSet<String>>()
    });
    let first = names.next().unwrap_or_default();
    if entry.record.tools.len() < 3 {
        return BTreeSet::new();
    }
    names.fold(first, |common, words| {
        common.intersection(&words).cloned().collect()
    })
}

//! Finds tools of the same server that operate on the same things.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::ServerEntry;
use crate::view::ToolView;
use crate::words::{is_topical, stem, words};

/// Tools that are returned.
const MAX_RELATED: usize = 5;

/// Returns the exposed names of related tools, closest first: the user's override, else the tools of the same
/// server whose names share the most topic words.
pub fn related_tools(view: &ToolView<'_>) -> Vec<String> {
    if let Some(chosen) = view.user_override().and_then(|user| user.related.clone()) {
        return chosen;
    }
    let Some(entry) = view.entry() else {
        return Vec::new();
    };
    let common = common_words(entry);
    let topic = |name: &str| -> BTreeSet<String> {
        let stems = words(name)
            .into_iter()
            .filter(|word| is_topical(word))
            .map(|word| stem(&word).into_owned());
        stems.filter(|word| !common.contains(word)).collect()
    };
    let own = topic(view.name());
    let mut related: Vec<(usize, ToolView<'_>)> = entry
        .visible_tools()
        .filter(|other| other.exposed() != view.exposed())
        .map(|other| (topic(other.name()).intersection(&own).count(), other))
        .filter(|(shared, _)| *shared > 0)
        .collect();
    related.sort_by_key(|(shared, other)| (Reverse(*shared), other.exposed()));
    related
        .into_iter()
        .take(MAX_RELATED)
        .map(|(_, other)| other.exposed().to_string())
        .collect()
}

/// Returns the words that every tool name of a server contains. They do not relate tools.
fn common_words(entry: &Arc<ServerEntry>) -> BTreeSet<String> {
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

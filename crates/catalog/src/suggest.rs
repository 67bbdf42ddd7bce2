//! Suggests existing names for a mistyped one.

use crate::snapshot::Catalog;

/// Names that are suggested.
const MAX_SUGGESTIONS: usize = 5;
/// Characters of a mistyped name that are compared.
const COMPARED_CHARS: usize = 128;
/// Minimum similarity of a suggested name, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

impl Catalog {
    /// Returns the exposed tool names most similar to a name that does not exist, best first.
    pub fn suggest_tools(&self, wrong: &str) -> Vec<String> {
        let names = self.tools();
        suggestions(
            wrong,
            names.map(|view| (view.exposed().as_str(), view.name())),
        )
    }

    /// Returns the server names most similar to a name that does not exist, best first.
    pub fn suggest_servers(&self, wrong: &str) -> Vec<String> {
        let wrong = folded(wrong);
        nearest(self.servers().map(|entry| {
            let name = entry.name().as_str();
            (similarity(&wrong, name), name)
        }))
    }
}

/// Returns the exposed names most similar to `wrong`, best first. Each candidate is an exposed name and the name on
/// its server.
pub(crate) fn suggestions<'a, N: Into<String> + AsRef<str>>(
    wrong: &str,
    names: impl Iterator<Item = (N, &'a str)>,
) -> Vec<String> {
    let wrong = folded(wrong);
    let bare = without_server(&wrong).to_owned();
    nearest(names.map(|(exposed, own)| {
        let whole = similarity(&wrong, &folded(exposed.as_ref()));
        (whole.max(similarity(&bare, &folded(own))), exposed)
    }))
}

fn nearest<N: Into<String> + AsRef<str>>(names: impl Iterator<Item = (f64, N)>) -> Vec<String> {
    let mut similar: Vec<(f64, N)> = names
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    similar.sort_by(|one, other| {
        let by_name = || one.1.as_ref().cmp(other.1.as_ref());
        other.0.total_cmp(&one.0).then_with(by_name)
    });
    similar
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| name.into())
        .collect()
}

fn similarity(wrong: &str, name: &str) -> f64 {
    // Half of a name is a good match, although the edit distance is large.
    let part = wrong.len() >= 3 && name.contains(wrong);
    if !part && max_similarity(wrong, name) < MIN_SIMILARITY {
        return 0.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(wrong, name);
    if part { edits.max(0.75) } else { edits }
}

/// Returns an upper bound of the similarity of two names, from the letters that only one of them has. It costs a
/// fraction of the edit distance and rules out nearly every name.
fn max_similarity(one: &str, other: &str) -> f64 {
    let mut surplus = [0_i32; 256];
    let (mut of_one, mut of_other) = (0_usize, 0_usize);
    for (text, length, step) in [(one, &mut of_one, 1), (other, &mut of_other, -1)] {
        for letter in text.chars() {
            *length += 1;
            // Letters that share a counter only weaken the bound.
            if let Some(count) = surplus.get_mut(letter as usize % 256) {
                *count += step;
            }
        }
    }
    let missing: i32 = surplus.iter().filter(|count| **count > 0).sum();
    let extra: i32 = surplus.iter().filter(|count| **count < 0).map(|c| -c).sum();
    let longest = of_one.max(of_other).max(1);
    1.0 - f64::from(missing.max(extra)) / longest as f64
}

fn folded(name: &str) -> String {
    let name = name.trim().chars().take(COMPARED_CHARS);
    name.flat_map(char::to_lowercase)
        .map(|c| if matches!(c, '-' | '.' | ' ') { '_' } else { c })
        .collect()
}

/// Returns the part after the first separator, or the whole name.
fn without_server(name: &str) -> &str {
    let rest = name
        .split_once("__")
        .or_else(|| name.split_once('/'))
        .map(|(_, rest)| rest);
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bound_never_rules_out_a_similar_name() {
        let names = [
            "",
            "a",
            "close_issue",
            "close_isue",
            "colse_issue",
            "issue_close",
            "größe",
            "x",
        ];
        for one in names {
            for other in names {
                let exact = strsim::normalized_damerau_levenshtein(one, other);
                assert!(max_similarity(one, other) >= exact - 1e-9, "{one} {other}");
            }
        }
    }
}

//! Names that may have been meant.

use crate::snapshot::Catalog;

/// Names that are offered.
const NEAREST: usize = 5;
/// Characters of a wrong name that are compared.
const COMPARED: usize = 128;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

impl Catalog {
    /// The exposed names of tools nearest to a name that is not one, the nearest first.
    pub fn suggest_tools(&self, wrong: &str) -> Vec<String> {
        let names = self.tools();
        suggestions(
            wrong,
            names.map(|view| (view.exposed().as_str(), view.name())),
        )
    }

    /// The names of servers nearest to a name that is not one, the nearest first.
    pub fn suggest_servers(&self, wrong: &str) -> Vec<String> {
        let wrong = folded(wrong);
        nearest(self.servers().map(|entry| {
            let name = entry.name().as_str();
            (similarity(&wrong, name), name)
        }))
    }
}

/// The exposed names nearest to a name that is not one, the nearest first; each comes with its server's own
/// name for it.
pub(crate) fn suggestions<'a, N: Into<String> + AsRef<str>>(
    wrong: &str,
    names: impl Iterator<Item = (N, &'a str)>,
) -> Vec<String> {
    let wrong = folded(wrong);
    let bare = bare(&wrong).to_owned();
    nearest(names.map(|(exposed, own)| {
        let whole = similarity(&wrong, &folded(exposed.as_ref()));
        (whole.max(similarity(&bare, &folded(own))), exposed)
    }))
}

fn nearest<N: Into<String> + AsRef<str>>(names: impl Iterator<Item = (f64, N)>) -> Vec<String> {
    let mut alike: Vec<(f64, N)> = names
        .filter(|(similarity, _)| *similarity >= ALIKE)
        .collect();
    alike.sort_by(|one, other| {
        let by_name = || one.1.as_ref().cmp(other.1.as_ref());
        other.0.total_cmp(&one.0).then_with(by_name)
    });
    alike
        .into_iter()
        .take(NEAREST)
        .map(|(_, name)| name.into())
        .collect()
}

fn similarity(wrong: &str, name: &str) -> f64 {
    // Somebody who writes half of a name means it, though the edits are many.
    let part = wrong.len() >= 3 && name.contains(wrong);
    if !part && at_most(wrong, name) < ALIKE {
        return 0.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(wrong, name);
    if part { edits.max(0.75) } else { edits }
}

/// A bound on how alike two names can be, from the letters that only one of them has. It costs a fraction of
/// counting the edits, and rules out nearly every name.
fn at_most(one: &str, other: &str) -> f64 {
    let mut surplus = [0_i32; 256];
    let (mut of_one, mut of_other) = (0_usize, 0_usize);
    for (text, length, step) in [(one, &mut of_one, 1), (other, &mut of_other, -1)] {
        for letter in text.chars() {
            *length += 1;
            // Letters that share a place only make the bound weaker.
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
    let name = name.trim().chars().take(COMPARED);
    name.flat_map(char::to_lowercase)
        .map(|c| if matches!(c, '-' | '.' | ' ') { '_' } else { c })
        .collect()
}

/// What follows the first separator, where there is one.
fn bare(name: &str) -> &str {
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
    fn the_bound_never_rules_out_what_is_alike() {
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
                assert!(at_most(one, other) >= exact - 1e-9, "{one} {other}");
            }
        }
    }
}

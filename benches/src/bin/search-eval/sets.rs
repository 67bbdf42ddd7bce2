//! Query sets in folders.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

/// A catalog with queries whose right tools are known.
pub(crate) struct QuerySet {
    pub(crate) name: String,
    pub(crate) corpus: PathBuf,
    pub(crate) queries: Vec<LabelledQuery>,
}

/// A query and the tools that it needs.
#[derive(Deserialize)]
pub(crate) struct LabelledQuery {
    pub(crate) query: String,
    /// The needed tools; any member of a group is right.
    pub(crate) gold_groups: Vec<Vec<String>>,
    /// The opposite of the right tool, in a set of minimal pairs.
    #[serde(default)]
    pub(crate) wrong: Option<String>,
}

/// The sets in some folders, in the order of their names. `only` selects sets by name; empty means all.
pub(crate) fn sets_in(
    folders: &[PathBuf],
    half: &str,
    only: &[String],
) -> Result<Vec<QuerySet>, Box<dyn Error>> {
    let mut sets = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let queries = path.join(format!("queries.{half}.jsonl"));
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let is_wanted = only.is_empty() || only.iter().any(|wanted| wanted == name);
            if !is_wanted || !queries.exists() {
                continue;
            }
            let text = fs::read_to_string(&queries)?;
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read = |line: &str| {
                serde_json::from_str(line)
                    .map_err(|error| format!("`{}`: {error}", queries.display()))
            };
            sets.push(QuerySet {
                name: name.to_owned(),
                corpus: path.join("corpus.jsonl"),
                queries: lines.map(read).collect::<Result<_, _>>()?,
            });
        }
    }
    sets.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sets)
}

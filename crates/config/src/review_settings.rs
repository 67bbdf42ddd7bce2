//! The `[review]` table: which definitions are held back until a person has looked at them.

use pegboard_model::{Layer, ResultScan, ReviewMode};
use serde::Serialize;

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::kinds::{key_table, one_of};
use crate::load::LoadedConfig;
use crate::template::Resolver;

key_table! {
    /// The `[review]` table.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct ReviewSettings, REVIEW_KEYS;

    /// Which definitions [await a review](review.md) before models get them: what the scanner flags, and changes of
    /// tools that are in use (`default`); everything new and every change (`strict`); or only what no honest text
    /// contains (`off`).
    mode: ReviewMode = ReviewMode::Default, one_of();
    /// What happens to texts in [results](review.md#results) that hide something or imitate a system message: nothing
    /// (`off`), the result is marked (`mark`), or the characters are also escaped (`neutralise`).
    results: ResultScan = ResultScan::Mark, one_of();
}

/// Reads `[review]` of the user's own files. A project's file cannot change what its servers may do.
pub(crate) fn read_review(files: &[ConfigFile], values: &Resolver<'_>, loaded: &mut LoadedConfig) {
    for file in files {
        let Some(root) = file.table("review") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        if file.layer == Layer::Project {
            reader.warn(
                root.key_start,
                "a project file cannot change what is reviewed; `review` is ignored here",
                "set it in your own config file",
            );
            loaded.problems.append(&mut reader.problems);
            continue;
        }
        let entries = reader.unique_entries(root, r#"{"mode": "strict"}"#);
        let applied = reader.each_key(entries, REVIEW_KEYS, "`review`", |reader, entry, field| {
            (field.apply)(&mut loaded.review, entry, reader)
        });
        for entry in applied {
            let key = format!("review.{}", entry.key);
            let (source, layer) = (&file.source, file.layer);
            explain_entry(&mut loaded.values, "review", key, entry, source, layer);
        }
        loaded.problems.append(&mut reader.problems);
    }
}

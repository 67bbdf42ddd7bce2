//! What the texts of a server say about the folder that it works in.

use pegboard_model::ServerRecord;

/// Phrases of servers whose results depend on a folder of the project.
const PHRASES: &[&str] = &[
    "working directory",
    "working folder",
    "workspace root",
    "workspace folder",
    "workspace path",
    "project root",
    "project directory",
    "repository root",
    "current directory",
];
/// Bytes of definitions that are searched; a reason need not be complete.
const SEARCHED_BYTES: usize = 512 * 1024;

/// Returns the first phrase about a project's folder in the server's instructions and definitions.
pub(super) fn folder_phrase(record: &ServerRecord) -> Option<&'static str> {
    let mut left = SEARCHED_BYTES;
    let texts = record.instructions.as_deref().into_iter();
    let mut texts = texts.chain(record.tools.iter().map(|tool| &*tool.definition));
    texts.find_map(|text| {
        left = left.checked_sub(text.len())?;
        let text = text.to_ascii_lowercase();
        PHRASES
            .iter()
            .find(|phrase| text.contains(*phrase))
            .copied()
    })
}

//! The recently served project directories, stored in a file of the state directory.

use std::path::{Path, PathBuf};

use pegboard_config::write_file_atomically;
use pegboard_model::Timestamp;
use serde::{Deserialize, Serialize};

use super::state_file;

const FILE: &str = "projects.json";
/// The maximum number of projects; the least recently used is removed.
const MAX_PROJECTS: usize = 50;
/// The maximum size of the file.
const FILE_BYTES: u64 = 256 * 1024;

/// A project directory that was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecentProject {
    pub(super) folder: PathBuf,
    pub(super) last_used: Timestamp,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    projects: Vec<RecentProject>,
}

/// Returns the projects, most recently used first. An unreadable file counts as empty.
pub(super) fn load_recent(state: &Path) -> Vec<RecentProject> {
    let read = || {
        let text = state_file::read(&state.join(FILE), FILE_BYTES).ok()?;
        serde_json::from_str::<Content>(&text).ok()
    };
    let mut projects = read().unwrap_or_default().projects;
    projects.retain(|project| project.folder.is_absolute());
    projects.sort_by_key(|project| std::cmp::Reverse(project.last_used));
    projects.truncate(MAX_PROJECTS);
    projects
}

/// Records a project as most recently used. Write errors are ignored.
pub(super) fn record_recent(state: &Path, folder: &Path, now: Timestamp) {
    let mut projects = load_recent(state);
    projects.retain(|project| project.folder != folder);
    projects.insert(
        0,
        RecentProject {
            folder: folder.to_owned(),
            last_used: now,
        },
    );
    projects.truncate(MAX_PROJECTS);
    if let Ok(text) = serde_json::to_vec_pretty(&Content { projects }) {
        let _ = write_file_atomically(&state.join(FILE), &text, 0o600);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_projects_are_bounded_and_newest_first() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(load_recent(state.path()), []);
        for number in 0..MAX_PROJECTS as u64 + 5 {
            let folder = PathBuf::from(format!("/projects/{number}"));
            record_recent(state.path(), &folder, Timestamp(number));
        }
        record_recent(state.path(), Path::new("/projects/30"), Timestamp(1000));
        let known = load_recent(state.path());
        assert_eq!(known.len(), MAX_PROJECTS);
        assert_eq!(known[0].folder, Path::new("/projects/30"));
        assert_eq!(known[1].folder, Path::new("/projects/54"));
        std::fs::write(state.path().join(FILE), "not json").unwrap();
        assert_eq!(load_recent(state.path()), []);
    }
}

//! Planted values that must not appear in any output, error, log or stored file.

mod environment;
mod leaks;
mod planted;

use crate::support::{Home, Run, files_below};

/// The number of planted values.
const CANARIES: usize = 24;

/// Returns the n-th planted value.
fn canary(number: usize) -> String {
    assert!(number < CANARIES, "raise `CANARIES`");
    format!("canary-{number:02}-Kq7ZxW")
}

/// Returns the planted values in a text; a part of one counts, too.
fn hits(text: &[u8]) -> Vec<String> {
    let holds = |needle: &str| {
        text.windows(needle.len())
            .any(|window| window == needle.as_bytes())
    };
    let all = (0..CANARIES).map(canary);
    all.filter(|canary| holds(canary) || holds(&canary[..canary.len() - 3]))
        .collect()
}

#[track_caller]
fn assert_clean(run: &Run, what: &str) {
    for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        assert_eq!(
            hits(text.as_bytes()),
            [] as [String; 0],
            "{name} of `{what}`:\n{text}"
        );
    }
}

/// Asserts that no stored file except the secrets file contains a planted value.
#[track_caller]
fn assert_state_is_clean(home: &Home) {
    let files = files_below(&home.state());
    assert!(
        files.iter().any(|file| file.ends_with("pegboard.db")),
        "{files:?}"
    );
    for file in files.iter().filter(|file| !file.ends_with("secrets.json")) {
        let bytes = std::fs::read(file).expect("a file of the state folder");
        assert_eq!(hits(&bytes), [] as [String; 0], "{}", file.display());
    }
}

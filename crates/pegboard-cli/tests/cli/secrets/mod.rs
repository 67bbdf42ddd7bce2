//! Planted values that must come back nowhere: not in an answer, an error, a log or the store.

mod environment;
mod leaks;
mod planted;

use crate::support::{Home, Run, files_below};

/// How many values are planted.
const CANARIES: usize = 24;

/// The n-th planted value.
fn canary(number: usize) -> String {
    assert!(number < CANARIES, "raise `CANARIES`");
    format!("canary-{number:02}-Kq7ZxW")
}

/// The planted values that a text holds; a part of one counts too.
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

/// Nothing that lasts holds a planted value, but the one file that is there for them.
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

//! Config files in three formats, files of other clients, and server URLs.

use std::cell::OnceCell;
use std::path::Path;

use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, edit, load};
use pegboard_model::{HashKey, Limits, ServerName, Transport};
use serde_json::json;
use tempfile::TempDir;

/// The value of a variable that configurations may refer to. No file contains it, so nothing may print it.
const CANARY: &str = "value-of-the-canary-variable";

/// Runs `check` in a folder of this thread.
fn in_folder<T>(check: impl FnOnce(&Path) -> T) -> T {
    thread_local! {
        static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
    }
    FOLDER.with(|folder| check(folder.get_or_init(|| tempfile::tempdir().unwrap()).path()))
}

fn load_file(folder: &Path, name: &str) -> LoadedConfig {
    let env = Environment {
        vars: [("CANARY".to_owned(), CANARY.to_owned())].into(),
        home: folder.join("home"),
        working_dir: folder.to_path_buf(),
    };
    let paths = Paths {
        config_dir: folder.join("config"),
        state_dir: folder.join("state"),
    };
    let options = LoadOptions {
        config_file: Some(folder.join(name)),
        ..LoadOptions::default()
    };
    load(
        &options,
        &env,
        &paths,
        &HashKey([7; 32]),
        &Limits::default(),
    )
}

/// Everything that is shown of a configuration.
fn shown(loaded: &LoadedConfig) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        loaded.servers,
        loaded.broken,
        loaded.problems,
        loaded.values,
        loaded.settings,
        loaded.profiles
    )
}

/// Loads a file and checks what holds for any.
fn check_file(folder: &Path, name: &str, input: &[u8]) -> LoadedConfig {
    std::fs::write(folder.join(name), input).unwrap();
    let loaded = load_file(folder, name);
    let text = shown(&loaded);
    assert_eq!(
        text,
        shown(&load_file(folder, name)),
        "loading is deterministic"
    );
    assert!(!text.contains(CANARY), "a variable was shown: {text}");
    // An editor may count `\r` and other separators as line ends too; a position is never beyond the most of them.
    let lines = 1 + input
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count();
    for problem in &loaded.problems {
        assert!(
            problem.line.is_none_or(|line| (1..=lines).contains(&line)),
            "{problem:?}"
        );
        assert!(
            problem.column.is_none_or(|column| column >= 1),
            "{problem:?}"
        );
        assert!(
            !problem.message.is_empty() && !problem.help.is_empty(),
            "{problem:?}"
        );
    }
    for indexes in loaded.broken.values() {
        assert!(!indexes.is_empty());
        assert!(indexes.iter().all(|index| *index < loaded.problems.len()));
    }
    for (server, spec) in &loaded.servers {
        assert_eq!(*server, spec.name);
        assert!(ServerName::parse(server.as_str()).is_ok());
    }
    if std::str::from_utf8(input).is_err() {
        assert!(loaded.has_errors());
    }
    loaded
}

/// Also checks that disabling a server changes that server only. Passes if the file defines a server.
fn own_file(name: &str, input: &[u8]) -> bool {
    in_folder(|folder| {
        let before = check_file(folder, name, input);
        let Some(server) = before.servers.keys().next() else {
            return false;
        };
        if edit::set_enabled(&folder.join(name), server, false).is_ok() {
            let after = load_file(folder, name);
            assert!(!after.servers[server].enabled);
            assert!(after.servers.keys().eq(before.servers.keys()));
            for (name, spec) in before.servers.iter().filter(|(name, _)| *name != server) {
                assert_eq!(after.servers[name].hash.0, spec.hash.0);
                assert_eq!(after.servers[name].enabled, spec.enabled);
            }
        }
        true
    })
}

pub(crate) fn toml(input: &[u8]) -> bool {
    own_file("config.toml", input)
}

pub(crate) fn yaml(input: &[u8]) -> bool {
    own_file("config.yaml", input)
}

pub(crate) fn json(input: &[u8]) -> bool {
    own_file("config.json", input)
}

/// A file of another client, under three names. Passes if the file defines a server.
pub(crate) fn client_file(input: &[u8]) -> bool {
    in_folder(|folder| {
        let mut passed = false;
        for name in [".mcp.json", "claude_desktop_config.json", "settings.json"] {
            let loaded = check_file(folder, name, input);
            passed |= !loaded.servers.is_empty();
        }
        passed
    })
}

/// The input is the URL of a server. An accepted URL is HTTP, and a rejected one is reported. Passes if it is accepted.
pub(crate) fn server_url(input: &[u8]) -> bool {
    let Ok(url) = std::str::from_utf8(input) else {
        return false;
    };
    let url = url.trim_end_matches('\n');
    let file = json!({"servers": {"remote": {"url": url}}}).to_string();
    in_folder(|folder| {
        let loaded = check_file(folder, "config.json", file.as_bytes());
        let mut servers = loaded.servers.values();
        let Some(spec) = servers.next() else {
            assert!(loaded.has_errors(), "rejected without an error: {url}");
            return false;
        };
        assert!(matches!(spec.transport, Transport::Http { .. }));
        if !url.contains("${") {
            let lower = url.trim().to_ascii_lowercase();
            let is_http = lower.starts_with("http:") || lower.starts_with("https:");
            assert!(is_http, "{url:?}");
        }
        true
    })
}

//! Import of servers from other clients' files.

use std::path::Path;

use pegboard_config::clients::{ApplyOptions, ImportPlan, Places, ResultState, Selection};
use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, SecretStore, Severity, load};
use pegboard_model::{HashKey, Limits, Reason};

/// The value of a variable that files may refer to. No file contains it, so nothing may print or write it.
const CANARY: &str = "value-of-the-canary-variable";

/// Files in three formats, with tables and lists of servers.
const FILES: &[&str] = &[
    "home/.cursor/mcp.json",
    "home/.codex/config.toml",
    "home/.config/goose/config.yaml",
    "home/.continue/config.yaml",
    "home/.config/opencode/opencode.json",
    "project/.vscode/mcp.json",
];

fn environment(folder: &Path) -> Environment {
    let home = folder.join("home");
    let vars = [
        ("CANARY".to_owned(), CANARY.to_owned()),
        ("HOME".to_owned(), home.display().to_string()),
    ];
    Environment {
        vars: vars.into(),
        home,
        working_dir: folder.join("project"),
    }
}

fn loaded(env: &Environment) -> LoadedConfig {
    let paths = Paths::from_env(env);
    load(
        &LoadOptions::default(),
        env,
        &paths,
        &HashKey([7; 32]),
        &Limits::default(),
    )
}

/// Imports the input as a file of several clients. What is written can be loaded, and is not imported again. Passes if
/// a server is found.
pub(crate) fn clients(input: &[u8]) -> bool {
    let mut passed = false;
    for file in FILES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::create_dir_all(folder.path().join("project/.git")).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, input).unwrap();
        passed |= import(folder.path(), &path, input);
    }
    passed
}

fn import(folder: &Path, file: &Path, input: &[u8]) -> bool {
    let env = environment(folder);
    let store = SecretStore::open(&Paths::from_env(&env).state_dir);
    let mut places = Places::new(&env);
    places.is_macos = false;
    let scan = || ImportPlan::scan(&places, &loaded(&env), &store);
    let plan = scan();
    let shown = format!("{plan:?}{}", serde_json::to_string(&plan).unwrap());
    let again = scan();
    assert_eq!(
        serde_json::to_string(&plan).unwrap(),
        serde_json::to_string(&again).unwrap(),
        "scanning is deterministic"
    );
    assert!(!shown.contains(CANARY), "a variable was shown: {shown}");
    let mut selection = Selection::default();
    selection.project_servers = true;
    let report = plan
        .apply(&selection, &ApplyOptions::default(), &store)
        .unwrap();
    assert_eq!(
        std::fs::read(file).unwrap(),
        input,
        "the client's file is unchanged"
    );
    let written = report.written().count();
    let failed = report
        .results
        .iter()
        .filter(|result| result.state == ResultState::Failed);
    assert_eq!(failed.count(), 0, "{report:?}");
    assert_eq!(written, plan.importable().count(), "{report:?}");
    let config = loaded(&env);
    let rejected = |reason: Reason| reason != Reason::ConfigSecretMissing;
    for problem in config
        .problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
    {
        assert!(!rejected(problem.reason), "{problem}");
    }
    assert_eq!(
        scan().importable().count(),
        0,
        "imported again: {:?}",
        scan()
    );
    !plan.servers.is_empty()
}

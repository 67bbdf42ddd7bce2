//! What holds for any import: secrets stay secret, client files stay as they are, and nothing is written twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pegboard_config::clients::{
    ApplyOptions, CLIENTS, FileState, ResultState, SecretMode, Selection, ServerState,
};
use pegboard_model::{Secret, SecretLookup, TrustState};

use super::machine::{Machine, find, fixtures, state};

fn all_clients() -> Machine {
    let keys: Vec<&str> = CLIENTS.iter().map(|client| client.key).collect();
    Machine::with(&keys)
}

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files.extend(contents(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

#[test]
fn r_cfg_07_no_secret_is_shown_or_written_and_no_client_file_is_changed() {
    let machine = all_clients();
    let before = contents(&machine.path(""));
    let plan = machine.plan();
    let json = serde_json::to_string(&plan).unwrap();
    let report = machine.import();
    let shown = format!(
        "{json}{plan:?}{report:?}{}",
        serde_json::to_string(&report).unwrap()
    );
    assert!(!shown.contains("canary"), "{shown}");
    let written = format!("{}{}", machine.config(), machine.project_config());
    assert!(!written.contains("canary"), "{written}");
    // Goose stores a secret of this name itself, which may have another value.
    assert!(written.contains("${secret:github_personal_access_token}"));
    let name = "github_personal_access_token_2";
    assert!(written.contains(&format!("${{secret:{name}}}")));
    let after = contents(&machine.path(""));
    for (path, bytes) in &before {
        assert_eq!(
            after.get(path),
            Some(bytes),
            "{} has changed",
            path.display()
        );
    }
    let stored = machine.secrets().secret(name);
    assert_eq!(stored.unwrap().reveal(), "ghp_canary0123456789abcdef");
}

#[test]
fn r_cfg_07_a_second_import_finds_nothing_new() {
    let machine = all_clients();
    let written = machine.import().written().count();
    assert!(written > 40, "{written}");
    let config = (machine.config(), machine.project_config());
    let again = machine.import();
    assert_eq!(again.written().count(), 0);
    assert!(again.stored_secrets.is_empty());
    assert_eq!((machine.config(), machine.project_config()), config);
}

#[test]
fn r_cfg_07_the_same_definition_is_one_server_and_another_one_gets_a_stable_name() {
    let machine = Machine::with(&[
        "claude-code",
        "claude-desktop",
        "cursor",
        "kimi",
        "roo-code",
    ]);
    let plan = machine.plan();
    let github = find(&plan, "github");
    let sources: Vec<_> = github
        .sources
        .iter()
        .map(|source| (source.client, source.name.as_str()))
        .collect();
    let expected = [
        ("claude-code", "github"),
        ("claude-desktop", "github"),
        ("cursor", "GitHub"),
    ];
    assert_eq!(sources, expected);
    let linear: Vec<_> = plan
        .servers
        .iter()
        .filter(|server| server.original_name == "linear")
        .collect();
    let names: Vec<_> = linear
        .iter()
        .map(|server| server.name.as_ref().unwrap().as_str())
        .collect();
    assert_eq!(names, ["linear", "linear_cursor"]);
    // Choosing only one of them does not change its name.
    let mut selection = Selection::default();
    selection.clients = vec!["cursor".to_owned()];
    selection.servers = vec!["linear".to_owned()];
    let report = plan
        .apply(&selection, &ApplyOptions::default(), &machine.secrets())
        .unwrap();
    let names: Vec<_> = report
        .written()
        .map(|result| result.name.as_ref().unwrap().as_str())
        .collect();
    assert_eq!(names, ["linear_cursor"]);
    let plan = machine.plan();
    assert_eq!(
        find(&plan, "linear").name.as_ref().unwrap().as_str(),
        "linear"
    );
}

#[test]
fn r_cfg_07_a_configured_name_with_another_definition_is_kept() {
    let machine = Machine::with(&["cursor"]);
    let own = "# mine\n[servers.linear]\ncommand = \"mine\" # keep\n";
    machine.write("home/.config/pegboard/config.toml", own);
    let plan = machine.plan();
    let linear = find(&plan, "linear");
    assert_eq!(linear.state, ServerState::Differs);
    assert_eq!(linear.name.as_ref().unwrap().as_str(), "linear_cursor");
    machine.import();
    assert!(machine.config().starts_with(own), "{}", machine.config());
    assert!(machine.config().contains("[servers.linear_cursor]"));
    assert_eq!(state(&machine.plan(), "linear"), ServerState::Same);
}

#[test]
fn r_cfg_07_servers_of_a_project_are_imported_only_when_chosen_and_need_trust() {
    let machine = Machine::with(&["cursor", "vscode"]);
    let plan = machine.plan();
    let apply = |selection: &Selection| {
        plan.apply(selection, &ApplyOptions::default(), &machine.secrets())
            .unwrap()
    };
    let report = apply(&Selection::default());
    assert!(report.written().all(|result| !result.needs_trust));
    assert_eq!(machine.project_config(), "");
    let mut named = Selection::default();
    named.servers = vec!["build".to_owned()];
    let report = apply(&named);
    let results: Vec<_> = report.written().map(|result| result.needs_trust).collect();
    assert_eq!(results, [true]);
    let mut clients = Selection::default();
    clients.clients = vec!["vscode".to_owned()];
    let names: Vec<_> = machine
        .plan()
        .servers
        .iter()
        .filter(|server| clients.contains(server))
        .map(|server| server.original_name.clone())
        .collect();
    assert!(names.contains(&"playwright".to_owned()), "{names:?}");
    let loaded = machine.load();
    let build = loaded
        .servers
        .values()
        .find(|spec| spec.name.as_str() == "build")
        .unwrap();
    assert_eq!(build.trust_state, TrustState::Pending);
}

#[test]
fn r_cfg_07_a_project_file_that_pegboard_reads_is_not_imported() {
    let machine = Machine::with(&["claude-code"]);
    assert_eq!(state(&machine.plan(), "docs"), ServerState::Read);
    assert_eq!(state(&machine.plan(), "pegboard"), ServerState::Pegboard);
    machine.import();
    let written = format!("{}{}", machine.config(), machine.project_config());
    assert!(!written.contains("docs-mcp-server"), "{written}");
    assert!(!written.contains("other-project"), "{written}");
}

#[test]
fn r_cfg_07_a_file_that_changed_since_the_scan_stops_the_import() {
    let machine = Machine::with(&["cursor", "qoder"]);
    let plan = machine.plan();
    machine.write(
        "home/.qoder/mcp.json",
        r#"{"mcpServers": {"fetch": {"command": "other"}}}"#,
    );
    let store = machine.secrets();
    let problem = plan
        .apply(&Selection::default(), &ApplyOptions::default(), &store)
        .unwrap_err();
    assert!(problem.message.contains("has changed"), "{problem}");
    assert_eq!(machine.config(), "");
    assert!(store.names().is_empty());
}

#[test]
fn r_cfg_07_a_failed_write_leaves_no_secret_and_is_reported() {
    let machine = Machine::with(&["cursor"]);
    let plan = machine.plan();
    fs::create_dir_all(machine.path("home/.config/pegboard/config.toml")).unwrap();
    let store = machine.secrets();
    store.set("mine", Secret::new("value")).unwrap();
    let report = plan
        .apply(&Selection::default(), &ApplyOptions::default(), &store)
        .unwrap();
    assert!(
        report
            .results
            .iter()
            .all(|result| result.state == ResultState::Failed)
    );
    assert!(report.has_failures() && report.stored_secrets.is_empty());
    let names: Vec<String> = store
        .names()
        .into_iter()
        .map(|secret| secret.name)
        .collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn r_cfg_07_secrets_can_be_kept_or_refused_and_never_replace_stored_ones() {
    let machine = Machine::with(&["lm-studio", "qoder"]);
    let store = machine.secrets();
    let mut options = ApplyOptions::default();
    options.secrets = SecretMode::Refuse;
    let report = machine
        .plan()
        .apply(&Selection::default(), &options, &store)
        .unwrap();
    let states: Vec<_> = report.results.iter().map(|result| result.state).collect();
    assert_eq!(states, [ResultState::Skipped, ResultState::Written]);
    store
        .set("hf_mcp_server_token", Secret::new("another value"))
        .unwrap();
    let plan = machine.plan();
    let secret = &find(&plan, "hf-mcp-server").secrets[0];
    assert_eq!(
        (secret.name.as_str(), secret.is_stored),
        ("hf_mcp_server_token_2", false)
    );
    options.secrets = SecretMode::Keep;
    plan.apply(&Selection::default(), &options, &store).unwrap();
    assert!(
        machine
            .config()
            .contains("Bearer hf_canary0123456789abcdef")
    );
    assert_eq!(state(&machine.plan(), "hf-mcp-server"), ServerState::Same);
}

#[test]
fn r_cfg_07_an_env_file_outside_of_the_project_is_not_read() {
    let machine = Machine::new();
    machine.write("home/secret.env", "STOLEN=canary-stolen\n");
    std::os::unix::fs::symlink(
        machine.path("home/secret.env"),
        machine.path("project/link.env"),
    )
    .unwrap();
    for path in [
        "../home/secret.env",
        "${workspaceFolder}/link.env",
        "~/secret.env",
        "/etc/passwd",
        "missing",
    ] {
        let text = serde_json::json!({"mcpServers": {"a": {"command": "a", "envFile": path}}});
        machine.write("project/.cursor/mcp.json", &text.to_string());
        let plan = machine.plan();
        let server = find(&plan, "a");
        assert!(server.secrets.is_empty(), "{path}");
        assert!(
            server.notes[0].contains("`envFile` is not carried over"),
            "{path}: {:?}",
            server.notes
        );
    }
    let text = r#"{"mcpServers": {"own": {"command": "own", "envFile": "~/secret.env"}}}"#;
    machine.write("home/.cursor/mcp.json", text);
    machine.write("home/secret.env", "OWN_TOKEN=canary-own\n");
    let plan = machine.plan();
    assert_eq!(find(&plan, "own").secrets[0].name, "own_token");
}

/// Unusual files as a file of the user, with the states of its servers.
#[test]
fn r_cfg_07_a_bad_file_or_entry_does_not_affect_the_others() {
    let check = |shape: &str, state: FileState, servers: &[(&str, ServerState)]| {
        let text = fs::read_to_string(fixtures().join("shapes").join(shape)).unwrap();
        for path in ["home/.cursor/mcp.json", "home/.config/Code/User/mcp.json"] {
            let text = match path.contains("Code") {
                true => text.replace("mcpServers", "servers"),
                false => text.clone(),
            };
            let machine = Machine::with(&["qoder"]);
            machine.write(path, &text);
            let plan = machine.plan();
            let file = &plan.files[0];
            assert_eq!(file.state, state, "{shape}: {:?}", file.problem);
            let found: Vec<_> = file
                .servers
                .iter()
                .map(|index| &plan.servers[*index])
                .map(|server| (server.original_name.as_str(), server.state))
                .collect();
            assert_eq!(found, servers, "{shape}");
            let shown = format!("{}{plan:?}", serde_json::to_string(&plan).unwrap());
            assert!(!shown.contains("canary"), "{shape}: {shown}");
            assert!(
                plan.servers
                    .iter()
                    .any(|server| server.original_name == "fetch")
            );
        }
    };
    use ServerState::{Broken, New};
    for shape in [
        "empty.json",
        "blank.json",
        "no-servers.json",
        "null-servers.json",
    ] {
        check(shape, FileState::Empty, &[]);
    }
    for shape in [
        "broken.json",
        "merge-conflict.json",
        "root-list.json",
        "servers-text.json",
    ] {
        check(shape, FileState::Broken, &[]);
    }
    for shape in ["comments.json", "bom-crlf.json", "one-line.json"] {
        check(shape, FileState::Ok, &[("on", New)]);
    }
    check(
        "duplicates.json",
        FileState::Ok,
        &[("twice", New), ("good", New)],
    );
    check(
        "wrong-types.json",
        FileState::Ok,
        &[
            ("list", Broken),
            ("number", Broken),
            ("args-text", Broken),
            ("env-list", Broken),
            ("nothing", Broken),
            ("both", Broken),
            ("", Broken),
            ("a__b", New),
            ("mcp", New),
            ("good", New),
        ],
    );
}

#[test]
fn r_cfg_07_special_large_and_linked_files_are_read_or_refused_without_waiting() {
    let machine = Machine::new();
    let file = |name: &str| {
        let path = machine.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let pipe = file("home/.cursor/mcp.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    fs::create_dir_all(machine.path("home/.qoder/mcp.json")).unwrap();
    let huge = fs::File::create(file("home/.lmstudio/mcp.json")).unwrap();
    huge.set_len(1 << 33).unwrap();
    machine.write(
        "home/elsewhere.json",
        r#"{"mcpServers": {"linked": {"command": "linked"}}}"#,
    );
    std::os::unix::fs::symlink(
        machine.path("home/elsewhere.json"),
        file("home/.kimi/mcp.json"),
    )
    .unwrap();
    std::os::unix::fs::symlink("/nowhere", file("home/.factory/mcp.json")).unwrap();
    let history = "x".repeat(1000);
    let history: Vec<_> = (0..10_000).map(|_| history.as_str()).collect();
    let text = serde_json::json!({"history": history, "mcpServers": {"late": {"command": "late"}}});
    machine.write("home/.claude.json", &text.to_string());
    let plan = machine.plan();
    let states: Vec<_> = plan
        .files
        .iter()
        .map(|file| (file.client, file.state))
        .collect();
    let expected = [
        ("claude-code", FileState::Ok),
        ("cursor", FileState::Broken),
        ("lm-studio", FileState::Broken),
        ("kimi", FileState::Ok),
        ("factory", FileState::Broken),
        ("qoder", FileState::Broken),
    ];
    assert_eq!(states, expected);
    assert_eq!(state(&plan, "linked"), ServerState::New);
    assert_eq!(state(&plan, "late"), ServerState::New);
}

#[test]
fn r_cfg_07_a_relative_program_of_the_user_is_refused_and_relative_arguments_keep_their_meaning() {
    let check = |entry: serde_json::Value, expected: Result<&str, &str>| {
        let machine = Machine::new();
        let text = serde_json::json!({"mcpServers": {"a": entry.clone()}});
        machine.write("home/.cursor/mcp.json", &text.to_string());
        let plan = machine.plan();
        let server = find(&plan, "a");
        match expected {
            Ok(line) => {
                machine.import();
                let config = machine.config();
                assert!(config.contains(line), "{entry}: {config}");
                let loaded = machine.load();
                assert!(!loaded.has_errors(), "{entry}: {:?}", loaded.problems);
            }
            Err(reason) => {
                let problem = server.problem.as_ref().unwrap();
                assert!(problem.message.contains(reason), "{entry}: {problem}");
            }
        }
    };
    use serde_json::json;
    check(
        json!({"command": "python3", "args": ["./server.py"]}),
        Ok("cwd = \"${project}\""),
    );
    check(
        json!({"command": "uvx", "args": ["server", "--db=./x.db"]}),
        Ok("cwd = \"${project}\""),
    );
    check(
        json!({"command": "npx", "args": ["-y", "server", "./docs"]}),
        Ok("\"${project}/docs\"]"),
    );
    check(
        json!({"command": "npx", "args": ["server", "--db=./x.db"]}),
        Ok("\"--db=${project}/x.db\"]"),
    );
    check(
        json!({"command": "./server"}),
        Err("relative to the client's folder"),
    );
    check(
        json!({"command": "${workspaceFolder}/server"}),
        Err("depends on the current folder"),
    );
    check(
        json!({"command": "npx", "args": ["s"], "cwd": "${workspaceFolder}"}),
        Err("may run programs from its working directory"),
    );
}

#[test]
fn r_cfg_07_a_projects_file_changes_nothing_about_the_users_own_server() {
    let machine = Machine::new();
    let server =
        |more: &str| format!(r#"{{"mcpServers":{{"notes":{{"command":"/bin/notes"{more}}}}}}}"#);
    machine.write(
        "project/.gemini/settings.json",
        &server(r#","includeTools":["add"]"#),
    );
    machine.write(
        "home/.gemini/settings.json",
        &server(r#","excludeTools":["add"]"#),
    );
    machine.write("project/.kiro/settings/mcp.json", &server(""));
    machine.write(
        "home/.kiro/settings/mcp.json",
        &server(r#","disabled":true"#),
    );
    let plan = machine.plan();
    let notes = find(&plan, "notes");
    assert_eq!(notes.sources.len(), 4);
    let rules: Vec<_> = notes.policies.iter().collect();
    assert_eq!(rules.len(), 1, "{rules:?}");
    assert!(notes.policies.contains_key("add"), "{rules:?}");
    assert!(notes.available_tools.is_empty());
    let machine = Machine::new();
    machine.write("project/.kiro/settings/mcp.json", &server(""));
    machine.write(
        "home/.kiro/settings/mcp.json",
        &server(r#","disabled":true"#),
    );
    assert!(
        !find(&machine.plan(), "notes").enabled,
        "the user disabled it"
    );
}

#[test]
fn r_cfg_07_a_projects_servers_are_not_written_through_a_link() {
    let machine = Machine::new();
    let cursor = r#"{"mcpServers":{"theirs":{"command":"/bin/theirs"}}}"#;
    machine.write("project/.cursor/mcp.json", cursor);
    let own = machine.write("home/.config/pegboard/config.toml", "# own\n");
    let link = machine.path("project/.pegboard");
    std::os::unix::fs::symlink(own.parent().unwrap(), link).unwrap();
    let report = machine.import();
    let states: Vec<_> = report.results.iter().map(|result| result.state).collect();
    assert_eq!(states, [ResultState::Failed], "{report:?}");
    assert_eq!(machine.config(), "# own\n");
}

#[test]
fn r_cfg_08_imports_at_the_same_time_keep_the_secrets() {
    let cursor =
        r#"{"mcpServers":{"one":{"command":"/bin/one","env":{"API_TOKEN":"canary-value-1"}}}}"#;
    for round in 0..20 {
        let machine = Machine::new();
        machine.write("home/.cursor/mcp.json", cursor);
        let plans: Vec<_> = (0..4).map(|_| machine.plan()).collect();
        let barrier = std::sync::Barrier::new(plans.len());
        let apply = |plan: &pegboard_config::clients::ImportPlan| {
            let store = machine.secrets();
            barrier.wait();
            let report = plan.apply(&Selection::default(), &ApplyOptions::default(), &store);
            report.unwrap().written().count()
        };
        let written: usize = std::thread::scope(|scope| {
            let imports: Vec<_> = plans
                .iter()
                .map(|plan| scope.spawn(|| apply(plan)))
                .collect();
            imports
                .into_iter()
                .map(|import| import.join().unwrap())
                .sum()
        });
        assert_eq!(written, 1, "round {round}");
        let names = machine.secrets().names();
        assert_eq!(names.len(), 1, "round {round}: {names:?}");
    }
}

#[test]
fn r_cfg_07_a_list_of_tools_approves_nothing() {
    let machine = Machine::new();
    let gemini =
        r#"{"mcpServers":{"notes":{"command":"/bin/notes","includeTools":["note_*","add"]}}}"#;
    machine.write("home/.gemini/settings.json", gemini);
    let plan = machine.plan();
    let policies = &find(&plan, "notes").policies;
    let allows = policies.values().any(|policy| policy.as_str() == "allow");
    assert!(!allows && policies.len() == 2, "{policies:?}");
}

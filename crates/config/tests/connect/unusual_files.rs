//! Links, permissions, large files, files that do not exist, and which file is chosen.

use crate::machine::{Machine, stdio, taking_over};

#[test]
fn r_cfg_07_a_file_that_did_not_exist_is_removed_with_its_folders() {
    for client in pegboard_config::clients::CLIENTS {
        if client.entry.is_none() {
            continue;
        }
        let machine = Machine::new();
        let plan = machine.connect(client.key, &stdio());
        assert!(plan.creates_file && !plan.is_installed, "{}", client.key);
        let undone = machine.disconnect(client.key);
        assert!(undone.deletes_file, "{}", client.key);
        let left: Vec<_> = std::fs::read_dir(machine.home()).unwrap().collect();
        assert!(left.is_empty(), "{}: {left:?}", client.key);
    }
}

#[test]
fn r_cfg_07_a_folder_in_which_the_client_wrote_stays() {
    let machine = Machine::new();
    machine.connect("cursor", &stdio());
    let other = machine.home().join(".cursor/other.json");
    machine.write(&other, b"{}");
    machine.disconnect("cursor");
    assert!(other.exists() && !machine.file("cursor").exists());
}

#[cfg(unix)]
#[test]
fn r_cfg_07_a_link_stays_and_its_target_is_written() {
    let machine = Machine::new();
    let (link, target) = (
        machine.home().join(".cursor/mcp.json"),
        machine.home().join("dotfiles/mcp.json"),
    );
    machine.write(&target, b"{}");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    machine.connect("cursor", &stdio());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .contains("pegboard")
    );
    machine.disconnect("cursor");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"{}");
}

#[cfg(unix)]
#[test]
fn r_cfg_07_permissions_are_kept_and_new_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::with("cursor", b"{}");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = machine.file("cursor");
    for wanted in [0o644, 0o640, 0o600] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(wanted)).unwrap();
        machine.connect("cursor", &stdio());
        assert_eq!(mode(&file), wanted);
        machine.disconnect("cursor");
        assert_eq!(mode(&file), wanted);
    }
    machine.connect("zed", &stdio());
    assert_eq!(mode(&machine.file("zed")), 0o600);
    machine.connect("cursor", &stdio());
    let mut backups = 0;
    for entry in std::fs::read_dir(machine.state().join("clients")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        backups += usize::from(path.extension().is_some_and(|extension| extension == "bak"));
    }
    assert_eq!(backups, 1);
}

#[cfg(unix)]
#[test]
fn r_cfg_08_a_file_that_gets_a_token_becomes_private() {
    use pegboard_config::clients::{ConnectOptions, EntryToken, EntryTransport};
    use std::os::unix::fs::PermissionsExt;
    let value = EntryToken::Value(pegboard_model::Secret::new("canary-token"));
    let variable = EntryToken::Variable("TOKEN".to_owned());
    for (token, expected) in [(value, 0o600), (variable, 0o644)] {
        let machine = Machine::with("cursor", b"{}");
        let file = machine.file("cursor");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let options = ConnectOptions::new(EntryTransport::Http {
            url: "http://127.0.0.1:7340/mcp".to_owned(),
            token: Some(token),
        });
        machine.connect("cursor", &options);
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected);
    }
}

#[test]
fn r_cfg_07_a_file_of_20_megabytes_is_connected() {
    let history: String = (0..310_000)
        .map(|number| format!("      {{\"display\": \"prompt {number}\", \"pastedContents\": {{}}, \"at\": {number}}},\n"))
        .collect();
    let text = format!(
        "{{\n  \"history\": [\n{history}      {{}}\n  ],\n  \"mcpServers\": {{\n    \"fs\": {{\"command\": \"fs\"}}\n  }}\n}}\n"
    );
    assert!(text.len() > 20_000_000);
    let machine = Machine::with("claude-code", text.as_bytes());
    let plan = machine.connect("claude-code", &taking_over());
    assert_eq!(plan.taken_out, ["fs"]);
    assert!(plan.diff().len() < 2_000, "{}", plan.diff().len());
    machine.disconnect("claude-code");
    assert_eq!(machine.text("claude-code"), text);
}

#[test]
fn r_cfg_07_the_existing_file_of_several_is_written() {
    let machine = Machine::new();
    let [json, jsonc] = ["json", "jsonc"].map(|extension| {
        let name = format!(".config/opencode/opencode.{extension}");
        machine.home().join(name)
    });
    assert_eq!(machine.file("opencode"), json);
    machine.write(&jsonc, b"{}");
    assert_eq!(machine.file("opencode"), jsonc);
    machine.write(&json, b"{}");
    assert_eq!(machine.file("opencode"), json);
}

#[test]
fn r_cfg_07_a_named_file_is_written() {
    let machine = Machine::new();
    let mut options = stdio();
    options.file = Some(".mcp.json".into());
    let plan = machine.connect("claude-code", &options);
    let path = machine.project().join(".mcp.json");
    assert_eq!(plan.path, path);
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("mcpServers")
    );
    assert!(!machine.file("claude-code").exists());
    machine.disconnect("claude-code");
    assert!(!path.exists());
}

#[test]
fn r_cfg_07_connecting_twice_changes_nothing() {
    let machine = Machine::with("codex", b"model = \"x\"\n");
    machine.connect("codex", &stdio());
    let once = machine.read("codex");
    let again = machine.plan("codex", &stdio()).unwrap();
    assert!(again.is_connected() && again.diff().is_empty());
    again.apply().unwrap();
    assert_eq!(machine.read("codex"), once);
    machine.disconnect("codex");
    assert_eq!(machine.read("codex"), b"model = \"x\"\n");
}

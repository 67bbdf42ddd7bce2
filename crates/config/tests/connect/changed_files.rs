//! Files that other programs change: between preview and writing, and between connect and disconnect.

use crate::machine::{Machine, stdio, taking_over};

#[test]
fn r_cfg_07_a_file_that_changed_since_the_preview_is_not_overwritten() {
    let machine = Machine::with("cursor", b"{}");
    let plan = machine.plan("cursor", &stdio()).unwrap();
    let newer = b"{\"theme\": \"dark\"}";
    machine.write(&machine.file("cursor"), newer);
    let problem = plan.apply().unwrap_err();
    assert!(problem.message.contains("since the preview"), "{problem}");
    assert_eq!(machine.read("cursor"), newer);
    assert!(!machine.status_of("cursor").has_record);
    machine.connect("cursor", &stdio());
    let undone = machine.disconnect_plans("cursor").unwrap().remove(0);
    machine.write(&machine.file("cursor"), b"{}");
    let problem = undone.apply().unwrap_err();
    assert!(problem.message.contains("since the preview"), "{problem}");
    assert_eq!(machine.read("cursor"), b"{}");
}

#[test]
fn r_cfg_07_a_file_that_appeared_or_went_since_the_preview_is_left_alone() {
    let machine = Machine::new();
    let plan = machine.plan("cursor", &stdio()).unwrap();
    machine.write(&machine.file("cursor"), b"{}");
    assert!(plan.apply().is_err());
    assert_eq!(machine.read("cursor"), b"{}");
    let plan = machine.plan("cursor", &stdio()).unwrap();
    std::fs::remove_file(machine.file("cursor")).unwrap();
    assert!(plan.apply().is_err());
    assert!(!machine.file("cursor").exists());
    assert!(!machine.status_of("cursor").has_record);
}

/// Connects, lets the client change the file, and disconnects.
#[track_caller]
fn check(key: &str, before: &str, change: impl Fn(&str) -> String, expected: &str) {
    let machine = Machine::with(key, before.as_bytes());
    machine.connect(key, &taking_over());
    let changed = change(&machine.text(key));
    machine.write(&machine.file(key), changed.as_bytes());
    machine.disconnect(key);
    assert_eq!(machine.text(key), expected, "was {changed}");
    assert!(!machine.status_of(key).has_record);
}

#[test]
fn r_cfg_07_changes_of_the_client_are_kept() {
    // The client rewrites the whole file in its own style.
    check(
        "claude-code",
        "{\"mcpServers\":{\"fs\":{\"command\":\"fs\"}}}",
        |text| {
            let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
            value["numStartups"] = 3.into();
            serde_json::to_string_pretty(&value).unwrap()
        },
        "{\n  \"mcpServers\": {\n    \"fs\":{\"command\":\"fs\"}\n  },\n  \"numStartups\": 3\n}",
    );
    // Comments of a server that was taken out come back.
    check(
        "zed",
        "{\n  \"a\": 1,\n  \"context_servers\": {\n    // mine\n    \"fs\": {\n      \"command\": \"fs\" // why\n    }\n  }\n}\n",
        |text| text.replace("\"a\": 1", "\"a\": 2"),
        "{\n  \"a\": 2,\n  \"context_servers\": {\n    // mine\n    \"fs\": {\n      \"command\": \"fs\" // why\n    }\n  }\n}\n",
    );
    check(
        "codex",
        "model = \"a\"\n\n# mine\n[mcp_servers.fs]\ncommand = \"fs\"\n",
        |text| format!("{text}\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"),
        "model = \"a\"\n\n# mine\n[mcp_servers.fs]\ncommand = \"fs\"\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n",
    );
    check(
        "goose",
        "extensions:\n  fs:\n    type: stdio\n    cmd: fs\nGOOSE_MODE: auto\n",
        |text| text.replace("auto", "chat"),
        "extensions:\n  fs:\n    type: stdio\n    cmd: fs\nGOOSE_MODE: chat\n",
    );
    // A file that did not exist, to which the client added a server.
    let machine = Machine::new();
    machine.connect("cursor", &stdio());
    let text = machine.text("cursor");
    let text = text.replacen(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"new\": {\"command\": \"new\"},",
        1,
    );
    machine.write(&machine.file("cursor"), text.as_bytes());
    machine.disconnect("cursor");
    let left = "{\n  \"mcpServers\": {\n    \"new\": {\"command\": \"new\"}\n  }\n}\n";
    assert_eq!(machine.text("cursor"), left);
}

#[test]
fn r_cfg_07_a_server_that_the_user_added_again_is_kept() {
    let before = "{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"},\n    \"git\": {\"command\": \"git\"}\n  }\n}\n";
    let machine = Machine::with("cursor", before.as_bytes());
    machine.connect("cursor", &taking_over());
    let text = machine.text("cursor").replacen(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"fs\": {\"command\": \"newer\"},",
        1,
    );
    machine.write(&machine.file("cursor"), text.as_bytes());
    let undone = machine.disconnect("cursor");
    assert_eq!(
        (undone.kept, undone.put_back),
        (vec!["fs".to_owned()], vec!["git".to_owned()])
    );
    let value: serde_json::Value = serde_json::from_str(&machine.text("cursor")).unwrap();
    let expected =
        serde_json::json!({"mcpServers": {"fs": {"command": "newer"}, "git": {"command": "git"}}});
    assert_eq!(value, expected);
}

#[test]
fn r_cfg_07_an_entry_that_is_not_pegboard_any_more_stays() {
    let machine = Machine::with("cursor", b"{}");
    machine.connect("cursor", &stdio());
    let other = b"{\"mcpServers\": {\"pegboard\": {\"command\": \"other\"}}}";
    machine.write(&machine.file("cursor"), other);
    let undone = machine.disconnect("cursor");
    assert!(undone.has_other_entry);
    assert_eq!(machine.read("cursor"), other);
    // An entry that the user only extended is Pegboard's.
    let machine = Machine::with("cursor", b"{}");
    machine.connect("cursor", &stdio());
    let text = machine
        .text("cursor")
        .replace("\"args\"", "\"timeout\": 5, \"args\"");
    machine.write(&machine.file("cursor"), text.as_bytes());
    machine.disconnect("cursor");
    assert_eq!(machine.text("cursor"), "{}");
}

#[test]
fn r_cfg_07_a_file_that_someone_deleted_or_restored_needs_no_undo() {
    let machine = Machine::with("cursor", b"{}");
    machine.connect("cursor", &stdio());
    std::fs::remove_file(machine.file("cursor")).unwrap();
    assert!(machine.disconnect("cursor").is_gone);
    assert!(!machine.status_of("cursor").has_record);
    let machine = Machine::with("cursor", b"{ }");
    machine.connect("cursor", &stdio());
    machine.write(&machine.file("cursor"), b"{ }");
    assert!(machine.disconnect("cursor").is_disconnected());
    assert_eq!(machine.read("cursor"), b"{ }");
    assert!(machine.disconnect_plans("cursor").unwrap().is_empty());
}

#[test]
fn r_cfg_07_an_entry_that_was_written_by_hand_is_removed() {
    let text = "{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"},\n    \"pegboard\": {\"command\": \"pegboard\", \"args\": [\"stdio\"]}\n  }\n}\n";
    let machine = Machine::with("cursor", text.as_bytes());
    let undone = machine.disconnect("cursor");
    assert!(!undone.has_record && !undone.is_exact);
    let left = "{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"}\n  }\n}\n";
    assert_eq!(machine.text("cursor"), left);
}

#[test]
fn r_cfg_07_servers_come_back_in_their_order_after_a_reformat() {
    let json =
        r#"{"mcpServers":{"zeta":{"command":"1"},"alpha":{"command":"2"},"mid":{"command":"3"}}}"#;
    let yaml = "extensions:\n  zeta:\n    cmd: '1'\n  alpha:\n    cmd: '2'\n  mid:\n    cmd: '3'\nGOOSE_MODE: auto\n";
    let pretty = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    };
    let wider = |text: &str| {
        let lines = text.lines().map(|line| {
            let content = line.trim_start();
            format!(
                "{}{content}\n",
                " ".repeat(2 * (line.len() - content.len()))
            )
        });
        lines.collect::<String>()
    };
    let check = |key: &str, before: &str, change: &dyn Fn(&str) -> String| {
        for has_backup in [true, false] {
            let machine = Machine::with(key, before.as_bytes());
            machine.connect(key, &taking_over());
            if !has_backup {
                machine.delete_backups();
            }
            let changed = change(&machine.text(key));
            machine.write(&machine.file(key), changed.as_bytes());
            let undone = machine.disconnect(key);
            assert_eq!(undone.put_back, ["zeta", "alpha", "mid"]);
            let text = machine.text(key);
            let places = ["zeta", "alpha", "mid"].map(|name| text.find(name).unwrap());
            assert!(places.is_sorted(), "{text}");
        }
    };
    check("cursor", json, &pretty);
    check("goose", yaml, &wider);
}

#[test]
fn r_cfg_07_the_former_content_is_kept_if_the_file_does_not_get_it_back() {
    let before = "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"}\n  }\n}\n";
    let machine = Machine::with("cursor", before.as_bytes());
    machine.connect("cursor", &taking_over());
    machine.write(&machine.file("cursor"), b"{}");
    let undone = machine.disconnect("cursor");
    assert!(!undone.is_exact);
    let former = undone.former_content.unwrap();
    assert_eq!(std::fs::read_to_string(&former).unwrap(), before);
    // It stays when other connections come and go.
    machine.connect("zed", &stdio());
    machine.disconnect("zed");
    assert_eq!(std::fs::read_to_string(&former).unwrap(), before);
    // An exact undo needs no copy.
    let machine = Machine::with("cursor", before.as_bytes());
    machine.connect("cursor", &taking_over());
    assert!(machine.disconnect("cursor").former_content.is_none());
}

#[test]
fn r_cfg_07_temporary_files_of_a_crash_are_deleted() {
    let machine = Machine::with("cursor", b"{}");
    let stale = machine.state().join("clients/.pegboard-abc123.tmp");
    machine.write(&stale, b"content of a client");
    machine.connect("cursor", &stdio());
    assert!(!stale.exists());
    machine.write(&stale, b"content of a client");
    machine.disconnect("cursor");
    assert!(!stale.exists());
}

//! Files that are not written, each with its reason.

use pegboard_config::clients::{ConnectOptions, ConnectPlan, EntryToken, EntryTransport, TakeOver};
use pegboard_model::{Reason, Secret};

use crate::machine::{Machine, named, stdio, with_profile};

/// Connecting fails with a reason and a message, and the file stays as it is.
#[track_caller]
fn check(key: &str, text: &[u8], reason: Reason, expected: &str) {
    check_with(key, text, &stdio(), reason, expected);
}

#[track_caller]
fn check_with(key: &str, text: &[u8], options: &ConnectOptions, reason: Reason, expected: &str) {
    let machine = Machine::with(key, text);
    let problem = machine.plan(key, options).unwrap_err();
    let shown = problem.to_string();
    assert_eq!(problem.reason, reason, "{shown}");
    assert!(shown.contains(expected), "{shown}");
    assert!(!problem.help.is_empty());
    assert_eq!(machine.read(key), text);
    assert!(!machine.state().exists());
}

#[test]
fn r_cfg_07_a_file_that_does_not_parse_is_not_written() {
    check(
        "cursor",
        b"{\"mcpServers\": {",
        Reason::ConfigParse,
        "mcp.json:1:",
    );
    check(
        "cursor",
        b"{\"a\": 1,,}",
        Reason::ConfigParse,
        "mcp.json:1:9",
    );
    check(
        "cursor",
        b"<<<<<<< HEAD\n{}",
        Reason::ConfigParse,
        "not valid JSON",
    );
    check("cursor", b"{\"a\": \"\xff\"}", Reason::ConfigParse, "UTF-8");
    check(
        "codex",
        b"[mcp_servers\n",
        Reason::ConfigParse,
        "config.toml:1",
    );
    check(
        "codex",
        b"a = 1\na = 2\n",
        Reason::ConfigParse,
        "config.toml:2",
    );
    check("goose", b"a: [1\n", Reason::ConfigParse, "config.yaml");
    check(
        "goose",
        b"a: 1\n---\nb: 2\n",
        Reason::ConfigParse,
        "second document",
    );
}

#[test]
fn r_cfg_07_a_place_of_another_type_is_not_written() {
    check(
        "cursor",
        b"[]",
        Reason::ConfigInvalid,
        "a list, not a table",
    );
    check(
        "cursor",
        b"null",
        Reason::ConfigInvalid,
        "null, not a table",
    );
    check(
        "cursor",
        b"{\"mcpServers\": []}",
        Reason::ConfigInvalid,
        "`mcpServers` is a list",
    );
    check(
        "cursor",
        b"{\"mcpServers\": \"x\"}",
        Reason::ConfigInvalid,
        "`mcpServers` is a string",
    );
    check(
        "continue",
        b"mcpServers:\n  a: {}\n",
        Reason::ConfigInvalid,
        "`mcpServers` is a table",
    );
    check(
        "codex",
        b"mcp_servers = 1\n",
        Reason::ConfigInvalid,
        "`mcp_servers` is a number",
    );
    check(
        "cursor",
        b"{\"mcpServers\": {}, \"mcpServers\": {}}",
        Reason::ConfigDuplicate,
        "written twice",
    );
}

#[test]
fn r_cfg_07_an_entry_of_someone_else_is_replaced_only_on_request() {
    let own = b"{\"mcpServers\": {\"pegboard\": {\"command\": \"/old/pegboard\", \"args\": [\"stdio\"]}}}";
    check(
        "cursor",
        own,
        Reason::ConfigDuplicate,
        "`pegboard connect` did not write",
    );
    let other = b"{\"mcpServers\": {\"pegboard\": {\"command\": \"something-else\"}}}";
    check("cursor", other, Reason::ConfigDuplicate, "--replace");
    let renamed = b"{\"mcpServers\": {\"gateway\": {\"url\": \"http://127.0.0.1:7340/mcp\"}}}";
    check("cursor", renamed, Reason::ConfigDuplicate, "`gateway`");
    for text in [&own[..], other, renamed] {
        let machine = Machine::with("cursor", text);
        let mut options = stdio();
        options.replaces = true;
        machine.connect("cursor", &options);
        assert!(machine.text("cursor").contains("peg board/pegboard"));
        machine.disconnect("cursor");
        assert_eq!(machine.read("cursor"), text);
    }
}

#[test]
fn r_cfg_07_the_own_entry_is_replaced_when_options_change() {
    let text = b"{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"}\n  }\n}\n";
    let machine = Machine::with("cursor", text);
    let mut first = stdio();
    first.take_over = TakeOver::All;
    machine.connect("cursor", &first);
    machine.connect("cursor", &with_profile("work"));
    let new = machine.text("cursor");
    assert!(new.contains("\"work\"") && !new.contains("\"fs\""), "{new}");
    assert_eq!(new.matches("pegboard\":").count(), 1);
    machine.disconnect("cursor");
    assert_eq!(machine.read("cursor"), text);
    let left: Vec<_> = std::fs::read_dir(machine.state().join("clients"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".bak"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn r_cfg_07_only_servers_that_pegboard_has_are_taken_out() {
    let text =
        b"{\"mcpServers\": {\"fs\": {\"command\": \"fs\"}, \"git\": {\"command\": \"git\"}}}";
    let machine = Machine::with("cursor", text);
    let plan = |take_over: TakeOver| {
        let mut options = stdio();
        options.take_over = take_over;
        let has = |name: &str, entry: &serde_json::Value| name == "fs" && entry["command"] == "fs";
        ConnectPlan::new(
            &machine.places(),
            &machine.state(),
            named("cursor"),
            &options,
            &has,
        )
    };
    let all = plan(TakeOver::All).unwrap();
    assert_eq!(
        (all.taken_out, all.direct),
        (vec!["fs".to_owned()], vec!["git".to_owned()])
    );
    let names =
        |names: &[&str]| TakeOver::Names(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(plan(names(&["fs"])).unwrap().taken_out, ["fs"]);
    let unknown = plan(names(&["fs", "git"])).unwrap_err();
    assert!(
        unknown.message.contains("does not have the server `git`"),
        "{unknown}"
    );
    let missing = plan(names(&["none"])).unwrap_err();
    assert_eq!(missing.reason, Reason::ServerUnknown);
}

#[test]
fn r_cfg_07_what_a_client_does_not_support_is_refused() {
    let http = |token: EntryToken| {
        ConnectOptions::new(EntryTransport::Http {
            url: "http://127.0.0.1:7340/mcp".to_owned(),
            token: Some(token),
        })
    };
    let value = http(EntryToken::Value(Secret::new("canary")));
    let variable = http(EntryToken::Variable("TOKEN".to_owned()));
    check_with(
        "claude-desktop",
        b"{}",
        &value,
        Reason::ConfigInvalid,
        "supports no URL",
    );
    check_with(
        "codex",
        b"",
        &value,
        Reason::ConfigInvalid,
        "--token-variable",
    );
    check_with(
        "zed",
        b"{}",
        &variable,
        Reason::ConfigInvalid,
        "does not expand variables",
    );
    let machine = Machine::new();
    let problem = machine.plan("roo-code", &stdio()).unwrap_err();
    assert!(problem.message.contains("Roo Code"), "{problem}");
    machine.write(&machine.home().join(".codex/config.toml"), b"");
    machine.connect("codex", &variable);
    assert!(
        machine
            .text("codex")
            .contains("bearer_token_env_var = \"TOKEN\"")
    );
}

#[cfg(unix)]
#[test]
fn r_cfg_07_what_is_read_only_stays_as_it_is() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let machine = Machine::with("cursor", b"{}");
    let file = machine.file("cursor");
    let folder = file.parent().unwrap().to_owned();
    let set = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, mode) in [(&file, 0o444), (&folder, 0o555)] {
        let old = path.metadata().unwrap().permissions().mode();
        set(path, mode);
        let problem = machine.plan("cursor", &stdio()).unwrap_err();
        assert!(problem.message.contains("is read-only"), "{problem}");
        set(path, old);
    }
    assert_eq!(machine.read("cursor"), b"{}");
    std::fs::remove_file(&file).unwrap();
    symlink(folder.join("nowhere"), &file).unwrap();
    let problem = machine.plan("cursor", &stdio()).unwrap_err();
    assert!(
        problem
            .message
            .contains("link to a file that cannot be found"),
        "{problem}"
    );
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let problem = machine.plan("cursor", &stdio()).unwrap_err();
    assert!(problem.message.contains("is a folder"), "{problem}");
}

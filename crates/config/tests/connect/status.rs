//! The state of each client.

use pegboard_config::clients::ConnectionState;

use crate::machine::{Machine, stdio, taking_over};

#[track_caller]
fn check(key: &str, text: &str, state: ConnectionState, direct: &[&str]) {
    let machine = Machine::with(key, text.as_bytes());
    let status = machine.status_of(key);
    assert_eq!(status.state, state, "{status:?}");
    assert_eq!(status.direct, direct);
}

#[test]
fn r_cfg_07_the_state_of_a_client_is_that_of_its_files() {
    use ConnectionState::{Both, Direct, NoServers, NotInstalled, ThroughPegboard, Unreadable};
    let machine = Machine::new();
    assert_eq!(machine.status_of("cursor").state, NotInstalled);
    check("cursor", "{}", NoServers, &[]);
    let fs = r#""fs": {"command": "fs"}"#;
    let own = r#""pegboard": {"command": "pegboard", "args": ["stdio"]}"#;
    check(
        "cursor",
        &format!(r#"{{"mcpServers": {{{fs}}}}}"#),
        Direct,
        &["fs"],
    );
    check(
        "cursor",
        &format!(r#"{{"mcpServers": {{{own}}}}}"#),
        ThroughPegboard,
        &[],
    );
    check(
        "cursor",
        &format!(r#"{{"mcpServers": {{{fs}, {own}}}}}"#),
        Both,
        &["fs"],
    );
    check("cursor", "{", Unreadable, &[]);
    check(
        "goose",
        "extensions:\n  pegboard:\n    cmd: /usr/bin/pegboard\n    args: [stdio]\n",
        ThroughPegboard,
        &[],
    );
    check(
        "opencode",
        r#"{"mcp": {"pegboard": {"command": ["pegboard", "stdio"]}}}"#,
        ThroughPegboard,
        &[],
    );
    check(
        "vibe",
        "[[mcp_servers]]\nname = \"pegboard\"\ncommand = \"pegboard\"\nargs = [\"stdio\"]\n",
        ThroughPegboard,
        &[],
    );
}

#[test]
fn r_cfg_07_the_status_follows_connect_and_disconnect() {
    let machine = Machine::with("cursor", br#"{"mcpServers": {"fs": {"command": "fs"}}}"#);
    machine.connect("cursor", &stdio());
    let status = machine.status_of("cursor");
    assert_eq!(
        (status.state, status.has_record),
        (ConnectionState::Both, true)
    );
    let entry = status.entry.unwrap();
    assert_eq!((entry.transport, entry.is_other_program), ("stdio", false));
    assert!(entry.is_missing);
    machine.connect("cursor", &taking_over());
    assert_eq!(
        machine.status_of("cursor").state,
        ConnectionState::ThroughPegboard
    );
    machine.disconnect("cursor");
    let status = machine.status_of("cursor");
    assert_eq!(
        (status.state, status.has_record),
        (ConnectionState::Direct, false)
    );
    assert_eq!(status.direct, ["fs"]);
}

#[test]
fn r_cfg_07_servers_of_the_project_count_as_direct() {
    let machine = Machine::new();
    let project = machine.project().display().to_string();
    let text = serde_json::json!({
        "projects": {project: {"mcpServers": {"local": {"command": "x"}}}, "/other": {"mcpServers": {"no": {}}}},
    });
    machine.write(&machine.file("claude-code"), text.to_string().as_bytes());
    machine.write(
        &machine.project().join(".mcp.json"),
        br#"{"mcpServers": {"shared": {"command": "y"}}}"#,
    );
    assert_eq!(machine.status_of("claude-code").direct, ["local", "shared"]);
}

#[test]
fn r_cfg_07_a_damaged_record_is_reported() {
    let machine = Machine::with("cursor", b"{}");
    machine.connect("cursor", &stdio());
    machine.write(
        &machine.state().join("clients/connections.json"),
        b"{ broken",
    );
    let problem = machine.disconnect_plans("cursor").unwrap_err();
    assert!(problem.message.contains("is damaged"), "{problem}");
    let problem = machine.plan("cursor", &stdio()).unwrap_err();
    assert!(problem.message.contains("is damaged"), "{problem}");
}

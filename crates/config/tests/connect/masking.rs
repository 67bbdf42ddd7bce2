//! What a diff shows of a file with secrets.

use pegboard_config::clients::{ConnectOptions, EntryToken, EntryTransport};
use pegboard_model::Secret;

use crate::machine::{Machine, stdio, taking_over};

const CLAUDE: &str = r#"{
  "oauthAccount": { "accessToken": "canary-account" },
  // old key: canary-comment
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "server", "--api-key", "canary-argument"],
      "env": { "GITHUB_TOKEN": "canary-variable" }
    },
    "docs": {
      "url": "https://user:canary-password@docs.test/mcp?key=canary-query",
      "headers": { "Authorization": "Bearer canary-header" }
    }
  },
  "history": ["canary-prompt"]
}
"#;

#[test]
fn r_cfg_07_a_diff_shows_the_change_and_no_secret() {
    let machine = Machine::with("claude-code", CLAUDE.as_bytes());
    let diff = machine.plan("claude-code", &taking_over()).unwrap().diff();
    assert!(!diff.contains("canary"), "{diff}");
    insta::assert_snapshot!(diff);
    let one_line = serde_json::json!({"a": "canary ".repeat(2000), "mcpServers": {"x": {"env": {"K": "canary"}}}});
    let machine = Machine::with("cursor", one_line.to_string().as_bytes());
    let diff = machine.plan("cursor", &stdio()).unwrap().diff();
    assert!(!diff.contains("canary") && diff.len() < 2_000, "{diff}");
    assert!(diff.contains("peg board/pegboard"), "{diff}");
}

#[test]
fn r_cfg_07_a_diff_of_toml_and_yaml_shows_no_secret() {
    let toml = "[mcp_servers.a]\ncommand = \"a\"\n[mcp_servers.a.env]\nK = \"canary\" # canary\n";
    let yaml = "extensions:\n  a:\n    cmd: a\n    envs:\n      K: canary # canary\n    headers: {X: canary}\n";
    for (key, text) in [("codex", toml), ("goose", yaml)] {
        let machine = Machine::with(key, text.as_bytes());
        let plan = machine.plan(key, &taking_over()).unwrap();
        let diff = plan.diff();
        assert!(!diff.contains("canary"), "{diff}");
        assert!(
            diff.contains("-") && diff.contains("+") && diff.contains("stdio"),
            "{diff}"
        );
        plan.apply().unwrap();
        let diff = machine.disconnect_plans(key).unwrap()[0].diff();
        assert!(!diff.contains("canary"), "{diff}");
    }
}

#[test]
fn r_cfg_07_a_diff_does_not_show_the_own_token() {
    let options = ConnectOptions::new(EntryTransport::Http {
        url: "http://127.0.0.1:7340/mcp".to_owned(),
        token: Some(EntryToken::Value(Secret::new("canary-token"))),
    });
    let machine = Machine::with("cursor", b"{}");
    let plan = machine.plan("cursor", &options).unwrap();
    assert!(
        plan.diff().contains("127.0.0.1:7340/mcp"),
        "{}",
        plan.diff()
    );
    assert!(!plan.diff().contains("canary"), "{}", plan.diff());
    assert!(!format!("{plan:?}").contains("canary"));
    assert!(plan.text().contains("Bearer canary-token"));
}

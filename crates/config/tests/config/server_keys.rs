//! The keys of a server, in all three formats.

use std::time::Duration;

use crate::fixture::{Fixture, names, server, short};
use pegboard_config::command_line;
use pegboard_model::{NoSecrets, Policy, Template, Transport};

fn resolved(template: &Template) -> String {
    template.resolve(&NoSecrets).unwrap().reveal().to_owned()
}

const TOML: &str = r#"
# Everything a server can have.
[settings]
ttl = "1m"
call_timeout = 90

[servers.files]
command = "npx"
args = ["-y", "server@1.2.3", "/data", 8080]
env = { TOKEN = "${TOKEN}", MODE = "${MODE:-fast}" }
cwd = "/tmp"
description = "Files"
category = "storage"
policy = "ask"
policies = { "delete_*" = "deny" }
discovery_timeout = "1m"
idle_timeout = "10m"
max_age = "1h"

[servers.files.tools.read]
summary = "Reads a file"
related = ["write"]
examples = [{ description = "root", arguments = { path = "/" } }, { path = "/x" }]
deprecated = "use `open`"
policy = "allow"

[servers.remote]
url = "https://example.com/mcp"
headers = { X-Team = "a" }
bearer = "${TOKEN}"
connect_timeout = "2s"
enabled = false
"#;

const YAML: &str = r#"
settings: { ttl: 1m, call_timeout: 90 }
servers:
  files:
    command: npx
    args: [-y, server@1.2.3, /data, 8080]
    env:
      TOKEN: ${TOKEN}
      MODE: ${MODE:-fast}
    cwd: /tmp
    description: Files
    category: storage
    policy: ask
    policies: { "delete_*": deny }
    discovery_timeout: 1m
    idle_timeout: 10m
    max_age: 1h
    tools:
      read:
        summary: Reads a file
        related: [write]
        examples:
          - description: root
            arguments: { path: / }
          - { path: /x }
        deprecated: use `open`
        policy: allow
  remote:
    url: https://example.com/mcp
    headers: { X-Team: a }
    bearer: ${TOKEN}
    connect_timeout: 2s
    enabled: false
"#;

const JSON: &str = r#"{
  // comments and trailing commas are fine
  "settings": { "ttl": "1m", "call_timeout": 90 },
  "servers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server@1.2.3", "/data", 8080],
      "env": { "TOKEN": "${TOKEN}", "MODE": "${MODE:-fast}" },
      "cwd": "/tmp",
      "description": "Files",
      "category": "storage",
      "policy": "ask",
      "policies": { "delete_*": "deny" },
      "discovery_timeout": "1m",
      "idle_timeout": "10m",
      "max_age": "1h",
      "tools": {
        "read": {
          "summary": "Reads a file",
          "related": ["write"],
          "examples": [{ "description": "root", "arguments": { "path": "/" } }, { "path": "/x" }],
          "deprecated": "use `open`",
          "policy": "allow",
        },
      },
    },
    "remote": {
      "url": "https://example.com/mcp",
      "headers": { "X-Team": "a" },
      "bearer": "${TOKEN}",
      "connect_timeout": "2s",
      "enabled": false,
    },
  },
}"#;

#[track_caller]
fn check_everything(file: &str, text: &str) {
    let loaded = Fixture::with(file, text).var("TOKEN", "t0ken").load();
    assert!(loaded.problems.is_empty(), "{file}: {:#?}", loaded.problems);
    let files = server(&loaded, "files");
    let Transport::Stdio {
        command,
        args,
        env,
        cwd,
    } = &files.transport
    else {
        panic!("{file}")
    };
    assert_eq!(resolved(command), "npx");
    assert_eq!(
        args.iter().map(resolved).collect::<Vec<_>>(),
        ["-y", "server@1.2.3", "/data", "8080"]
    );
    assert_eq!(
        (resolved(&env["TOKEN"]), resolved(&env["MODE"])),
        ("t0ken".into(), "fast".into())
    );
    assert_eq!(cwd.as_ref().map(resolved).as_deref(), Some("/tmp"));
    assert_eq!(
        (files.description.as_deref(), files.category.as_deref()),
        (Some("Files"), Some("storage"))
    );
    assert_eq!(
        (files.policy, files.policies["delete_*"]),
        (Some(Policy::Ask), Policy::Deny)
    );
    assert_eq!(files.policies["read"], Policy::Allow);
    let seconds = [
        files.timeouts.discovery,
        files.timeouts.call,
        files.timeouts.idle,
        files.ttl,
        files.max_age,
    ];
    assert_eq!(seconds.map(|d| d.as_secs()), [60, 90, 600, 60, 3600]);
    let read = &files.tools["read"];
    assert_eq!(read.summary.as_deref(), Some("Reads a file"));
    assert_eq!(
        read.related.as_deref(),
        Some(["write".to_owned()].as_slice())
    );
    assert_eq!(
        read.examples[0].arguments,
        serde_json::json!({ "path": "/" })
    );
    assert_eq!(
        read.examples[1].arguments,
        serde_json::json!({ "path": "/x" })
    );
    assert_eq!(read.deprecated.as_deref(), Some("use `open`"));
    let remote = server(&loaded, "remote");
    let Transport::Http {
        url,
        headers,
        bearer,
        ..
    } = &remote.transport
    else {
        panic!("{file}")
    };
    assert_eq!(resolved(url), "https://example.com/mcp");
    assert_eq!(resolved(&headers["X-Team"]), "a");
    assert_eq!(bearer.as_ref().map(resolved).as_deref(), Some("t0ken"));
    assert!(files.enabled && !remote.enabled);
    assert_eq!(remote.timeouts.connect, Duration::from_secs(2));
}

#[test]
fn r_cfg_02_a_server_has_all_its_keys_in_every_format() {
    check_everything("config.toml", TOML);
    check_everything("config.yaml", YAML);
    check_everything("config.yml", YAML);
    check_everything("config.json", JSON);
    check_everything("config.jsonc", JSON);
}

#[test]
fn r_cfg_02_byte_order_mark_and_windows_line_ends_are_accepted() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        check_everything(file, &format!("\u{feff}{}", text.replace('\n', "\r\n")));
    }
}

#[test]
fn r_disc_05_the_hash_is_the_same_in_every_format() {
    let hash =
        |file, text| server(&Fixture::with(file, text).var("TOKEN", "t").load(), "files").hash;
    assert_eq!(hash("config.toml", TOML), hash("config.yaml", YAML));
    assert_eq!(hash("config.toml", TOML), hash("config.json", JSON));
}

#[test]
fn r_cfg_02_times_have_their_defaults() {
    let loaded = Fixture::with("config.toml", "[servers.a]\ncommand = 'a'").load();
    let a = server(&loaded, "a");
    let times = [
        a.timeouts.discovery,
        a.timeouts.connect,
        a.timeouts.call,
        a.timeouts.idle,
        a.ttl,
        a.max_age,
    ];
    assert_eq!(times.map(|d| d.as_secs()), [30, 5, 60, 300, 300, 86400]);
    assert!(a.enabled);
    assert_eq!(loaded.settings.concurrent_discoveries, 64);
    assert_eq!(loaded.settings.answer_deadline, Duration::from_secs(2));
}

/// Loads one server in JSON under `mcpServers`, as other clients write it.
#[track_caller]
fn check_client_server(body: &str, expected: &str, problems: &[&str]) {
    let loaded = Fixture::with(
        "config.json",
        &format!("{{\"mcpServers\":{{\"a\":{body}}}}}"),
    )
    .load();
    let got = loaded
        .servers
        .values()
        .next()
        .map_or("none".to_owned(), |spec| {
            format!(
                "{} {} {}s",
                command_line(&spec.transport),
                spec.enabled,
                spec.timeouts.call.as_secs()
            )
        });
    assert_eq!(
        (got.as_str(), short(&loaded)),
        (expected, problems.iter().map(|p| (*p).to_owned()).collect()),
        "{body}"
    );
}

#[test]
fn r_cfg_02_files_of_other_clients_are_parsed() {
    check_client_server(r#"{"command":"x","disabled":true}"#, "x false 60s", &[]);
    check_client_server(
        r#"{"command":"x","disabled":false,"alwaysAllow":["t"],"autoApprove":["t"]}"#,
        "x true 60s",
        &[],
    );
    check_client_server(
        r#"{"command":["x","y"],"args":["z"]}"#,
        "x y z true 60s",
        &[],
    );
    check_client_server(r#"{"serverUrl":"https://h/"}"#, "https://h/ true 60s", &[]);
    check_client_server(
        r#"{"httpUrl":"https://h/","timeout":5000}"#,
        "https://h/ true 5s",
        &[],
    );
    check_client_server(r#"{"command":"x","timeout":120}"#, "x true 120s", &[]);
    check_client_server(
        r#"{"type":"stdio","command":"x","envFile":".env"}"#,
        "x true 60s",
        &[],
    );
    check_client_server(r#"{"command":"x","tools":["*"]}"#, "x true 60s", &[]);
    for kind in ["http", "streamable-http", "streamableHttp"] {
        check_client_server(
            &format!(r#"{{"type":"{kind}","url":"https://h/"}}"#),
            "https://h/ true 60s",
            &[],
        );
    }
    for transport in ["http", "streamable-http"] {
        check_client_server(
            &format!(r#"{{"type":"http","transport":"{transport}","url":"https://h/"}}"#),
            "https://h/ true 60s",
            &[],
        );
    }
    check_client_server(
        r#"{"type":"http","transport":"stdio","url":"https://h/"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"type":"sse","url":"https://h/"}"#,
        "https://h/ true 60s",
        &[],
    );
    check_client_server(
        r#"{"type":"sse","command":"x"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"type":"websocket","url":"https://h/"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"type":"http","command":"x"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"url":"https://h/","serverUrl":"https://i/"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"command":"x","enabled":true,"disabled":true}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(
        r#"{"command":"x","url":"https://h/"}"#,
        "none",
        &["error CONFIG_INVALID a:1"],
    );
    check_client_server(r#"{}"#, "none", &["error CONFIG_INVALID a:1"]);
    check_client_server(
        r#"{"command":"x","comand":1}"#,
        "x true 60s",
        &["warning CONFIG_UNKNOWN_KEY a:1"],
    );
    check_client_server(
        r#"{"command":"x","headers":{"a":"b"}}"#,
        "x true 60s",
        &["warning CONFIG_INVALID a:1"],
    );
}

#[test]
fn r_cfg_04_a_wrong_value_disables_only_its_server() {
    let wrong = [
        "command = 1\nargs = 'x'",
        "command = ''",
        "command = []",
        "command = 'x'\nargs = 'y'",
        "command = 'x'\nargs = [['y']]",
        "command = 'x'\nenv = ['A']",
        "command = 'x'\nenv = { A = ['b'] }",
        "command = 'x'\nenv = { 'A=B' = 'c' }",
        "command = \"x\\u0000\"",
        "command = 'x'\nenabled = 'yes'",
        "command = 'x'\npolicy = 'maybe'",
        "command = 'x'\npolicies = { a = 1 }",
        "command = 'x'\nttl = 'soon'",
        "command = 'x'\ncall_timeout = 0",
        "command = 'x'\ntools = { a = 1 }",
        "command = 'x'\ndescription = 1",
        "command = '${'",
        "url = 'ftp://host'",
        "url = 'host/mcp'",
        "url = 'https://'",
        "url = 'https://h/ x'",
        "url = 'https://h/'\nheaders = { 'a b' = 'c' }",
        "url = 'https://h/'\nheaders = { a = \"b\\nc\" }",
        "url = 'https://h/'\nbearer = \"b\\r\\nc\"",
        "type = 'pigeon'\ncommand = 'x'",
    ];
    for body in wrong {
        let text = format!(
            "[servers.first]\ncommand = 'a'\n[servers.wrong]\n{body}\n[servers.last]\ncommand = 'b'\n"
        );
        let loaded = Fixture::with("config.toml", &text).load();
        assert_eq!(names(&loaded), ["first", "last"], "{body}");
        let problems: Vec<_> = loaded
            .problems
            .iter()
            .filter(|p| p.server.as_deref() == Some("wrong"))
            .collect();
        assert!(!problems.is_empty(), "{body}");
        for problem in &problems {
            assert_eq!(
                problem.reason,
                pegboard_model::Reason::ConfigInvalid,
                "{body}: {problem}"
            );
            assert!(
                problem.line.is_some_and(|line| (3..8).contains(&line)),
                "{body}: {problem}"
            );
            assert!(
                problem.column.is_some() && problem.line_text.is_some() && !problem.help.is_empty()
            );
        }
        assert_eq!(
            loaded.broken.keys().collect::<Vec<_>>(),
            ["wrong"],
            "{body}"
        );
        assert!(
            loaded.broken["wrong"]
                .iter()
                .all(|at| loaded.problems.get(*at).is_some())
        );
    }
}

#[test]
fn r_cfg_04_a_problem_reads_well() {
    let text = "[servers.github]\ncommand = 'gh'\nenabled = \"yes\"\ncomand = 'x'\n";
    let loaded = Fixture::with("config.toml", text).load();
    let home = loaded.problems[0].file.clone().unwrap();
    let shown = |at: usize| {
        loaded.problems[at]
            .to_string()
            .replace(home.to_str().unwrap(), "config.toml")
    };
    insta::assert_snapshot!(shown(0), @r#"
    error[CONFIG_INVALID]: server `github`: `enabled` must be true or false, without quotes, but it is a string
      --> config.toml:3:11
       |
     3 | enabled = "yes"
       |           ^
      help: write `enabled = true`
    "#);
    insta::assert_snapshot!(shown(1), @r"
    warning[CONFIG_UNKNOWN_KEY]: server `github`: `comand` is not a key of a server, and has no effect
      --> config.toml:4:1
       |
     4 | comand = '*'
       | ^
      help: did you mean `command`?
    ");
}

#[test]
fn r_cfg_04_a_setting_outside_of_the_settings_table_is_reported() {
    let loaded = Fixture::with(
        "config.toml",
        "idle_timeout = '1m'\n[servers.a]\ncommand = 'a'\n",
    )
    .load();
    assert_eq!(short(&loaded), ["warning CONFIG_UNKNOWN_KEY -:1"]);
    assert_eq!(loaded.problems[0].help, "move it into `settings`");
}

#[test]
fn r_reg_09_a_summary_that_is_too_long_is_not_used() {
    let text = format!(
        "[servers.a]\ncommand = 'a'\ntools.t.summary = '{}'",
        "x".repeat(81)
    );
    let loaded = Fixture::with("config.toml", &text).load();
    assert_eq!(short(&loaded), ["warning CONFIG_INVALID a:3"]);
    assert_eq!(server(&loaded, "a").tools["t"].summary, None);
}

#[test]
fn r_cfg_02_relative_paths_start_from_the_file() {
    let text = "[servers.a]\ncommand = './bin/run'\ncwd = 'data'\n[servers.b]\ncommand = '~/run'\ncwd = '~'\n\
        [servers.c]\ncommand = 'plain'\ncwd = '${HERE}/x'\n";
    let fixture = Fixture::with("config.toml", text).var("HERE", "/abs");
    let loaded = fixture.load();
    let paths = |name: &str| match &server(&loaded, name).transport {
        Transport::Stdio { command, cwd, .. } => {
            (resolved(command), resolved(cwd.as_ref().unwrap()))
        }
        Transport::Http { .. } => panic!(),
    };
    let (folder, home) = (fixture.paths().config_dir, fixture.env.home.clone());
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(
        paths("a"),
        (text(folder.join("bin/run")), text(folder.join("data")))
    );
    assert_eq!(paths("b"), (text(home.join("run")), text(home)));
    assert_eq!(paths("c"), ("plain".to_owned(), "/abs/x".to_owned()));
}

#[test]
fn unpinned_launchers_get_a_warning_but_work() {
    let loaded = Fixture::with(
        "config.toml",
        "[servers.a]\ncommand = 'npx'\nargs = ['-y', 'x@latest']",
    )
    .load();
    assert_eq!(
        loaded
            .problems
            .iter()
            .map(crate::fixture::one)
            .collect::<Vec<_>>(),
        ["advice SUPPLY_UNPINNED a:3"]
    );
    assert!(!loaded.has_errors());
    assert_eq!(names(&loaded), ["a"]);
}

#[test]
fn r_cfg_02_a_policy_of_a_tool_can_be_written_without_a_table() {
    for (file, text) in [
        (
            "config.json",
            r#"{"servers":{"rube":{"command":"x","tools":{"github_search":"allow","delete_*":"deny","read":{"policy":"ask"}}}}}"#,
        ),
        (
            "config.yaml",
            "servers:\n  rube:\n    command: x\n    tools:\n      github_search: allow\n      delete_*: deny\n      read: { policy: ask }\n",
        ),
        (
            "config.toml",
            "[servers.rube]\ncommand = 'x'\n[servers.rube.tools]\ngithub_search = 'allow'\n'delete_*' = 'deny'\nread = { policy = 'ask' }\n",
        ),
    ] {
        let loaded = Fixture::with(file, text).load();
        assert!(loaded.problems.is_empty(), "{file}: {:#?}", loaded.problems);
        let rube = server(&loaded, "rube");
        let policies: Vec<_> = rube
            .policies
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        let expected = [
            ("delete_*", Policy::Deny),
            ("github_search", Policy::Allow),
            ("read", Policy::Ask),
        ];
        assert_eq!(policies, expected, "{file}");
        assert!(rube.rules.lines.contains_key("policies.github_search"));
        assert!(
            !rube.tools.contains_key("github_search"),
            "there is no other override"
        );
    }
    let wrong = r#"{"servers":{"a":{"command":"x","tools":{"t":"yes"}},"b":{"command":"x","tools":{"t":3}}}}"#;
    let loaded = Fixture::with("config.json", wrong).load();
    let messages: Vec<_> = loaded
        .problems
        .iter()
        .map(|p| (p.message.as_str(), p.help.as_str()))
        .collect();
    assert_eq!(
        messages,
        [
            (
                "`t` must be one of `allow`, `ask`, `deny`, `disable`",
                r#"write `"t": "allow"`"#
            ),
            (
                "`t` must be a table, but it is a number",
                r#"write `"t": { "summary": "…" }`"#
            ),
        ]
    );
}

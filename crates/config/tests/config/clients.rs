//! Config files of other MCP clients.

use pegboard_model::{Layer, NoSecrets, Transport};

use crate::fixture::{Fixture, names, server, short};

fn named(file: &str, text: &str) -> Fixture {
    let mut fixture = Fixture::new();
    let path = fixture.path(file);
    fixture.options.config_file = Some(path.clone());
    fixture.file(&path, text)
}

#[test]
fn r_gate_05_pegboard_itself_in_a_project_file_is_ignored_silently() {
    for entry in [
        r#"{"command": "pegboard", "args": ["stdio"]}"#,
        r#"{"command": "/usr/local/bin/pegboard", "args": ["stdio", "--profile", "x"]}"#,
        r#"{"type": "stdio", "command": "pegboard.exe", "args": ["--config", "c", "stdio"]}"#,
        r#"{"command": ["pegboard", "stdio"]}"#,
        r#"{"command": "npx", "args": ["-y", "pegboard@1.0.0", "stdio"]}"#,
        r#"{"command": "uvx", "args": ["pegboard", "stdio"]}"#,
        r#"{"command": "npx", "args": ["-y", "mcp-remote", "http://127.0.0.1:7340/mcp"]}"#,
        r#"{"type": "http", "url": "http://127.0.0.1:7340/mcp", "headers": {"A": "b"}}"#,
        r#"{"url": "http://localhost:45123/mcp/work"}"#,
    ] {
        let text = format!(
            r#"{{"mcpServers": {{"pegboard": {entry}, "git": {{"command": "git-server"}}}}}}"#
        );
        let loaded = Fixture::new().project(".mcp.json", &text).load();
        assert_eq!(short(&loaded), [""; 0], "{entry}: {:?}", loaded.problems);
        assert_eq!(names(&loaded), ["git"], "{entry}");
        assert!(loaded.broken.is_empty(), "{entry}");
        let row = loaded
            .values
            .iter()
            .find(|row| row.key == "mcpServers.pegboard");
        let row = row.unwrap_or_else(|| panic!("`explain` does not mention {entry}"));
        assert_eq!((row.layer, row.line), (Layer::Project, Some(1)));
    }
}

#[test]
fn r_cfg_05_a_server_that_only_has_the_name_or_the_program_of_pegboard_is_not_ignored() {
    let other = r#"{"mcpServers": {"pegboard": {"command": "other"}, "example": {"command": "pegboard", "args": ["example-server"]},
        "far": {"url": "http://example.com:7340/mcp"}, "near": {"url": "http://127.0.0.1:8000/mcp"}}}"#;
    let loaded = Fixture::new().project(".mcp.json", other).load();
    assert_eq!(short(&loaded), ["error CONFIG_NAME_RESERVED pegboard:1"]);
    assert_eq!(names(&loaded), ["example", "far", "near"]);
}

#[test]
fn r_gate_05_keys_of_another_program_are_not_reported() {
    let text = r#"{"numStartups": 12, "projects": {}, "settings_version": 3, "mcpServers": {"git": {"command": "x"}}}"#;
    for file in [".claude.json", "anything.json"] {
        let loaded = named(file, text).load();
        assert_eq!(short(&loaded), [""; 0], "{file}: {:?}", loaded.problems);
        assert_eq!(names(&loaded), ["git"]);
    }
    let own = r#"{"polices": {}, "settings": {}, "mcpServers": {"git": {"command": "x"}}}"#;
    assert_eq!(
        short(&named("mine.json", own).load()),
        ["warning CONFIG_UNKNOWN_KEY -:1"]
    );
    let user = Fixture::with("config.json", r#"{"polices": {}, "mcpServers": {}}"#);
    assert_eq!(short(&user.load()), ["warning CONFIG_UNKNOWN_KEY -:1"]);
    let toml = named("mine.toml", "[polices]\n[mcpServers.git]\ncommand = 'x'\n");
    assert_eq!(short(&toml.load()), ["warning CONFIG_UNKNOWN_KEY -:1"]);
}

#[test]
fn r_cfg_05_names_below_servers_in_other_programs_files_are_corrected() {
    let text = r#"{"inputs": [], "servers": {"gitServer": {"command": "x"}, "sequential-thinking": {"command": "x"},
        "io.github.user/weather": {"command": "x"}, "a-name-that-is-longer-than-the-limit": {"command": "x"}}}"#;
    for file in ["mcp.json", "vscode.json"] {
        let loaded = named(file, text).load();
        let names = names(&loaded);
        let expected = [
            "git_server",
            "io_github_user_weather",
            "sequential_thinking",
        ];
        assert!(
            expected.iter().all(|name| names.contains(name)),
            "{names:?}"
        );
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(loaded.broken.is_empty());
        let messages: Vec<&str> = loaded.problems.iter().map(|p| p.message.as_str()).collect();
        for name in &names {
            let reported = format!("it is used under the name `{name}`");
            assert!(messages.contains(&reported.as_str()), "{messages:?}");
        }
    }
    let own = Fixture::with("config.json", &text.replace(r#""inputs": [], "#, "")).load();
    assert_eq!(own.broken.len(), 4, "in our own form names are exact");
}

#[test]
fn r_cfg_08_a_reference_in_the_arguments_means_the_variable_of_the_server() {
    let text = r#"{"mcpServers": {"far": {"command": "npx", "args": ["mcp-remote@1.0.0", "https://h/", "--header", "Authorization:${AUTH}", "${PATH_LIKE}"],
        "env": {"AUTH": "Bearer ${TOKEN}", "PATH_LIKE": "${PATH_LIKE}:/own"}}}}"#;
    let loaded = Fixture::with("config.json", text)
        .var("TOKEN", "t0ken")
        .var("AUTH", "another")
        .var("PATH_LIKE", "/usr")
        .load();
    let Transport::Stdio { args, env, .. } = &server(&loaded, "far").transport else {
        panic!("it is a local server");
    };
    let resolved = |at: usize| args[at].resolve(&NoSecrets).unwrap().reveal().to_owned();
    assert_eq!(resolved(3), "Authorization:Bearer t0ken");
    assert_eq!(resolved(4), "/usr:/own");
    assert_eq!(
        env["PATH_LIKE"].resolve(&NoSecrets).unwrap().reveal(),
        "/usr:/own"
    );
}

#[test]
fn r_sec_01_trust_names_what_reaches_an_argument_by_way_of_a_variable() {
    let text = r#"{"mcpServers": {"far": {"command": "x", "args": ["${AUTH}"], "env": {"AUTH": "${TOKEN}"}}}}"#;
    let loaded = Fixture::new()
        .project(".mcp.json", text)
        .var("TOKEN", "t0ken")
        .load();
    let review = loaded.reviews.values().next().unwrap();
    let received: Vec<String> = review
        .shown
        .as_ref()
        .unwrap()
        .receives
        .iter()
        .map(|one| one.sentence())
        .collect();
    assert_eq!(
        received,
        [
            "your variable `TOKEN` is passed to the program as argument 1",
            "your variable `TOKEN` is passed to the program as variable AUTH",
        ]
    );
}

#[track_caller]
fn check_command(file: &str, text: &str, help: &str) {
    let loaded = Fixture::with(file, text).load();
    let problem = loaded.problems.first().expect("a problem");
    assert!(problem.message.contains("whole command line"), "{problem}");
    assert_eq!(problem.help, help);
    assert_eq!(loaded.broken.len(), 1);
}

#[test]
fn r_cfg_04_a_command_line_in_command_is_reported_with_args() {
    check_command(
        "config.json",
        r#"{"servers": {"a": {"command": "npx -y some-server@1.2.3"}}}"#,
        r#"write `"command": "npx"` and `"args": ["-y", "some-server@1.2.3"]`"#,
    );
    check_command(
        "config.toml",
        "[servers.a]\ncommand = 'uvx server --token canary'\n",
        r#"write `command = "uvx"` and `args = ["server", "--token", "…"]`"#,
    );
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("my program");
    std::fs::write(&program, "").unwrap();
    for command in [
        program.display().to_string(),
        "/no such/folder/x".to_owned(),
    ] {
        let text = serde_json::json!({"servers": {"a": {"command": command}}});
        let loaded = Fixture::with("config.json", &text.to_string()).load();
        assert_eq!(names(&loaded), ["a"], "{:?}", loaded.problems);
    }
}

#[test]
fn r_cfg_04_a_problem_shows_the_affected_names() {
    let null = r#"{"servers": {"a": {"command": "x", "env": {"K": null, "apiKey2": null}}}}"#;
    let loaded = Fixture::with("config.json", null).load();
    let shown: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert!(
        shown[0].contains("server `a`: `env.K` is null"),
        "{shown:?}"
    );
    assert_eq!(loaded.problems[0].help, "give it a string or remove it");
    assert!(shown[0].contains(r#""K": "#), "{shown:?}");
    assert!(shown[1].contains("`env.apiKey2` is null"), "{shown:?}");

    let prompt = r#"{"servers": {"a": {"command": "x", "env": {"API_KEY": "${input:api-key}"}}}}"#;
    let loaded = Fixture::with("config.json", prompt).load();
    let problem = &loaded.problems[0];
    assert_eq!(
        problem.message,
        "`env.API_KEY`: `${input:api-key}` is a VS Code prompt"
    );
    let help = "run `pegboard secret set api-key` and write `${secret:api-key}`";
    assert_eq!(problem.help, help);
    let line = problem.line_text.as_deref().unwrap();
    assert!(line.contains("${input:api-key}"), "{line}");

    let missing =
        "[servers.a]\ncommand = 'x'\nbearer = 'x'\nenv = { KEY = 'canary ${TOKEN:-}${NONE}' }\n";
    let loaded = Fixture::with("config.toml", missing).load();
    let problem = loaded
        .problems
        .iter()
        .find(|p| p.message.contains("`NONE`"));
    let line = problem.unwrap().line_text.clone().unwrap();
    assert!(line.contains("KEY = '****** ${TOKEN"), "{line}");
    assert!(line.contains("${NONE}"), "{line}");
}

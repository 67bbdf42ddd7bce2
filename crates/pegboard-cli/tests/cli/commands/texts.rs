//! Snapshots of printed output.

use insta::assert_snapshot;

use crate::support::Home;

#[test]
fn an_error_names_the_thing_the_reason_and_the_next_step() {
    let home = Home::with_example();
    assert_snapshot!(home.run(&["call", "example/add_numbers", "a=1"]).stderr, @r"
    error: invalid arguments for `example__add_numbers`: `/b` is missing. Its signature is `add_numbers(a: number, b: number)`.
      Correct the named field; `pegboard describe example__add_numbers` shows what the tool takes. [ARGS_INVALID]
    ");
    assert_snapshot!(home.run(&["show", "exampel"]).stderr, @r"
    error: no server `exampel` is configured
      did you mean example?
      List the servers with `pegboard list`. [SERVER_UNKNOWN]
    ");
}

#[test]
fn a_config_problem_points_into_the_file() {
    let home = Home::new();
    home.write(
        "config/config.toml",
        "[servers.a]\ncommand = \"x\"\ndiscovery_timeout = \"soon\"\n",
    );
    let run = home.run(&["config", "check"]).exits(2);
    assert_snapshot!(home.shown(&run.stdout), @r#"
    error[CONFIG_INVALID]: server `a`: `discovery_timeout` is not a duration
      --> [HOME]/config/config.toml:3:21
       |
     3 | discovery_timeout = "soon"
       |                     ^
      help: write a duration as `30s`, `5m`, `24h`, `500ms` or `1h30m`
    "#);
    assert_snapshot!(run.stderr, @"0 servers usable, 1 problem");
}

#[test]
fn tables_are_plain_and_aligned() {
    let home = Home::with_example();
    assert_snapshot!(home.run(&["tools", "--category", "example/note"]).stdout, @r"
    TOOL                CATEGORY      SUMMARY
    example__note_add   example/note  Keeps a short note in memory, with a tag if you like.
    example__note_list  example/note  Lists the notes that were added since the server started, oldest first.
    ");
    home.add(
        "later",
        "program",
        &[],
        "description = \"For later\"\nenabled = false",
    );
    let list = home.run(&["list"]).stdout;
    let list: Vec<_> = list
        .lines()
        .filter(|line| !line.starts_with("example "))
        .collect();
    assert_snapshot!(list.join("\n"), @r"
    SERVER   STATE     TOOLS  DISCOVERED  NOTE
    later    disabled      0  never       For later
    ");
}

#[test]
fn r_sec_07_the_trust_screen_shows_the_whole_definition() {
    let home = Home::new();
    let definition = r#"{"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files@1.2.3", "a b", "x\u202ey", "${HOME}"], "env": {"TOKEN": "t0p-secret"}},
        "web": {"url": "https://example.com/mcp", "headers": {"X-Key": "k3y-value"}}
    }}"#;
    home.write("project/.mcp.json", definition);
    let run = home.run(&["trust"]).exits(6);
    assert_snapshot!(home.shown(&run.stdout), @r"
    files (from [HOME]/project/.mcp.json:2)
      npx -y files@1.2.3 'a b' $'x\u{202e}y' ${HOME}
      in [HOME]/project
      with TOKEN=t0p-secret
      your variable `HOME` is passed to the program as argument 5
    web (from [HOME]/project/.mcp.json:3)
      https://example.com/mcp
      with header X-Key: k3y-value
    ");
    assert_snapshot!(run.stderr, @r"
    server `files` stays pending
    server `web` stays pending
    ");
}

#[test]
fn every_command_has_help_with_an_example() {
    let home = Home::new();
    let help = home.run(&["--help"]).ok().stdout;
    let commands = super::snapshots::commands(&help);
    assert!(commands.len() >= 33, "{commands:?}");
    for command in commands {
        let help = home.run(&[&command, "--help"]).ok().stdout;
        assert!(
            help.contains("Example"),
            "`{command} --help` shows no example:\n{help}"
        );
        assert!(help.contains(&format!("pegboard {command}")), "{help}");
    }
}

#[test]
fn the_example_server_speaks_mcp_on_its_own() {
    let home = Home::new();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let run = home
        .run_with_input(&["example-server"], &format!("{request}\n"))
        .ok();
    assert_eq!(
        run.json()["result"]["serverInfo"]["name"],
        "pegboard-example"
    );
}

//! Snapshots of printed output, so that a change of wording is a visible diff. `INSTA_UPDATE=always` accepts changes.

use insta::assert_snapshot;
use pegboard_testkit::Script;

use crate::support::{Home, PEGBOARD};

/// Runs command lines and joins their output, without values that differ from run to run.
fn transcript(home: &mut Home, lines: &[&str]) -> String {
    // Errors print the directories of PATH.
    home.set("PATH", "/usr/bin:/bin");
    let home = &*home;
    let runs = lines.iter().map(|line| {
        let (line, input) = line.split_once(" < ").unwrap_or((line, ""));
        let args: Vec<&str> = line.split_whitespace().collect();
        let run = home.run_with_input(&args, input);
        let (stdout, stderr) = (stable(home, &run.stdout), stable(home, &run.stderr));
        let notes = stderr.lines().map(|text| format!("! {text}"));
        let stderr: String = notes.map(|text| format!("{}\n", text.trim_end())).collect();
        format!("$ pegboard {line}\n{stdout}{stderr}[exit {}]\n", run.code)
    });
    home.shown(&runs.collect::<Vec<_>>().join("\n"))
}

/// Replaces durations and the program's path, and collapses the padding of tables.
fn stable(home: &Home, text: &str) -> String {
    let is_unit = |word: &str| {
        let word = word.trim_end_matches([')', ',', ';', '.']);
        matches!(word, "ms" | "s" | "min")
    };
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        let words = words.iter().enumerate().map(|(at, word)| {
            let digits = word.trim_start_matches('(');
            let is_number = digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            match words.get(at + 1) {
                Some(next) if is_number && is_unit(next) => word.replace(digits, "N"),
                _ => (*word).to_owned(),
            }
        });
        let words = words.collect::<Vec<_>>().join(" ");
        format!("{}\n", format!("{}{words}", " ".repeat(indent)).trim_end())
    };
    let text: String = text.lines().map(line).collect();
    home.shown(&text)
}

/// Returns the commands in the groups of the help.
pub(super) fn commands(help: &str) -> Vec<String> {
    let groups = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let groups = groups.take_while(|line| *line != "Options:");
    let commands = groups.filter_map(|line| line.strip_prefix("  "));
    let commands = commands.filter(|line| !line.starts_with(' '));
    let names = commands.filter_map(|line| line.split([' ', ',']).next());
    names.map(str::to_owned).collect()
}

#[test]
fn r_cli_01_help_of_every_command() {
    let mut home = Home::new();
    let help = home.run(&["--help"]).ok().stdout;
    let mut lines = vec!["--help".to_owned()];
    lines.extend(
        commands(&help)
            .iter()
            .map(|command| format!("{command} --help")),
    );
    for group in ["policy", "approvals", "secret", "config"] {
        lines.push(format!("help {group}"));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_snapshot!("help", transcript(&mut home, &lines));
}

#[test]
fn r_cli_01_output_of_reading_commands() {
    let mut home = Home::with_example();
    home.add("later", "program", &[], "enabled = false");
    home.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"theirs": {"command": "npx", "args": ["-y", "files@1.2.3"]}}}"#,
    );
    let lines = [
        "list",
        "ls",
        "show example",
        "tools example --category example/note",
        "describe example/convert_units",
        "search --words convert units",
        "search --words --explain --limit 1 add numbers",
        "search --words zzzz",
        "context",
        "export --format gemini --losses example",
        "config path",
        "config explain example",
        "config check",
        "policy list",
        "policy test example/note_add",
        "policy grants",
        "approvals",
        "secret list",
        "logs later",
        "trust",
        "doctor example",
    ];
    assert_snapshot!("reading", transcript(&mut home, &lines));
}

#[test]
fn r_cli_01_output_of_commands_that_change_something() {
    let mut home = Home::new();
    let add = format!("add example -- {PEGBOARD} example-server");
    let lines = [
        "list",
        add.as_str(),
        "add My-Server --no-discover -- program",
        "call example/add_numbers a=1 b=2",
        "call example/add_numbers --json a=1 b=2",
        "call example.add_numbers {\"a\":1,\"b\":2}",
        "add hub --no-discover -e HUB_TOKEN=0123456789 -- program",
        "add web --no-discover --store-secrets -e WEB_TOKEN=0123456789 -- program",
        "rm hub",
        "refresh example",
        "refresh --all",
        "disable example",
        "enable example",
        "edit example ttl 10m",
        "policy set note_add ask",
        "policy set --server example note_* deny",
        "policy list",
        "policy test example/note_add",
        "policy unset note_add",
        "secret set github < hush",
        "secret list",
        "secret rm github",
        "search --forget",
        "clear --yes example",
        "clear --yes",
        "remove example",
        "up --once --example",
    ];
    assert_snapshot!("changing", transcript(&mut home, &lines));
}

#[test]
fn r_cli_01_output_of_failing_commands() {
    let mut home = Home::with_example();
    home.add("gone", "no-such-program-anywhere", &[], "");
    home.add("wrong", "x", &[], "discovery_timeout = \"soon\"");
    let failing = Script::new()
        .tools(["work"])
        .with(|s| s.call.is_error = true);
    home.add_script("failing", &failing, "");
    home.add_script(
        "denied",
        &Script::new().tools(["work"]),
        "policy = \"deny\"",
    );
    home.add_script("off", &Script::new().tools(["work"]), "enabled = false");
    let lines = [
        "lst",
        "ps",
        "stop",
        "restart",
        "service status",
        "service install",
        "service install --manager launchd",
        "call example/add_numbers [1]",
        "call example.add_numbers {\"a\":1} a=2",
        "call example.nothing",
        "--config nowhere.toml list",
        "--project nowhere list",
        "--quiet config check",
        "--quiet show exampel",
        "--quiet show wrong",
        "--quiet call example/ad_numbers",
        "--quiet call example/add_numbers a=1",
        "--quiet call example/add_numbers a=1 a=2",
        "--quiet call example/add_numbers a=1 -",
        "--quiet call example/add_numbers --args []",
        "--quiet call __x",
        "--quiet call gone/work",
        "--quiet call failing/work",
        "--quiet call denied/work",
        "--quiet call off/work",
        "--quiet refresh gone",
        "--quiet describe nothing",
        "--quiet export --format word",
        "--quiet edit example enabled maybe",
        "--quiet edit example no_such_key 1",
        "--quiet remove nothing",
        "--quiet add example -- program",
        "--quiet add broken npx",
        "--quiet add x -e NOVALUE -- program",
        "--quiet policy unset nothing",
        "--quiet policy revoke nothing",
        "--quiet approvals allow 00000000",
        "--quiet secret rm nothing",
        "--quiet secret set empty",
        "--quiet clear",
        "--quiet trust example",
        "--quiet tokens --lists nowhere",
        "--quiet ask Which issues are open?",
        "--quiet ask -",
        "--quiet dashboard",
        "--quiet serve --port 1 --listen 127.0.0.1:2",
        "--quiet serve --no-auth --listen 0.0.0.0",
        "--quiet serve --listen nowhere",
        "--json --quiet show exampel",
    ];
    assert_snapshot!("failing", transcript(&mut home, &lines));
}

//! Server output is escaped everywhere: in text, in JSON and in log files.

use serde_json::json;

use crate::support::Home;

/// An escape that writes to the clipboard, a control sequence of one character, and a mark that reverses text.
const RAW: &str = "a\u{1b}]52;c;eA==\u{7}b\u{9b}31mc\u{202e}d";

/// A machine with a server whose texts and log lines contain such characters.
fn home() -> Home {
    let home = Home::new();
    let tool = json!({
        "name": "deceive",
        "description": format!("Deceives: {RAW}"),
        "inputSchema": {"type": "object", "properties": {"x": {"type": "string", "description": RAW}}},
    });
    let recording = home.write("tools.json", &json!({"tools": [tool]}).to_string());
    let replay = pegboard_testkit::binary("pegboard-replay");
    let log = home.write("log", RAW);
    let script = format!(
        "cat '{}' >&2; echo >&2; exec '{}' '{}'",
        log.display(),
        replay.display(),
        recording.display()
    );
    home.add("s", "sh", &["-c", &script], "");
    home
}

#[track_caller]
fn assert_visible(text: &str, what: &str) {
    let is_raw = |character: &char| {
        let is_control = character.is_control() && *character != '\n';
        is_control || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    let raw = text.chars().find(is_raw);
    assert_eq!(raw, None, "{what}: {text:?}");
}

#[test]
fn r_sec_01_no_command_prints_raw_control_characters() {
    let home = home();
    home.run(&["refresh", "s"]).ok();
    // The scanner holds such a text back, which is printed without raw characters too.
    for args in [&["review", "list"][..], &["review", "show", "s__deceive"]] {
        assert_visible(&home.run(args).ok().stdout, &format!("{args:?}"));
    }
    home.run(&["review", "accept", "s"]).ok();
    for words in [
        "list",
        "show s",
        "tools",
        "describe s__deceive",
        "search deceive",
        "context",
        "export --format openai-chat",
        "tokens",
        "logs s",
        "activity",
        "refresh s",
        "doctor",
        "policy list",
        "approvals list",
        "config check",
    ] {
        let plain: Vec<&str> = words.split(' ').collect();
        let json = [&plain[..], &["--json"]].concat();
        for args in [plain, json] {
            let run = home.run(&args);
            assert!(!run.stdout.is_empty() || run.code == 0, "{args:?}: {run:?}");
            assert_visible(&run.stdout, &format!("{args:?}"));
            assert_visible(&run.stderr, &format!("{args:?}"));
        }
    }
    let logged = home.run(&["logs", "s", "--json"]).ok().stdout;
    assert!(logged.contains("52;c;eA=="), "{logged}");
    let file = std::fs::read_to_string(home.state().join("logs/s.log")).unwrap();
    assert!(file.contains("52;c;eA=="), "{file:?}");
    assert_visible(&file, "the log file");
}

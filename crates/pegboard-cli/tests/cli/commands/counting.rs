//! `context` and `tokens`: the summary for a system prompt, and exact token counts.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Home;

#[test]
fn r_ctx_01_the_summary_is_printed_and_its_patterns_are_configurable() {
    let home = Home::with_example();
    assert_snapshot!(home.run(&["context"]).ok().stdout, @r"
    You have access to 16 tools of 1 server through Pegboard:
    - example: search_text, +15 more
    Find a tool with search_tools, read what it takes with get_tool_description, run it with call_tool.
    ");
    let document = home.run(&["context", "--json"]).ok().json();
    assert!(
        document["tokens"]
            .as_u64()
            .is_some_and(|tokens| tokens > 20 && tokens < 80),
        "{document}"
    );
    assert_eq!(document["text"], home.run(&["context"]).stdout.trim_end());
    home.write(
        "config/config.toml",
        &format!("{}\n[settings]\nessential = [\"note_*\"]\n", home.config()),
    );
    let summary = home.run(&["context"]).ok().stdout;
    assert!(
        summary.contains("- example: note_add, note_list, +14 more"),
        "{summary}"
    );
}

#[test]
fn r_ctx_01_nothing_configured_gives_the_fixed_sentence() {
    let run = Home::new().run(&["context"]).ok();
    assert!(
        run.stdout
            .starts_with("You have access to external tools through Pegboard."),
        "{}",
        run.stdout
    );
}

#[tokio::test]
async fn r_ctx_01_a_program_that_embeds_pegboard_gets_the_same_summary() {
    let home = Home::with_example();
    let pegboard = home.open().await;
    let summary = pegboard.context_summary();
    pegboard.close().await;
    assert_eq!(format!("{summary}\n"), home.run(&["context"]).stdout);
}

#[test]
fn r_ctx_06_tokens_are_counted_for_servers_answers_and_clients() {
    let home = Home::with_example();
    let report = home.run(&["tokens", "--json"]).ok().json();
    assert_eq!(report["tokenizer"], "o200k_base");
    assert_eq!(report["servers"][0]["server"], "example");
    assert_eq!(report["total"]["tools"], 16);
    assert_eq!(report["servers"][0]["tokens"], report["total"]["static"]);
    let number = |value: &Value| value.as_u64().expect("a count");
    let (all, few) = (
        number(&report["total"]["static"]),
        number(&report["total"]["lazy"]),
    );
    assert!(all > few && few > 0, "{report}");
    assert!(number(&report["answers"]["list_max"]) < 500);
    assert!(number(&report["answers"]["list_json_max"]) < 500);
    assert!(number(&report["answers"]["context"]) < 500);
    assert!(number(&report["answers"]["describe_max"]) < 400);
    let clients = report["clients"].as_array().expect("a list");
    for client in ["Claude Code", "Cursor", "VS Code", "OpenAI API"] {
        let bill = clients
            .iter()
            .find(|bill| bill["client"] == client)
            .expect(client);
        assert!(number(&bill["static"]) > number(&bill["lazy"]), "{bill}");
    }
}

#[test]
fn r_ctx_06_recorded_lists_are_counted_without_any_server() {
    let home = Home::new();
    // The counts of these two definitions are known.
    let issue = json!({"name": "create_issue", "description": "Create a new issue in a repository. Returns its number.", "inputSchema": {"type": "object", "properties": {"owner": {"type": "string", "description": "Repository owner"}, "title": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}}, "required": ["owner", "title"]}});
    let weather = json!({"name": "query_weather", "description": "查询指定城市的天气预报，返回温度和湿度。", "inputSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "城市名称"}}}});
    let list = |tools: Vec<&Value>| format!("{:#}", json!({"tools": tools}));
    home.write("lists/git-hub.json", &list(vec![&issue]));
    home.write("lists/weather.json", &list(vec![&weather]));
    home.write("lists/_index.json", "{}");
    home.write("lists/broken.json", "[");
    let folder = home.path("lists").display().to_string();
    let run = home.run(&["tokens", "--json", "--lists", &folder]).ok();
    let servers = &run.json()["servers"];
    assert_eq!(
        *servers,
        json!([{"server": "git_hub", "tools": 1, "tokens": 68}, {"server": "weather", "tools": 1, "tokens": 45}])
    );
    assert!(run.stderr.contains("broken.json: "), "{}", run.stderr);
    let text = home.run(&["tokens", "--lists", &folder]).ok().stdout;
    assert!(
        text.starts_with("SERVER   TOOLS     TOKENS\ngit_hub      1         68\n"),
        "{text}"
    );
    assert!(
        text.contains("2 tools of 2 servers: 113 tokens with all definitions"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    home.run(&["tokens", "--lists", "nowhere"]).exits(2);
    home.write("empty/_index.json", "{}");
    home.run(&[
        "tokens",
        "--lists",
        &home.path("empty").display().to_string(),
    ])
    .exits(2);
}

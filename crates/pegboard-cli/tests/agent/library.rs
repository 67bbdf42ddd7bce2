//! The library API, as used by a program with its own model client.

use pegboard::agent::{Content, Format, Loading, ToolOutputBody, tool_use};
use pegboard::{EventKind, Reason, Refresh};
use pegboard_testkit::provider_rules::check_tools;
use serde_json::{Value, json};

use crate::support::Home;

fn text(body: &ToolOutputBody) -> String {
    match body {
        ToolOutputBody::Content(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                Content::Text(text) => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_01_definitions_summary_and_tool_runner() {
    let home = Home::new();
    home.add_example("example");
    let pegboard = home.open().await;
    // Discovery on first use, without a refresh before.
    let tools = pegboard.definitions(Format::Anthropic).await;
    let names: Vec<&Value> = tools
        .document()
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(names.len(), 5, "{}", tools.document());
    assert!(check_tools(tools.document(), Format::Anthropic).is_empty());
    assert!(tools.saved_tokens() > 0);
    let summary = pegboard.context_summary();
    assert!(summary.contains("16 tools"), "{summary}");

    let call = |name: &str, input: Value| tool_use("id-1", name, input);
    let searched = call("search_tools", json!({"query": "add numbers"}));
    let searched = pegboard.run_tool_use(&tools, &searched).await;
    assert_eq!(searched.output.id, "id-1");
    assert!(text(&searched.output.body).contains("example__add_numbers"));
    assert_eq!(searched.used, None);
    let called = call(
        "call_tool",
        json!({"tool_name": "example__add_numbers", "arguments": {"a": 2, "b": 3}}),
    );
    let called = pegboard.run_tool_use(&tools, &called).await;
    assert!(text(&called.output.body).contains('5'), "{called:?}");
    let used = called.used.expect("a tool was used");
    assert_eq!(used.tool, "example__add_numbers");
    assert_eq!(used.server.expect("its server").as_str(), "example");
    let unknown = pegboard
        .run_tool_use(&tools, &call("nothing", json!({})))
        .await;
    assert!(unknown.output.is_error, "{unknown:?}");
    pegboard.close().await;
    home.assert_nothing_runs();
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_01_r_reg_07_definitions_are_valid_in_every_format_and_loading() {
    let home = Home::with_example();
    let pegboard = home.open().await;
    let schema = json!({"type": "object", "anyOf": [{"required": ["a"]}], "properties": {"a": {"type": "string"}}});
    pegboard
        .register(
            "own",
            "Of the host program.",
            schema,
            |arguments| async move { Ok(arguments) },
        )
        .expect("a static tool");
    for format in Format::all() {
        for loading in [Loading::Meta, Loading::All] {
            let tools = pegboard.definitions_with(format, loading).await;
            let plain = tools.format();
            assert!(!plain.is_deferred());
            let broken = check_tools(tools.document(), plain);
            assert!(broken.is_empty(), "{format} {loading:?}: {broken:?}");
            let shown = tools.document().to_string();
            assert!(shown.contains("\"own\""), "{format} {loading:?}");
            let has_all = shown.contains("example__add_numbers");
            assert_eq!(has_all, loading == Loading::All, "{format}");
        }
        let tools = pegboard.definitions_with(format, Loading::Deferred).await;
        let expected = match format {
            Format::Anthropic | Format::AnthropicDeferred => Loading::Deferred,
            Format::OpenAiResponses | Format::OpenAiDeferred => Loading::Deferred,
            _ => Loading::Meta,
        };
        assert_eq!(tools.loading(), expected, "{format}");
    }
    pegboard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_01_a_program_searches_describes_calls_refreshes_and_listens() {
    let home = Home::new();
    home.add_example("example");
    home.add("gone", "/nowhere/at-all", &[], "");
    let pegboard = home.open().await;
    let mut events = pegboard.subscribe();
    let outcomes = pegboard.refresh(Refresh::all()).await.expect("outcomes");
    assert_eq!(outcomes.len(), 2);
    for outcome in outcomes {
        match outcome.server.as_str() {
            "example" => assert_eq!(outcome.result.expect("tools").delta.added.len(), 16),
            _ => assert_eq!(
                outcome.result.expect_err("no such program").reason,
                Reason::SpawnNotFound
            ),
        }
    }
    let mut kinds = Vec::new();
    while let Ok(event) = events.try_recv() {
        kinds.push(event.kind);
    }
    let is_failure = |kind: &EventKind| matches!(kind, EventKind::ServerFailed { server, .. } if server.as_str() == "gone");
    assert!(kinds.iter().any(is_failure), "{kinds:?}");

    let found = pegboard.search("add two numbers", 3).await;
    assert_eq!(found[0].name, "example__add_numbers", "{found:?}");
    let described = pegboard
        .describe("example/add_numbers")
        .await
        .expect("a tool");
    assert_eq!(described.parameters.len(), 2);
    let error = pegboard
        .describe("example/ad_numbers")
        .await
        .expect_err("no tool");
    assert_eq!(error.reason, Reason::ToolUnknown);
    assert!(
        error.nearest.contains(&"example__add_numbers".to_owned()),
        "{error:?}"
    );

    let outcome = pegboard
        .call("add_numbers", json!({"a": 1, "b": 2}))
        .await
        .expect("a call");
    assert!(!outcome.is_error && outcome.result.get().contains('3'));
    let error = pegboard
        .call("add_numbers", json!({"a": 1}))
        .await
        .expect_err("b is missing");
    assert_eq!(error.reason, Reason::ArgsInvalid);
    let error = pegboard
        .call("gone/x", json!({}))
        .await
        .expect_err("no server");
    assert_eq!(
        error.into_details().server.expect("it is named").as_str(),
        "gone"
    );
    pegboard.close().await;
    home.assert_nothing_runs();
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_01_static_tools_pass_the_same_checks_and_errors_are_values() {
    let home = Home::new();
    let pegboard = home.open().await;
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let halve = |arguments: Value| async move {
        let n = arguments["n"].as_i64().unwrap_or_default();
        match n % 2 {
            0 => Ok(json!({"half": n / 2})),
            _ => Err(pegboard::ToolError::new(Reason::ToolFailed, "it is odd")),
        }
    };
    pegboard
        .register("halve", "Halves a number.", schema.clone(), halve)
        .expect("a static tool");
    let bad = pegboard.register("no name", "…", schema, |arguments| async move {
        Ok(arguments)
    });
    assert_eq!(
        bad.expect_err("no legal name").reason,
        Reason::ToolNameInvalid
    );
    let outcome = pegboard
        .call("halve", json!({"n": 8}))
        .await
        .expect("a call");
    assert!(
        outcome.result.get().contains("\"half\":4"),
        "{}",
        outcome.result
    );
    let error = pegboard
        .call("halve", json!({"n": "8"}))
        .await
        .expect_err("a text");
    assert_eq!(error.reason, Reason::ArgsInvalid);
    let error = pegboard
        .call("halve", json!({"n": 7}))
        .await
        .expect_err("odd");
    assert_eq!(error.message, "it is odd");
    pegboard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_03_tools_in_a_models_messages_are_recorded_with_their_server() {
    let home = Home::with_example();
    let pegboard = home.open().await;
    let messages = json!([
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "example__add_numbers", "input": {"a": 1, "b": 1}},
            {"type": "tool_use", "id": "2", "name": "call_tool", "input": {"tool_name": "example/echo"}},
            {"type": "tool_use", "id": "3", "name": "search_tools", "input": {"query": "x"}},
        ]},
    ]);
    let seen = serde_json::to_value(pegboard.called_tools(&messages)).expect("JSON");
    let expected = json!([
        {"tool": "example__add_numbers", "server": "example"},
        {"tool": "example__echo", "server": "example"},
    ]);
    assert_eq!(seen, expected);
    pegboard.close().await;
}

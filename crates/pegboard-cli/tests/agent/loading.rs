//! The ways to load tool definitions.

use pegboard::agent::Loading;
use serde_json::{Value, json};

use crate::scripted::{BOTH, ModelApi, agent, model, run_task};
use crate::support::Home;

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    tools
        .iter()
        .map(|tool| {
            tool["name"]
                .as_str()
                .or(tool["type"].as_str())
                .unwrap_or_default()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_schemas_are_loaded_on_demand_by_the_providers_own_search() {
    for api in BOTH {
        let home = Home::with_example();
        let pegboard = home.open().await;
        let search = match api {
            ModelApi::Anthropic => {
                json!({"calls": [{"name": "search_tools", "input": {"query": "add two numbers"}}]})
            }
            ModelApi::OpenAi => json!({"search": "add two numbers"}),
        };
        let server = model(json!([
            search,
            {"calls": [{"name": "example__add_numbers", "input": {"a": 20, "b": 22}}]},
            {"text": "42"},
        ]));
        let agent = agent(&pegboard, api, &server).loading(Loading::Deferred);
        let (run, _) = run_task(&agent, "20 + 22?").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("42"), "{api:?}");
        assert_eq!(run.used.len(), 1);
        assert_eq!(run.used[0].tool, "example__add_numbers");
        assert!(run.saved_tokens > 0);
        let requests = server.requests();
        let tools = &requests[0].body["tools"];
        match api {
            ModelApi::Anthropic => {
                assert_eq!(names(tools)[0], "search_tools");
                let deferred = tools.as_array().expect("tools").iter();
                let deferred = deferred.filter(|tool| tool["defer_loading"] == true);
                assert_eq!(deferred.count(), 16);
                let answer = &requests[1].body["messages"][2]["content"][0]["content"];
                let reference =
                    json!({"type": "tool_reference", "tool_name": "example__add_numbers"});
                assert!(
                    answer.as_array().expect("references").contains(&reference),
                    "{answer}"
                );
            }
            ModelApi::OpenAi => {
                assert_eq!(names(tools), ["tool_search", "read_result"]);
                let items = requests[1].body["input"].as_array().expect("items").clone();
                let output = items.last().expect("an item");
                assert_eq!(output["type"], "tool_search_output");
                assert!(
                    output.to_string().contains("example__add_numbers"),
                    "{output}"
                );
            }
        }
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_all_definitions_can_be_sent_and_argument_names_are_restored() {
    for api in BOTH {
        let home = Home::with_example();
        let pegboard = home.open().await;
        // In OpenAI's strict mode the model sends `null` for omitted parameters; a name with a bracket is invalid.
        let schema = json!({
            "type": "object",
            "properties": {"filter[id]": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["filter[id]"],
        });
        let echo = |arguments: Value| async move { Ok(arguments) };
        pegboard
            .register("odd", "Has odd arguments.", schema, echo)
            .expect("a static tool");
        let definitions = pegboard
            .definitions_with(pegboard::agent::Format::OpenAiResponses, Loading::All)
            .await;
        assert!(definitions.losses().any(|tool| tool.name == "odd"));
        let renamed = "filter_id_";
        let server = model(json!([
            {"calls": [{"name": "odd", "input": {renamed: "7", "limit": null}}]},
            {"text": "Odd."},
        ]));
        let agent = agent(&pegboard, api, &server).loading(Loading::All);
        let (run, _) = run_task(&agent, "Be odd.").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("Odd."));
        let requests = server.requests();
        assert_eq!(names(&requests[0].body["tools"]).len(), 16 + 1 + 1);
        if api == ModelApi::OpenAi {
            let results = crate::scripted::results(&server);
            assert!(
                results[0].0.contains(r#"{"filter[id]":"7"}"#),
                "{results:?}"
            );
        }
        pegboard.close().await;
    }
}

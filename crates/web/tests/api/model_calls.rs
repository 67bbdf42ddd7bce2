//! Definitions for models and the execution of their calls.

use serde_json::{Value, json};

use crate::site::{CALL, TestSite};

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn r_lib_02_definitions_are_the_meta_tools_or_all_tools() {
    let site = TestSite::new().await;
    let meta = site.get("/definitions?format=anthropic").await.json();
    assert_eq!(meta["loading"], "meta");
    assert!(names(&meta["tools"]).contains(&"search_tools".to_owned()));
    assert!(meta["tools"][0]["input_schema"].is_object(), "{meta}");
    let all = site
        .get("/definitions?format=openai-responses&loading=all")
        .await
        .json();
    let all = names(&all["tools"]);
    for tool in ["one__read", "one__write", "two__erase", "read_result"] {
        assert!(all.contains(&tool.to_owned()), "{tool} in {all:?}");
    }
}

#[tokio::test]
async fn r_lib_02_wrong_formats_are_refused_with_the_field() {
    let site = TestSite::new().await;
    for format in ["", "acme", "anthropic-deferred", "openai-deferred"] {
        let path = format!("/definitions?format={format}");
        let refused = site.get(&path).await;
        assert_eq!(refused.status, 400, "{format}");
        assert_eq!(refused.code(), "REQUEST_INVALID", "{format}");
        assert_eq!(refused.json()["error"]["field"], "format", "{format}");
    }
    let path = "/definitions?format=gemini&loading=some";
    assert_eq!(site.get(path).await.status, 400);
}

async fn run(site: &TestSite, call: Value) -> Value {
    let response = site.request(CALL, "POST", "/model-calls", call).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

#[tokio::test]
async fn r_lib_02_calls_of_models_run_with_the_names_and_arguments_that_they_wrote() {
    let site = TestSite::new().await;
    let direct = json!({"format": "anthropic", "loading": "all", "name": "one__read", "arguments": {"text": "x"}});
    let result = run(&site, direct).await;
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(
        (&result["tool"], &result["server"]),
        (&json!("one__read"), &json!("one"))
    );
    assert_eq!(result["outcome"], "ok");
    // OpenAI sends a JSON text, and `null` for omitted values in strict mode.
    let search = r#"{"query": "erase", "queries": null, "limit": null, "detail": null}"#;
    let found = json!({"format": "openai-chat", "name": "search_tools", "arguments": search});
    let found = run(&site, found).await;
    assert_eq!(found["isError"], false, "{found}");
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("two__erase"), "{text}");
    let through = json!({"tool_name": "two__erase", "arguments": r#"{"text": "x"}"#});
    let through = json!({"format": "openai-chat", "name": "call_tool", "arguments": through});
    assert_eq!(run(&site, through).await["tool"], "two__erase");
}

#[tokio::test]
async fn r_lib_02_errors_of_calls_are_texts_for_the_model() {
    let site = TestSite::new().await;
    for (name, arguments, code) in [
        ("one__raed", json!({}), "TOOL_UNKNOWN"),
        ("one__read", json!("{\"a\": "), "ARGS_INVALID"),
    ] {
        let call = json!({"format": "anthropic", "name": name, "arguments": arguments});
        let result = run(&site, call).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["outcome"], code, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(code), "{text}");
    }
}

#[tokio::test]
async fn r_lib_02_undiscovered_servers_are_discovered_on_request() {
    let site = TestSite::new().await;
    let done = site.request(CALL, "POST", "/discover", Value::Null).await;
    assert_eq!(done.status, 200);
    assert_eq!(done.json(), json!({"discovering": []}));
    let refused = site
        .request("wrong", "POST", "/discover", Value::Null)
        .await;
    assert_eq!(refused.status, 401);
}

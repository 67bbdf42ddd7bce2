//! The meta tools.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::client::{Client, gateway, over};
use crate::fake::{Server, hub, outcome, text};

fn servers() -> Vec<Server> {
    vec![
        Server::new("github", &["search", "close_issue"]),
        Server::new("files", &["search", "read_file"]),
    ]
}

#[tokio::test]
async fn r_api_01_r_ctx_04_r_find_03_searching_gives_short_lines_and_starts_nothing() {
    let (gateway, all) = gateway(servers(), &[]).await;
    let started = all.starts.load(Ordering::SeqCst);
    let client = Client::modern(&gateway, "", json!({}));
    let found = client
        .text("search_tools", json!({"query": "close issue"}))
        .await;
    assert!(
        found.contains("github__close_issue(text, times?) — "),
        "{found}"
    );
    let several = json!({"queries": ["read file", "close issue"], "limit": 1});
    let found = client.text("search_tools", several).await;
    assert!(
        found.contains("files__read_file") && found.contains("github__close_issue"),
        "{found}"
    );
    let as_list = client
        .text("search_tools", json!({"query": ["close issue"]}))
        .await;
    assert!(
        as_list.contains("github__close_issue"),
        "models write lists too: {as_list}"
    );
    assert_eq!(
        all.starts.load(Ordering::SeqCst),
        started,
        "nothing was started"
    );
}

#[tokio::test]
async fn r_api_01_r_ctx_02_r_ctx_03_listing_and_describing_start_nothing() {
    let (gateway, all) = gateway(servers(), &[]).await;
    let started = all.starts.load(Ordering::SeqCst);
    let client = Client::modern(&gateway, "", json!({}));
    let list = client.text("list_available_tools", json!({})).await;
    assert!(
        list.contains("github__search") && list.contains("files__read_file"),
        "{list}"
    );
    let list = client
        .text("list_available_tools", json!({"format": "json"}))
        .await;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["total"], 4);
    assert_eq!(list["tools"][0]["enabled"], true);
    let about = client
        .text(
            "get_tool_description",
            json!({"tool_name": "files/read_file"}),
        )
        .await;
    assert!(
        about.contains("text") && about.contains("Does read_file"),
        "{about}"
    );
    let unknown = client
        .call("get_tool_description", json!({"tool_name": "read_fiel"}))
        .await;
    assert_eq!(unknown["isError"], true);
    let nearest = &unknown["structuredContent"]["nearest"];
    assert_eq!(nearest[0], "files__read_file", "{unknown}");
    assert_eq!(all.starts.load(Ordering::SeqCst), started);
}

#[tokio::test]
async fn r_ctx_05_r_reg_02_call_tool_takes_what_models_really_send() {
    let (gateway, _) = gateway(servers(), &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    for params in [
        json!({"tool_name": "github__close_issue", "arguments": {"text": "x"}}),
        json!({"tool_name": "github/close_issue", "arguments": {"text": "x"}}),
        json!({"tool_name": "close_issue", "arguments": {"text": "x"}}),
        json!({"tool_name": "close_issue", "arguments": "{\"text\":\"x\"}"}),
        json!("{\"tool_name\":\"close_issue\",\"arguments\":{\"text\":\"x\"}}"),
    ] {
        let output = client.text("call_tool", params.clone()).await;
        assert_eq!(output, r#"close_issue {"text":"x"}"#, "{params}");
    }
    let direct = client
        .text("github__close_issue", json!({"text": "x"}))
        .await;
    assert_eq!(
        direct, r#"close_issue {"text":"x"}"#,
        "an unlisted tool by its own name"
    );
}

#[tokio::test]
async fn r_reg_05_mistakes_come_back_so_that_the_next_try_succeeds() {
    let (gateway, all) = gateway(servers(), &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let started = all.starts.load(Ordering::SeqCst);
    let wrong = json!({"tool_name": "close_issue", "arguments": {"text": 7}});
    let result = client.call("call_tool", wrong).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["reason"], "ARGS_INVALID");
    let output = result["content"][0]["text"].as_str().unwrap();
    assert!(
        output.contains("text") && output.contains("string"),
        "{output}"
    );
    assert!(output.contains("close_issue("), "the signature: {output}");
    let ambiguous = client
        .call("call_tool", json!({"tool_name": "search"}))
        .await;
    assert_eq!(ambiguous["structuredContent"]["reason"], "TOOL_AMBIGUOUS");
    let unknown = client
        .call(
            "call_tool",
            json!({"tool_name": "close_isue", "arguments": {}}),
        )
        .await;
    assert_eq!(
        unknown["structuredContent"]["nearest"][0],
        "github__close_issue"
    );
    for (tool, params) in [
        ("search_tools", json!({})),
        ("search_tools", json!({"query": "x", "detail": "wordy"})),
        (
            "search_tools",
            json!({"queries": ["a", "b", "c", "d", "e", "f"]}),
        ),
        ("get_tool_description", json!({"tool_name": 7})),
        ("call_tool", json!({})),
        ("call_tool", json!([1])),
        ("list_available_tools", json!({"format": "xml"})),
        ("read_result", json!({"id": "nothing"})),
    ] {
        let result = client.call(tool, params.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {params}");
        assert!(
            result["structuredContent"]["remedy"].is_string(),
            "{tool} {params}"
        );
    }
    assert_eq!(
        all.starts.load(Ordering::SeqCst),
        started,
        "no server was started for any of it"
    );
}

#[tokio::test]
async fn r_disc_01_the_first_need_discovers_what_was_never_seen() {
    let (hub, all) = hub(servers()).await;
    let client = Client::modern(&over(hub), "", json!({}));
    client.result("tools/list", json!({})).await;
    assert_eq!(
        all.starts.load(Ordering::SeqCst),
        0,
        "the fixed list starts no server"
    );
    let found = client
        .text("search_tools", json!({"query": "read file"}))
        .await;
    assert!(found.contains("files__read_file"), "{found}");
}

#[tokio::test]
async fn r_gate_01_a_result_reaches_the_client_as_the_server_wrote_it() {
    let whole = json!({
        "content": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {"priority": 0.10}},
            {"type": "resource_link", "uri": "x://y", "name": "y"},
        ],
        "structuredContent": {"n": 1.0, "big": 12345678901234567890_u64},
        "_meta": {"own": true},
        "isError": true,
        "unknown": [],
    });
    let response = whole.clone();
    let server = Server::new("a", &["one"]).modern().on_call(move |_, _, _| {
        let response = response.clone();
        async move { Ok(outcome(response)) }
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    for (tool, params) in [
        ("a__one", json!({"text": "x"})),
        (
            "call_tool",
            json!({"tool_name": "a__one", "arguments": {"text": "x"}}),
        ),
    ] {
        let params = json!({"name": tool, "arguments": params});
        let (bytes, _) = client.bytes(json!(5), "tools/call", params).await.unwrap();
        let expected = format!(r#"{{"jsonrpc":"2.0","id":5,"result":{whole}}}"#);
        assert_eq!(
            String::from_utf8(bytes.to_vec()).unwrap(),
            expected,
            "{tool}"
        );
    }
}

#[tokio::test]
async fn r_ctx_08_a_large_result_is_read_in_parts_by_offset_pointer_and_words() {
    let rows: Vec<_> = (0..20_000)
        .map(|n| json!({"row": n, "name": format!("name {n}")}))
        .collect();
    let body = serde_json::to_string_pretty(&json!({"rows": rows})).unwrap();
    let sent = body.clone();
    let server = Server::new("a", &["dump"]).on_call(move |_, _, _| {
        let sent = sent.clone();
        async move { Ok(text(&sent)) }
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let params = json!({"tool_name": "a__dump", "arguments": {"text": "x"}});
    let mut part = client.text("call_tool", params).await;
    assert!(part.len() < 200_000, "{}", part.len());
    let id = part
        .split("\"id\":\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let read = |more: serde_json::Value| {
        let mut arguments = json!({"id": id});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let params = json!({"tool_name": "read_result", "arguments": arguments});
        let client = client.clone();
        async move { client.text("call_tool", params).await }
    };
    let mut whole = String::new();
    loop {
        let (words, note) = part.rsplit_once("\n\n[Bytes ").unwrap();
        whole.push_str(words);
        let Some(next) = note.split("\"offset\":").nth(1) else {
            break;
        };
        let next: usize = next.split('}').next().unwrap().parse().unwrap();
        assert_eq!(next, whole.len());
        part = read(json!({"offset": next})).await;
    }
    assert_eq!(whole, body);
    let found = read(json!({"grep": "name 19999"})).await;
    assert!(
        found.contains("\"name 19999\"") && found.contains("1 of 1 matching"),
        "{found}"
    );
    assert_eq!(read(json!({"pointer": "/rows/7/name"})).await, "\"name 7\"");
    let wrong = read(json!({"pointer": "/rows/7/nam"})).await;
    assert!(wrong.contains("row, name"), "{wrong}");
    let wrong = read(json!({"grep": "(["})).await;
    assert!(wrong.contains("ARGS_INVALID"), "{wrong}");
}

#[tokio::test]
async fn r_sec_05_a_servers_tool_never_answers_in_place_of_a_meta_tool() {
    let reserved = [
        "read_result",
        "call_tool",
        "call_readonly_tool",
        "search_tools",
        "list_available_tools",
        "get_tool_description",
    ];
    let evil = Server::new("evil", &reserved);
    let (gateway, all) = gateway(vec![evil], &[]).await;
    let started = all.starts.load(Ordering::SeqCst);
    let client = Client::modern(&gateway, "", json!({}));
    for name in reserved {
        let arguments = json!({"id": "r1", "query": "x", "tool_name": "x", "text": "x"});
        let params = json!({"tool_name": name, "arguments": arguments});
        client.call("call_tool", params).await;
        client.call(name, arguments).await;
    }
    assert_eq!(
        all.starts.load(Ordering::SeqCst),
        started,
        "nothing was called"
    );
    let params = json!({"tool_name": "call_tool", "arguments": {"tool_name": "x"}});
    let refused = client.call("call_tool", params).await;
    assert_eq!(refused["structuredContent"]["reason"], "NAME_RESERVED");
    let params = json!({"tool_name": "evil__read_result", "arguments": {"text": "x"}});
    let output = client.text("call_tool", params).await;
    assert_eq!(
        output, r#"read_result {"text":"x"}"#,
        "by its full name it is called"
    );
}

#[tokio::test]
async fn r_ctx_03_r_gate_06_descriptions_as_json_and_instructions_come_over_the_protocol() {
    let (gateway, _) = gateway(servers(), &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let one = json!({"tool_name": "close_issue", "format": "json"});
    let text = client.text("get_tool_description", one).await;
    let one: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(one["name"], "github__close_issue");
    assert_eq!(one["parameters"][0]["name"], "text");
    let several = json!({"tool_names": ["close_issue", "close_isue"], "format": "json"});
    let text = client.text("get_tool_description", several).await;
    let several: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(several[0], one);
    assert_eq!(several[1]["nearest"][0], "github__close_issue");
    let wrong = json!({"tool_name": "close_issue", "format": "yaml"});
    let wrong = client.call("get_tool_description", wrong).await;
    assert_eq!(wrong["structuredContent"]["field"], "format");
    let list = client
        .text("list_available_tools", json!({"category": "github"}))
        .await;
    assert!(
        list.ends_with("From server `github`:\n> I am github."),
        "{list}"
    );
}

#[tokio::test]
async fn r_gate_05_errors_for_models_name_no_commands() {
    let (gateway, _) = gateway(servers(), &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    for (tool, arguments) in [
        (
            "call_tool",
            json!({"tool_name": "close_isue", "arguments": {}}),
        ),
        (
            "call_tool",
            json!({"tool_name": "nothing/x", "arguments": {}}),
        ),
        (
            "call_tool",
            json!({"tool_name": "close_issue", "arguments": {"text": 7}}),
        ),
        ("get_tool_description", json!({"tool_name": "close_isue"})),
    ] {
        let refused = client.call(tool, arguments.clone()).await;
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(!refused.to_string().contains("`pegboard"), "{refused}");
    }
    let params = json!({"name": "close_isue", "arguments": {}});
    let error = client.error("tools/call", params).await;
    assert!(!error.to_string().contains("`pegboard"), "{error}");
}

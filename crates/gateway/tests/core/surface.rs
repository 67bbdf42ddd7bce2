//! The listed tools, byte for byte.

use pegboard_gateway::{Gateway, Mode, Profile, fixed_surface};
use serde_json::json;

use crate::client::{Client, gateway, names, profile, settings};
use crate::fake::{Server, hub, specs};

async fn bytes(client: &Client, method: &str) -> String {
    let (bytes, status) = client.bytes(json!(1), method, json!({})).await.unwrap();
    assert_eq!(status, 200);
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn r_ctx_07_the_fixed_surface_is_these_bytes() {
    let (gateway, _) = gateway(vec![Server::new("github", &["search"])], &[]).await;
    let modern = Client::modern(&gateway, "", json!({}));
    insta::assert_snapshot!("tools_list", bytes(&modern, "tools/list").await);
    insta::assert_snapshot!("discover", bytes(&modern, "server/discover").await);
    let silent = Client::silent(gateway.begin("").unwrap());
    let opening = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let (response, _) = silent.bytes(json!(1), "initialize", opening).await.unwrap();
    insta::assert_snapshot!("initialize", String::from_utf8(response.to_vec()).unwrap());
}

#[tokio::test]
async fn r_ctx_07_servers_that_come_and_go_do_not_change_the_fixed_surface() {
    let (gateway, _) = gateway(vec![Server::new("github", &["search"])], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let methods = ["tools/list", "server/discover"];
    let mut before = Vec::new();
    for method in methods {
        before.push(bytes(&client, method).await);
    }
    let more = specs(&[
        Server::new("github", &[]),
        Server::new("more", &[]),
        Server::new("x", &[]),
    ]);
    gateway.hub().apply(more).await;
    gateway.hub().apply(Vec::new()).await;
    for (method, before) in methods.iter().zip(before) {
        assert_eq!(bytes(&client, method).await, before, "{method}");
    }
}

/// Counts everything that a client receives, including annotations and `_meta`, which no model reads.
#[tokio::test]
async fn r_gate_02_r_ctx_06_the_fixed_surface_has_at_most_400_tokens() {
    let tokens = tiktoken_rs::o200k_base()
        .unwrap()
        .encode_ordinary(&fixed_surface())
        .len();
    assert!(tokens <= 400, "{tokens} tokens");
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let list = client.result("tools/list", json!({})).await;
    let output = client.result("server/discover", json!({})).await;
    let sent = format!(
        "{}\n{}",
        list["tools"],
        output["instructions"].as_str().unwrap()
    );
    assert_eq!(sent, fixed_surface(), "what is counted is what is sent");
}

#[tokio::test]
async fn r_gate_05_every_meta_tool_stays_visible_beside_a_clients_own_tool_search() {
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let list = client.result("tools/list", json!({})).await;
    for tool in list["tools"].as_array().unwrap() {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true, "{tool}");
        let is_call = tool["name"] == "call_tool";
        let hint = tool["annotations"].get("readOnlyHint");
        assert_eq!(hint.is_none(), is_call, "{tool}");
    }
}

/// Codex shows models an object without properties as `{}`, but keeps `additionalProperties`.
#[tokio::test]
async fn r_gate_05_the_arguments_of_a_call_may_be_any_object() {
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let list = client.result("tools/list", json!({})).await;
    for at in [3, 4] {
        let schema = &list["tools"][at]["inputSchema"];
        let any = json!({"type": "object", "additionalProperties": true});
        assert_eq!(schema["properties"]["arguments"], any, "{schema}");
    }
}

#[tokio::test]
async fn r_gate_05_the_instructions_say_what_is_true_in_each_mode() {
    let pinned = Profile {
        pinned: vec!["a/one".to_owned()],
        ..Profile::default()
    };
    let profiles = [
        ("pinned", pinned),
        ("direct", profile(&[], Mode::Direct)),
        ("both", profile(&[], Mode::Both)),
    ];
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &profiles).await;
    for (profile, has_meta_tools, has_listed_tools) in [
        ("", true, false),
        ("pinned", true, true),
        ("both", true, true),
        ("direct", false, true),
    ] {
        let client = Client::modern(&gateway, profile, json!({}));
        let output = client.result("server/discover", json!({})).await;
        let output = output["instructions"].as_str().unwrap();
        assert_eq!(
            output.contains("search_tools"),
            has_meta_tools,
            "{profile}: {output}"
        );
        let names_listed = output.contains("directly by name") || output.contains("server__tool");
        assert_eq!(names_listed, has_listed_tools, "{profile}: {output}");
    }
}

#[tokio::test]
async fn r_gate_02_modes_and_pins_determine_the_listed_tools() {
    let servers = vec![
        Server::new("a", &["one", "two"]),
        Server::new("b", &["three"]),
    ];
    let pinned = |mode| Profile {
        pinned: vec!["a/t*".to_owned()],
        mode,
        ..Profile::default()
    };
    let profiles = [
        ("pinned", pinned(Mode::Lazy)),
        ("direct", profile(&[], Mode::Direct)),
        ("both", profile(&["b"], Mode::Both)),
    ];
    let (gateway, _) = gateway(servers, &profiles).await;
    let meta = [
        "search_tools",
        "list_available_tools",
        "get_tool_description",
        "call_tool",
        "call_readonly_tool",
    ];
    let expect = |tools: &[&str], with_meta: bool| -> Vec<String> {
        let meta = meta.iter().filter(|_| with_meta);
        meta.chain(tools).map(|name| (*name).to_owned()).collect()
    };
    for (profile, expected) in [
        ("", expect(&[], true)),
        ("pinned", expect(&["a__two"], true)),
        ("direct", expect(&["a__one", "a__two", "b__three"], false)),
        ("both", expect(&["b__three"], true)),
    ] {
        let client = Client::modern(&gateway, profile, json!({}));
        let list = client.result("tools/list", json!({})).await;
        assert_eq!(names(&list), expected, "{profile}");
    }
}

#[tokio::test]
async fn r_reg_04_a_listed_definition_is_the_servers_own_under_our_name() {
    let servers = vec![Server::new("a", &["one"])];
    let pass = Profile {
        prefix: false,
        ..profile(&["a"], Mode::Direct)
    };
    let profiles = [("direct", profile(&[], Mode::Direct)), ("pass", pass)];
    let (gateway, _) = gateway(servers, &profiles).await;
    let list = |profile| {
        let client = Client::modern(&gateway, profile, json!({}));
        async move { bytes(&client, "tools/list").await }
    };
    let own = crate::fake::tool("one").to_string();
    assert!(list("pass").await.contains(&own), "byte for byte");
    let renamed = own.replacen(r#""name":"one""#, r#""name":"a__one""#, 1);
    assert!(list("direct").await.contains(&renamed));
}

#[tokio::test]
async fn a_profile_of_one_server_without_prefix_speaks_as_that_server() {
    let pass = Profile {
        prefix: false,
        ..profile(&["a"], Mode::Direct)
    };
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[("pass", pass)]).await;
    let client = Client::modern(&gateway, "pass", json!({}));
    let discovered = client.result("server/discover", json!({})).await;
    assert_eq!(discovered["instructions"], "I am a.");
    assert_eq!(
        discovered["capabilities"]["resources"],
        json!({"subscribe": true})
    );
    assert!(discovered["capabilities"].get("logging").is_none());
    assert_eq!(
        client.text("one", json!({"text": "x"})).await,
        r#"one {"text":"x"}"#
    );
    let unknown = client
        .error("tools/call", json!({"name": "search_tools"}))
        .await;
    assert_eq!(unknown["code"], -32602);
}

#[tokio::test]
async fn profiles_can_be_replaced_while_clients_are_there() {
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    assert_eq!(
        names(&client.result("tools/list", json!({})).await).len(),
        5
    );
    let direct = profile(&[], Mode::Direct);
    gateway.set_profiles([(String::new(), direct)].into());
    assert_eq!(
        names(&client.result("tools/list", json!({})).await),
        ["a__one"]
    );
    assert!(!gateway.has_profile("x"));
    assert!(gateway.begin("x").is_none());
}

#[tokio::test]
async fn r_sec_01_models_read_no_hidden_characters_in_definitions() {
    let mut server = Server::new("a", &["one"]);
    let description = "Adds.\u{e0049}\u{e0067}\u{202e}\u{1d173}";
    server.tools[0]["description"] = description.into();
    server.tools[0]["inputSchema"]["properties"]["text"]["title"] = "T\u{200b}".into();
    server.prompts = vec![json!({"name": "p", "description": "P\u{e0041}"})];
    let profiles = [("direct", profile(&[], Mode::Direct))];
    let (hub, _) = hub(vec![server]).await;
    hub.ensure_known().await;
    // The scanner holds such texts back until a person accepts them.
    assert!(hub.catalog().find("a__one").is_err());
    for review in hub.reviews() {
        hub.decide_review(&review.subject, true, "test")
            .await
            .unwrap();
    }
    let before = hub
        .catalog()
        .find("a__one")
        .unwrap()
        .definition()
        .to_owned();
    assert!(before.contains(description), "the original is kept");
    let gateway = Gateway::new(hub, settings(&profiles));
    let client = Client::modern(&gateway, "direct", json!({}));
    let list = client.result("tools/list", json!({})).await;
    assert_eq!(
        list["tools"][0]["description"],
        "Adds.\\u{e0049}\\u{e0067}\\u{202e}\\u{1d173}"
    );
    assert_eq!(
        list["tools"][0]["inputSchema"]["properties"]["text"]["title"],
        "T\\u{200b}"
    );
    let prompts = client.result("prompts/list", json!({})).await;
    assert_eq!(prompts["prompts"][0]["description"], "P\\u{e0041}");
    let lazy = Client::modern(&gateway, "", json!({}));
    let full = lazy
        .text("search_tools", json!({"query": "a__one", "detail": "full"}))
        .await;
    let is_hidden = |c: char| matches!(u32::from(c), 0x200b | 0x202e | 0x1d173 | 0xe0000..=0xe0fff);
    assert!(
        !full.contains(is_hidden) && full.contains("T\\\\u{200b}"),
        "{full}"
    );
}

//! Prompts, resources and completion of many servers.

use pegboard_model::{Reason, RpcError, ToolError};
use serde_json::json;

use crate::client::{Client, gateway};
use crate::fake::Server;

fn server(name: &'static str) -> Server {
    let mut server = Server::new(name, &[]);
    server.prompts = vec![json!({"name": "greet", "title": "T", "x": 1.0})];
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    server
}

#[tokio::test]
async fn r_gate_03_prompts_and_resources_are_listed_with_their_server_and_reach_it_without() {
    let (gateway, all) = gateway(vec![server("a"), server("b")], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let started = all.starts.load(std::sync::atomic::Ordering::SeqCst);
    let prompts = client.result("prompts/list", json!({})).await;
    assert_eq!(
        prompts["prompts"][1],
        json!({"name": "b__greet", "title": "T", "x": 1.0})
    );
    let resources = client.result("resources/list", json!({})).await;
    assert_eq!(resources["resources"][0]["uri"], "pegboard://a/test://x");
    assert_eq!(
        client.result("resources/templates/list", json!({})).await["resourceTemplates"],
        json!([])
    );
    assert_eq!(
        all.starts.load(std::sync::atomic::Ordering::SeqCst),
        started,
        "nothing was started"
    );

    let params = json!({"name": "b__greet", "arguments": {"who": "Ada"}});
    let got = client.result("prompts/get", params).await;
    assert_eq!(got["method"], "prompts/get");
    assert_eq!(
        got["members"],
        json!({"name": "greet", "arguments": {"who": "Ada"}})
    );
    assert_eq!(got["resultType"], "complete");
    let read = client
        .result("resources/read", json!({"uri": "pegboard://b/test://x"}))
        .await;
    assert_eq!(read["members"], json!({"uri": "test://x"}));
    assert_eq!(
        read["cacheScope"], "private",
        "a legacy server gives no hint: {read}"
    );
    let complete = json!({"ref": {"type": "ref/prompt", "name": "a__greet"}, "argument": {"name": "who", "value": "A"}});
    let completed = client.result("completion/complete", complete).await;
    assert_eq!(
        completed["members"]["ref"],
        json!({"type": "ref/prompt", "name": "greet"})
    );
    assert_eq!(completed["members"]["argument"]["value"], "A");
}

#[tokio::test]
async fn unknown_resources_are_named_and_a_servers_error_is_forwarded() {
    let refusing = server("a").on_request(|_, _, _| async {
        let rpc = RpcError {
            code: -32055,
            message: "not today".into(),
            data: Some("[1]".into()),
        };
        Err(ToolError::new(Reason::ServerError, "it refused").with_rpc(rpc))
    });
    let (gateway, _) = gateway(vec![refusing], &[]).await;
    let modern = Client::modern(&gateway, "", json!({}));
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    let missing = json!({"uri": "test://nothing"});
    assert_eq!(
        modern.error("resources/read", missing.clone()).await["code"],
        -32602
    );
    let error = legacy.error("resources/read", missing).await;
    assert_eq!(error["code"], -32002);
    assert_eq!(error["data"]["uri"], "test://nothing");
    let error = modern
        .error("prompts/get", json!({"name": "a__greeet"}))
        .await;
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["nearest"][0], "a__greet");
    let error = modern.error("prompts/get", json!({"name": "greet"})).await;
    assert_eq!(
        error,
        json!({"code": -32055, "message": "not today", "data": [1]})
    );
}

#[tokio::test]
async fn r_gate_03_members_of_a_legacy_result_are_not_added_twice() {
    let reads = |result: serde_json::Value| {
        server("a").on_request(move |_, _, _| {
            let result = crate::fake::outcome(result.clone());
            async move { Ok(result) }
        })
    };
    for result in [
        json!({"resultType": "complete", "ttlMs": 5, "contents": []}),
        json!({"resultType": "complete", "ttlMs": 5, "cacheScope": "public"}),
        json!({"contents": [{"text": "resultType"}]}),
        json!({}),
    ] {
        let (gateway, _) = gateway(vec![reads(result.clone())], &[]).await;
        let client = Client::modern(&gateway, "", json!({}));
        let uri = json!({"uri": "pegboard://a/test://x"});
        let response = client.bytes(json!(1), "resources/read", uri).await;
        let response = String::from_utf8(response.unwrap().0.to_vec()).unwrap();
        for key in ["resultType", "ttlMs", "cacheScope"] {
            let member = format!("\"{key}\":");
            assert_eq!(response.matches(&member).count(), 1, "{key}: {response}");
        }
        let response: serde_json::Value = serde_json::from_str(&response).unwrap();
        for (key, value) in result.as_object().unwrap() {
            assert_eq!(&response["result"][key], value, "{response}");
        }
    }
}

#[tokio::test]
async fn r_sec_06_a_template_for_everything_claims_no_uri_without_a_server() {
    let mut greedy = server("evil");
    greedy.templates = vec![json!({"name": "all", "uriTemplate": "{+any}"})];
    let (gateway, _) = gateway(vec![greedy, server("a")], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let error = client
        .error("resources/read", json!({"uri": "file:///etc/shadow"}))
        .await;
    assert_eq!(error["data"]["reason"], "RESOURCE_UNKNOWN", "{error}");
    let named = json!({"uri": "pegboard://evil/file:///x"});
    let read = client.result("resources/read", named).await;
    assert_eq!(read["members"], json!({"uri": "file:///x"}));
    let unlisted = json!({"uri": "pegboard://a/file:///etc/shadow"});
    let error = client.error("resources/read", unlisted).await;
    assert_eq!(error["data"]["reason"], "RESOURCE_UNKNOWN", "{error}");
}

#[tokio::test]
async fn r_sec_10_a_request_with_a_key_twice_is_refused() {
    let (gateway, _) = gateway(vec![server("a")], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params =
        format!(r#"{{"name":"a__greet","arguments":{{"who":"Ada","who":"Eve"}},"_meta":{meta}}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{params}}}"#);
    let message = pegboard_gateway::Message::parse(message.into())
        .ok()
        .unwrap();
    let conversation = client.conversation.clone();
    let response = conversation.handle(message, client.inbox.clone()).await;
    let response = String::from_utf8(response.unwrap().into_bytes().to_vec()).unwrap();
    assert!(response.contains("duplicate key"), "{response}");
}

//! `tools/call` in both eras: names, errors, progress, logging, cancelling.

use std::sync::Arc;

use pegboard_gateway::Mode;
use pegboard_model::{Reason, RpcError, ToolError};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use crate::client::{Client, gateway, profile};
use crate::fake::{Server, text};

fn raw(value: serde_json::Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

#[tokio::test]
async fn r_reg_02_an_unknown_tool_is_a_protocol_error_with_the_nearest_names() {
    let (gateway, _) = gateway(vec![Server::new("a", &["close_issue"])], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let error = client
        .error("tools/call", json!({"name": "a__close_isue"}))
        .await;
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["nearest"][0], "a__close_issue");
}

#[tokio::test]
async fn r_gate_02_a_profile_hides_the_other_servers_from_calls_too() {
    let servers = vec![Server::new("a", &["one"]), Server::new("b", &["two"])];
    let (gateway, _) = gateway(servers, &[("a", profile(&["a"], Mode::Lazy))]).await;
    let client = Client::modern(&gateway, "a", json!({}));
    assert_eq!(
        client.text("a__one", json!({"text": "x"})).await,
        r#"one {"text":"x"}"#
    );
    for name in ["b__two", "b/two", "two", "a__two"] {
        let error = client
            .error(
                "tools/call",
                json!({"name": name, "arguments": {"text": "x"}}),
            )
            .await;
        assert_eq!(error["code"], -32602, "{name}");
        let nearest = error["data"]["nearest"].to_string();
        assert!(!nearest.contains("b__two"), "{name}: {error}");
        let result = client
            .call(
                "call_tool",
                json!({"tool_name": name, "arguments": {"text": "x"}}),
            )
            .await;
        assert_eq!(result["isError"], true, "{name}");
    }
    let found = client.text("search_tools", json!({"query": "two"})).await;
    assert!(!found.contains("b__two"), "{found}");
}

#[tokio::test]
async fn a_servers_own_protocol_error_is_passed_on() {
    let server = Server::new("a", &["one"]).on_call(|_, _, _| async {
        let rpc = RpcError {
            code: -32042,
            message: "open this".into(),
            data: Some(r#"{"elicitations":[{"mode":"url","url":"https://x.example/"}]}"#.into()),
        };
        Err(ToolError::new(Reason::ServerError, "it refused").with_rpc(rpc))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    for params in [
        json!({"name": "a__one", "arguments": {"text": "x"}}),
        json!({"name": "call_tool", "arguments": {"tool_name": "a__one", "arguments": {"text": "x"}}}),
    ] {
        let error = client.error("tools/call", params).await;
        assert_eq!(error["code"], -32042);
        assert_eq!(error["data"]["elicitations"][0]["mode"], "url");
    }
}

#[tokio::test]
async fn trouble_with_a_server_is_a_result_with_our_codes() {
    let server = Server::new("a", &["one"])
        .on_call(|_, _, _| async { Err(ToolError::new(Reason::CallTimeout, "it took too long")) });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let result = client.call("a__one", json!({"text": "x"})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["code"], "TOOL_UNAVAILABLE");
    assert_eq!(result["structuredContent"]["reason"], "CALL_TIMEOUT");
    assert_eq!(result["structuredContent"]["retryable"], true);
}

#[tokio::test]
async fn r_gate_03_progress_comes_with_the_clients_own_token() {
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let caller = options.caller.unwrap();
        assert!(caller.wants_progress());
        caller.progress(&raw(
            json!({"progressToken": 99, "progress": 1, "total": 2.50, "message": "half"}),
        ));
        Ok(text("done"))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let modern = Client::modern(&gateway, "", json!({}));
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    for client in [modern, legacy] {
        let params = json!({"name": "a__one", "arguments": {"text": "x"}, "_meta": {"progressToken": "mine"}});
        client.result("tools/call", params).await;
        let received = client.inbox.of("notifications/progress");
        assert_eq!(received.len(), 1);
        let expected =
            json!({"progressToken": "mine", "progress": 1, "total": 2.5, "message": "half"});
        assert_eq!(received[0]["params"], expected);
    }
}

#[tokio::test]
async fn r_gate_03_log_messages_reach_clients_that_requested_them() {
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let level = options
            .meta
            .as_ref()
            .and_then(|meta| meta.get("io.modelcontextprotocol/logLevel").cloned());
        let caller = options.caller.unwrap();
        for level in ["debug", "warning", "error"] {
            caller.message(&raw(json!({"level": level, "data": level})));
        }
        Ok(text(&format!("{level:?}")))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let params = |level: Option<&str>| {
        let mut params = json!({"name": "a__one", "arguments": {"text": "x"}, "_meta": {}});
        if let Some(level) = level {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = level.into();
        }
        params
    };
    let silent = Client::modern(&gateway, "", json!({}));
    silent.result("tools/call", params(None)).await;
    assert!(
        silent.inbox.all().is_empty(),
        "a modern client asks for each request"
    );
    let modern = Client::modern(&gateway, "", json!({}));
    modern.result("tools/call", params(Some("warning"))).await;
    assert_eq!(modern.inbox.of("notifications/message").len(), 2);
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    legacy.result("tools/call", params(None)).await;
    assert_eq!(legacy.inbox.of("notifications/message").len(), 3);
    legacy
        .result("logging/setLevel", json!({"level": "error"}))
        .await;
    let received = legacy.result("tools/call", params(None)).await;
    assert!(
        received["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("error"),
        "the server gets the level: {received}"
    );
    assert_eq!(legacy.inbox.of("notifications/message").len(), 4);
    assert_eq!(
        legacy
            .error("logging/setLevel", json!({"level": "loud"}))
            .await["code"],
        -32602
    );
}

#[tokio::test]
async fn r_gate_03_trace_context_travels_on_and_baggage_does_not() {
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        Ok(text(&serde_json::to_string(&options.meta).unwrap()))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let meta = json!({"traceparent": "00-1-2-01", "tracestate": "a=b", "baggage": "secret=1", "com.example/x": [1]});
    let params = json!({"name": "a__one", "arguments": {"text": "x"}, "_meta": meta});
    let result = client.result("tools/call", params).await;
    let seen = result["content"][0]["text"].as_str().unwrap();
    let expected = json!({"traceparent": "00-1-2-01", "tracestate": "a=b", "com.example/x": [1]});
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(seen).unwrap(),
        expected
    );
}

/// Sends a signal when dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.take().unwrap().send(());
    }
}

#[tokio::test]
async fn r_gate_03_a_cancelled_request_ends_at_the_server_and_has_no_response() {
    let (sender, ended) = oneshot::channel();
    let (sender, begun) = (
        Arc::new(std::sync::Mutex::new(Some(sender))),
        Arc::new(Notify::new()),
    );
    let started = begun.clone();
    let server = Server::new("a", &["one"]).on_call(move |_, _, _| {
        let (guard, started) = (Dropped(sender.lock().unwrap().take()), started.clone());
        async move {
            let _guard = guard;
            started.notify_one();
            std::future::pending().await
        }
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let params = json!({"name": "a__one", "arguments": {"text": "x"}});
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.bytes(json!("c1"), "tools/call", params).await });
    begun.notified().await;
    client.notify(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c1"}}));
    assert!(call.await.unwrap().is_none(), "nothing is answered");
    ended.await.unwrap();
}

#[tokio::test]
async fn requests_of_neither_era_and_unknown_methods_are_refused_with_the_right_status() {
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let silent = Client::silent(gateway.begin("").unwrap());
    let status = |response: (bytes::Bytes, u16)| {
        let value: serde_json::Value = serde_json::from_slice(&response.0).unwrap();
        (value["error"]["code"].as_i64().unwrap(), response.1)
    };
    let no_era = silent
        .bytes(json!(1), "tools/list", json!({}))
        .await
        .unwrap();
    assert_eq!(status(no_era), (-32602, 400));
    let modern = Client::modern(&gateway, "", json!({}));
    let unknown = modern
        .bytes(json!(1), "tools/dance", json!({}))
        .await
        .unwrap();
    assert_eq!(status(unknown), (-32601, 404));
    let ping = modern.bytes(json!(1), "ping", json!({})).await.unwrap();
    assert_eq!(status(ping), (-32601, 404));
    let future = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}});
    let future = silent.bytes(json!(1), "tools/list", future).await.unwrap();
    let received: serde_json::Value = serde_json::from_slice(&future.0).unwrap();
    assert_eq!(received["error"]["data"]["supported"][0], "2026-07-28");
    assert_eq!(status(future), (-32022, 400));
    let bare = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let bare = silent.bytes(json!(1), "tools/list", bare).await.unwrap();
    assert_eq!(status(bare), (-32602, 400));
    let cursor = modern
        .bytes(json!(1), "tools/list", json!({"cursor": "x"}))
        .await
        .unwrap();
    assert_eq!(status(cursor), (-32602, 200));
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    let unknown = legacy
        .bytes(json!(1), "tools/dance", json!({}))
        .await
        .unwrap();
    assert_eq!(status(unknown), (-32601, 200));
    assert_eq!(legacy.result("ping", json!({})).await, json!({}));
}

#[tokio::test]
async fn many_clients_start_one_process() {
    let (hub, all) = crate::fake::hub(vec![Server::new("a", &["one"])]).await;
    let gateway = crate::client::over(hub);
    let calls = (0..50).map(|_| {
        let client = Client::modern(&gateway, "", json!({}));
        async move { client.text("a__one", json!({"text": "x"})).await }
    });
    let said = futures_util::future::join_all(calls).await;
    assert!(
        said.iter().all(|said| said == r#"one {"text":"x"}"#),
        "{said:?}"
    );
    assert_eq!(all.starts.load(std::sync::atomic::Ordering::SeqCst), 1);
}

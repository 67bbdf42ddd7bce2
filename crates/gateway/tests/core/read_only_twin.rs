//! `call_readonly_tool`: the twin of `call_tool` that clients may run without a confirmation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pegboard_gateway::Gateway;
use pegboard_model::{Policy, ServerSpec};
use serde_json::{Value, json};

use crate::client::{Client, gateway};
use crate::fake::{Server, specs, text};

/// A server with a tool for each way to annotate one, and a counter of its calls.
fn server() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let names = ["look", "plain", "write", "drop", "both"];
    let mut server = Server::new("a", &names).on_call(move |tool, _, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok(text(&format!("ran {tool}"))) }
    });
    server.tools[0]["annotations"] = json!({"readOnlyHint": true});
    server.tools[2]["annotations"] = json!({"readOnlyHint": false});
    server.tools[3]["annotations"] = json!({"destructiveHint": true});
    server.tools[4]["annotations"] = json!({"readOnlyHint": true, "destructiveHint": true});
    (server, calls)
}

fn call(tool: &str) -> Value {
    json!({"tool_name": tool, "arguments": {"text": "x"}})
}

async fn with_policy(server: Server, tool: &str, policy: Policy) -> Gateway {
    let mut specs: Vec<ServerSpec> = specs(std::slice::from_ref(&server));
    specs[0].policies.insert(tool.to_owned(), policy);
    let (gateway, _) = gateway(vec![server], &[]).await;
    gateway.hub().apply(specs).await;
    gateway
}

#[tokio::test]
async fn r_gate_05_it_runs_tools_marked_read_only_and_refuses_all_others() {
    let (server, calls) = server();
    let (gateway, _) = gateway(vec![server], &[]).await;
    for client in [
        Client::modern(&gateway, "", json!({})),
        Client::legacy(&gateway, "", json!({})).await,
    ] {
        calls.store(0, Ordering::SeqCst);
        assert_eq!(
            client.text("call_readonly_tool", call("a__look")).await,
            "ran look"
        );
        for tool in ["a__plain", "a__write", "a__drop", "a__both"] {
            let refused = client.call("call_readonly_tool", call(tool)).await;
            let output = refused["content"][0]["text"].as_str().unwrap();
            assert_eq!(
                refused["structuredContent"]["reason"], "TOOL_NOT_READ_ONLY",
                "{output}"
            );
            assert!(
                output.contains(tool) && output.contains("`call_tool`"),
                "{output}"
            );
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1, "nothing else ran");
        assert_eq!(
            client.text("call_tool", call("a__plain")).await,
            "ran plain"
        );
    }
}

/// A model corrects the name of the meta tool before it corrects arguments.
#[tokio::test]
async fn r_gate_05_it_refuses_a_tool_before_it_reads_its_arguments() {
    let (gateway, _) = gateway(vec![server().0], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let wrong = json!({"tool_name": "a__write", "arguments": {}});
    let refused = client.call("call_readonly_tool", wrong).await;
    assert_eq!(refused["structuredContent"]["reason"], "TOOL_NOT_READ_ONLY");
}

#[tokio::test]
async fn r_gate_05_r_pol_01_the_mark_leads_past_no_policy() {
    for (policy, reason) in [
        (Policy::Deny, "POLICY_DENIED"),
        (Policy::Disable, "TOOL_DISABLED"),
    ] {
        let (server, calls) = server();
        let gateway = with_policy(server, "look", policy).await;
        let client = Client::modern(&gateway, "", json!({}));
        let refused = client.call("call_readonly_tool", call("a__look")).await;
        assert_eq!(refused["structuredContent"]["reason"], reason, "{refused}");
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
    let (server, calls) = server();
    let gateway = with_policy(server, "look", Policy::Ask).await;
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let decline = async {
        let question = client.inbox.wait("elicitation/create").await;
        let result = json!({"action": "decline"});
        client.notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    };
    let call = client.call("call_readonly_tool", call("a__look"));
    let (refused, ()) = tokio::join!(call, decline);
    assert_eq!(refused["structuredContent"]["reason"], "APPROVAL_REFUSED");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_gate_05_it_runs_the_other_meta_tools_that_read() {
    let (gateway, _) = gateway(vec![server().0], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let params = json!({"tool_name": "search_tools", "arguments": {"query": "a__look"}});
    let found = client.text("call_readonly_tool", params).await;
    assert!(found.contains("a__look"), "{found}");
    for inner in ["call_tool", "call_readonly_tool"] {
        let nested = json!({"tool_name": inner, "arguments": call("a__write")});
        let refused = client.call("call_readonly_tool", nested).await;
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let misread = client.call("call_readonly_tool", json!({})).await;
    let output = misread["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("call_readonly_tool(tool_name"), "{output}");
}

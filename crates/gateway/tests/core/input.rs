//! Input that servers request from clients, for all pairs of eras.

use pegboard_model::Reason;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::client::{Client, gateway, over};
use crate::fake::{Server, hub, outcome, text};

const ASKS: &str = "elicitation/create";

fn raw(value: Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// A legacy server that requests input twice during a call.
fn legacy_server() -> Server {
    Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let caller = options.caller.unwrap();
        let mut output = Vec::new();
        for question in ["name?", "age?"] {
            let params = raw(json!({"message": question}));
            output.push(match caller.send_request(ASKS, Some(&params)).await {
                Ok(response) => response.get().to_owned(),
                Err(error) => format!("refused {}", error.code),
            });
        }
        Ok(text(&output.join(" ")))
    })
}

/// A modern server that requires two inputs in two rounds and uses `requestState`.
fn modern_server() -> Server {
    Server::new("a", &["one"]).modern().on_call(|_, _, options| async move {
        let wants = |key: &str, state: &str| {
            let question = json!({"method": ASKS, "params": {"message": key}});
            json!({"resultType": "input_required", "inputRequests": {key: question}, "requestState": state})
        };
        let capabilities = options.caller.unwrap().capabilities().as_str().to_owned();
        Ok(match options.input {
            None => outcome(wants("name", "s1")),
            Some(input) => match input.state.as_ref().map(|state| state.get().to_owned()).as_deref() {
                Some("\"s1\"") => {
                    assert!(input.responses.get().contains("Ada"), "{}", input.responses);
                    outcome(wants("age", "s2"))
                }
                Some("\"s2\"") => text(&format!("{} {capabilities}", input.responses)),
                other => text(&format!("bad state {other:?}")),
            },
        })
    })
}

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"v": value}})
}

fn input_required() -> Value {
    json!({"name": "a__one", "arguments": {"text": "x"}})
}

/// Calls, responds to each round's input requests by their message, and returns the last result and all states.
async fn until_done(client: &Client, answers: &[(&str, &str)]) -> (Value, Vec<Value>) {
    let (mut params, mut states) = (input_required(), Vec::new());
    for _ in 0..10 {
        let result = client.result("tools/call", params.clone()).await;
        if result["resultType"] != "input_required" {
            return (result, states);
        }
        let mut responses = json!({});
        for (key, question) in result["inputRequests"].as_object().unwrap() {
            assert_eq!(question["method"], ASKS);
            let message = question["params"]["message"].as_str().unwrap();
            let is_it = |asked: &str| message == format!("Server `a` asks: {asked}");
            let response = answers.iter().find(|(asked, _)| is_it(asked)).unwrap();
            responses[key] = accept(response.1);
        }
        params = input_required();
        params["inputResponses"] = responses;
        params["requestState"] = result["requestState"].clone();
        states.push(result["requestState"].clone());
    }
    panic!("it never ended");
}

/// Responds to the two requests of a call as they arrive.
async fn answer_both(client: &Client) {
    for (n, value) in ["Ada", "36"].iter().enumerate() {
        pegboard_testkit::wait_until("a question", std::time::Duration::from_secs(30), || {
            client.inbox.of(ASKS).len() > n
        })
        .await;
        let question = client.inbox.of(ASKS).remove(n);
        client.notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(value)}));
    }
}

#[tokio::test]
async fn r_gate_03_a_legacy_client_answers_a_legacy_server() {
    let (gateway, _) = gateway(vec![legacy_server()], &[]).await;
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let (result, ()) = tokio::join!(
        client.result("tools/call", input_required()),
        answer_both(&client)
    );
    let output = result["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("Ada") && output.contains("36"), "{output}");
}

#[tokio::test]
async fn r_gate_03_a_legacy_client_answers_a_modern_server() {
    let (gateway, _) = gateway(vec![modern_server()], &[]).await;
    let client = Client::legacy(
        &gateway,
        "",
        json!({"elicitation": {"form": {}}, "tasks": {}}),
    )
    .await;
    let (result, ()) = tokio::join!(
        client.result("tools/call", input_required()),
        answer_both(&client)
    );
    let output = result["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("36"), "{output}");
    assert!(
        output.ends_with(r#"{"elicitation":{"form":{}}}"#),
        "tasks are not promised: {output}"
    );
}

#[tokio::test]
async fn r_gate_03_a_modern_client_answers_a_modern_server_and_the_state_is_sealed() {
    let (gateway, _) = gateway(vec![modern_server()], &[]).await;
    let client = Client::modern(&gateway, "", json!({"elicitation": {}}));
    let (result, states) = until_done(&client, &[("name", "Ada"), ("age", "36")]).await;
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("36"),
        "{result}"
    );
    assert_eq!(states.len(), 2);
    assert_ne!(states[0], "s1", "the server's own state is not shown");

    let mut forged = input_required();
    forged["requestState"] = "s1".into();
    forged["inputResponses"] = json!({});
    assert_eq!(
        client.error("tools/call", forged.clone()).await["code"],
        -32602
    );
    forged["requestState"] = states[0].clone();
    forged["arguments"]["text"] = "another request".into();
    assert_eq!(client.error("tools/call", forged).await["code"], -32602);
}

#[tokio::test]
async fn r_gate_03_a_modern_client_answers_a_legacy_server_whose_call_waits() {
    let (gateway, _) = gateway(vec![legacy_server()], &[]).await;
    let client = Client::modern(&gateway, "", json!({"elicitation": {}}));
    let (result, states) = until_done(&client, &[("name?", "Ada"), ("age?", "36")]).await;
    let output = result["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("Ada") && output.contains("36"), "{output}");
    assert_eq!(
        result["resultType"], "complete",
        "a modern client needs it: {result}"
    );
    let mut again = input_required();
    again["requestState"] = states[0].clone();
    let gone = client.answer("tools/call", again).await;
    assert!(
        gone.to_string().contains(Reason::InputExpired.code()),
        "{gone}"
    );
}

#[tokio::test]
async fn r_gate_03_progress_after_a_question_goes_to_the_request_that_went_on() {
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let caller = options.caller.unwrap();
        let params = raw(json!({"message": "name?"}));
        let _ = caller.send_request(ASKS, Some(&params)).await;
        caller.progress(&raw(json!({"progressToken": 1, "progress": 1})));
        Ok(text("done"))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let first = Client::modern(&gateway, "", json!({"elicitation": {}}));
    let mut params = input_required();
    params["_meta"] = json!({"progressToken": "first"});
    let asked = first.result("tools/call", params.clone()).await;
    let key = asked["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    params["_meta"] = json!({"progressToken": "second"});
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({key: accept("Ada")});
    let second = Client::modern(&gateway, "", json!({"elicitation": {}}));
    second.result("tools/call", params).await;
    assert!(first.inbox.all().is_empty());
    let received = second.inbox.of("notifications/progress");
    assert_eq!(received[0]["params"]["progressToken"], "second");
}

#[tokio::test]
async fn missing_input_of_a_modern_client_is_requested_again() {
    let (gateway, _) = gateway(vec![legacy_server()], &[]).await;
    let client = Client::modern(&gateway, "", json!({"elicitation": {}}));
    let first = client.result("tools/call", input_required()).await;
    let mut params = input_required();
    params["requestState"] = first["requestState"].clone();
    params["inputResponses"] = json!({});
    let again = client.result("tools/call", params).await;
    assert_eq!(again["inputRequests"], first["inputRequests"]);
}

#[tokio::test]
async fn a_client_without_capabilities_gets_no_input_requests() {
    let (gateway, _) = gateway(vec![legacy_server()], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let result = client.result("tools/call", input_required()).await;
    assert_eq!(
        result["content"][0]["text"],
        "refused -32601 refused -32601"
    );
}

#[tokio::test]
async fn r_gate_03_a_modern_client_answers_a_server_whose_era_was_not_known() {
    let (hub, _) = hub(vec![modern_server()]).await;
    let client = Client::modern(&over(hub), "", json!({"elicitation": {}}));
    let (result, states) = until_done(&client, &[("name", "Ada"), ("age", "36")]).await;
    let output = result["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("36"), "{output}");
    assert_ne!(states[0], "s1", "the state is sealed");
}

#[tokio::test]
async fn r_gate_03_a_legacy_client_is_asked_nothing_that_it_did_not_declare() {
    for method in ["sampling/createMessage", r#"x","id":"r","result":{},"y":""#] {
        let server = Server::new("a", &["one"])
            .modern()
            .on_call(move |_, _, _| async move {
                Ok(outcome(json!({
                    "resultType": "input_required",
                    "inputRequests": {"q": {"method": method, "params": {}}},
                })))
            });
        let (gateway, _) = gateway(vec![server], &[]).await;
        let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
        let calling = client.result("tools/call", input_required());
        let result = tokio::time::timeout(std::time::Duration::from_secs(30), calling).await;
        let result = result.expect("the call does not wait for input");
        assert_eq!(result["isError"], true, "{result}");
        assert!(client.inbox.all().is_empty(), "{:?}", client.inbox.all());
    }
}

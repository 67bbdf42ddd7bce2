//! The response of Chat Completions.

use serde_json::{Value, json};

use super::script::{ModelTurn, new_id};

/// The response of one turn.
pub(super) fn completion(turn: &ModelTurn, model: &str) -> Value {
    let calls = turn.calls.iter().map(|call| {
        let id = call.id.clone().unwrap_or_else(|| new_id("call"));
        json!({
            "id": id, "type": "function",
            "function": {"name": call.name, "arguments": call.arguments()},
        })
    });
    let calls: Vec<Value> = calls.collect();
    let usual = match calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    };
    let is_refusal = turn.stop.as_deref() == Some("refusal");
    let (content, refusal) = match is_refusal {
        true => (None, turn.text.clone()),
        false => (turn.text.clone(), None),
    };
    // A refusal is not a finish reason of its own.
    let stop = turn.stop.as_deref().filter(|_| !is_refusal);
    let mut message = json!({"role": "assistant", "content": content, "refusal": refusal});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": new_id("chatcmpl"), "object": "chat.completion", "created": 1_790_000_000, "model": model,
        "choices": [{
            "index": 0, "message": message, "finish_reason": stop.unwrap_or(usual), "logprobs": null,
        }],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
    })
}

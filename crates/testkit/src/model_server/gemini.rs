//! The response of `generateContent`, which `streamGenerateContent` sends as its only event.

use serde_json::{Value, json};

use super::script::{ModelTurn, new_id};

/// The response of one turn.
pub(super) fn response(turn: &ModelTurn, model: &str) -> Value {
    let thought = turn.thinking.as_ref();
    let thought = thought.map(|text| json!({"text": text, "thought": true}));
    let text = turn.text.as_ref().map(|text| json!({"text": text}));
    let calls = turn.calls.iter().map(|call| {
        let id = call.id.clone().unwrap_or_else(|| new_id("call"));
        let arguments: Value = serde_json::from_str(&call.arguments()).unwrap_or_default();
        json!({"functionCall": {"id": id, "name": call.name, "args": arguments}})
    });
    let parts: Vec<Value> = thought.into_iter().chain(text).chain(calls).collect();
    let stop = turn.stop.as_deref().unwrap_or("STOP");
    json!({
        "responseId": new_id("resp"),
        "modelVersion": model,
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": stop}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 30, "totalTokenCount": 130},
    })
}

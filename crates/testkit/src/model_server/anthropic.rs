//! The events of a Messages stream.

use serde_json::{Value, json};

use super::script::{ModelTurn, new_id, pieces};

/// The events of one turn.
pub(super) fn events(turn: &ModelTurn, model: &str) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 1,
    });
    let message = json!({
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "ping"}),
    ];
    let mut blocks = Blocks::default();
    if let Some(thinking) = &turn.thinking {
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        let mut deltas: Vec<Value> = pieces(thinking)
            .iter()
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": "sealed"}));
        events.extend(blocks.block(start, deltas));
    }
    if let Some(text) = &turn.text {
        let deltas = pieces(text);
        let deltas = deltas
            .iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}));
        events.extend(blocks.block(json!({"type": "text", "text": ""}), deltas.collect()));
    }
    for call in &turn.calls {
        let id = call.id.clone().unwrap_or_else(|| new_id("toolu"));
        let start = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        let deltas = pieces(&call.arguments());
        let deltas = deltas
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        events.extend(blocks.block(start, deltas.collect()));
    }
    if let Some(error) = &turn.error {
        events.push(
            json!({"type": "error", "error": {"type": error, "message": "as the script says"}}),
        );
        return events;
    }
    let usual = match turn.calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    };
    let stop = turn.stop.as_deref().unwrap_or(usual);
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 30},
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The whole message of one turn, for requests without streaming.
pub(super) fn message(turn: &ModelTurn, model: &str) -> Value {
    let thinking = turn.thinking.as_ref();
    let thinking =
        thinking.map(|text| json!({"type": "thinking", "thinking": text, "signature": "sealed"}));
    let text = turn.text.as_ref();
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = turn.calls.iter().map(|call| {
        let id = call.id.clone().unwrap_or_else(|| new_id("toolu"));
        let input: Value = serde_json::from_str(&call.arguments()).unwrap_or(json!({}));
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
    });
    let content: Vec<Value> = thinking.into_iter().chain(text).chain(calls).collect();
    let usual = match turn.calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    };
    json!({
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": turn.stop.as_deref().unwrap_or(usual), "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 30,
        },
    })
}

#[derive(Default)]
struct Blocks(u64);

impl Blocks {
    fn block(&mut self, start: Value, deltas: Vec<Value>) -> Vec<Value> {
        let index = self.0;
        self.0 += 1;
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        let stop = json!({"type": "content_block_stop", "index": index});
        let deltas = deltas
            .into_iter()
            .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
        std::iter::once(start)
            .chain(deltas)
            .chain(std::iter::once(stop))
            .collect()
    }
}

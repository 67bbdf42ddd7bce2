//! The events of a Responses stream.

use serde_json::{Value, json};

use super::script::{ModelTurn, new_id, pieces};

/// The events of one turn.
pub(super) fn events(turn: &ModelTurn, model: &str) -> Vec<Value> {
    let mut events = Events {
        all: Vec::new(),
        items: Vec::new(),
        response: json!({
            "id": new_id("resp"), "object": "response", "created_at": 1_790_000_000, "status": "in_progress",
            "model": model, "output": [], "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": true, "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto",
            "tools": [], "usage": null,
        }),
    };
    let response = events.response.clone();
    events.push("response.created", json!({"response": response}));
    events.push("response.in_progress", json!({"response": response}));
    if let Some(thinking) = &turn.thinking {
        let id = new_id("rs");
        let empty = json!({"type": "reasoning", "id": id, "summary": []});
        let whole = json!({
            "type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": thinking}],
            "encrypted_content": "sealed",
        });
        events.item(empty, whole, |events, place| {
            for piece in pieces(thinking) {
                let delta = json!({"item_id": id, "output_index": place, "summary_index": 0, "delta": piece});
                events.push("response.reasoning_summary_text.delta", delta);
            }
        });
    }
    if let Some(text) = &turn.text {
        let id = new_id("msg");
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        let message = |status: &str, content: Value| json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content});
        let (empty, whole) = (
            message("in_progress", json!([])),
            message("completed", json!([part])),
        );
        events.item(empty, whole, |events, place| {
            let at = json!({"item_id": id, "output_index": place, "content_index": 0});
            let with = |more: Value| merged(&at, more);
            let start = json!({"part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []}});
            events.push("response.content_part.added", with(start));
            for piece in pieces(text) {
                events.push(
                    "response.output_text.delta",
                    with(json!({"delta": piece, "logprobs": []})),
                );
            }
            events.push(
                "response.output_text.done",
                with(json!({"text": text, "logprobs": []})),
            );
            events.push("response.content_part.done", with(json!({"part": part})));
        });
    }
    for call in &turn.calls {
        events.call(call);
    }
    if let Some(query) = &turn.search {
        let (id, call_id) = (new_id("tsc"), new_id("call"));
        let item = |status: &str| {
            json!({
                "type": "tool_search_call", "id": id, "call_id": call_id, "execution": "client", "status": status,
                "arguments": {"query": query},
            })
        };
        events.item(item("in_progress"), item("completed"), |_, _| {});
    }
    events.end(turn);
    events.all
}

/// The whole response of one turn, for requests without streaming.
pub(super) fn response(turn: &ModelTurn, model: &str) -> Value {
    let last = events(turn, model).pop();
    last.map_or(Value::Null, |mut event| event["response"].take())
}

struct Events {
    all: Vec<Value>,
    items: Vec<Value>,
    response: Value,
}

impl Events {
    fn push(&mut self, kind: &str, more: Value) {
        let head = json!({"type": kind, "sequence_number": self.all.len()});
        self.all.push(merged(&head, more));
    }

    fn item(&mut self, empty: Value, whole: Value, between: impl FnOnce(&mut Self, usize)) {
        let place = self.items.len();
        let added = json!({"output_index": place, "item": empty});
        self.push("response.output_item.added", added);
        between(self, place);
        let done = json!({"output_index": place, "item": whole});
        self.push("response.output_item.done", done);
        self.items.push(whole);
    }

    fn call(&mut self, call: &super::ScriptedCall) {
        let (id, arguments) = (new_id("fc"), call.arguments());
        let call_id = call.id.clone().unwrap_or_else(|| new_id("call"));
        let namespace = call.namespace.as_ref();
        let namespace = namespace.map_or(json!({}), |namespace| json!({"namespace": namespace}));
        let item = |status: &str, arguments: &str| {
            let item = json!({
                "type": "function_call", "id": id, "call_id": call_id, "name": call.name, "arguments": arguments,
                "status": status,
            });
            merged(&item, namespace.clone())
        };
        let (empty, whole) = (item("in_progress", ""), item("completed", &arguments));
        let name = call.name.clone();
        let (id, arguments) = (id.clone(), arguments.clone());
        self.item(empty, whole, |events, place| {
            for piece in pieces(&arguments) {
                let delta = json!({"item_id": id, "output_index": place, "delta": piece});
                events.push("response.function_call_arguments.delta", delta);
            }
            let done =
                json!({"item_id": id, "output_index": place, "name": name, "arguments": arguments});
            events.push("response.function_call_arguments.done", done);
        });
    }

    fn end(&mut self, turn: &ModelTurn) {
        let usage = json!({
            "input_tokens": 120, "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0},
            "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 150,
        });
        let (kind, status) = match (&turn.error, &turn.stop) {
            (Some(_), _) => ("response.failed", "failed"),
            (None, Some(_)) => ("response.incomplete", "incomplete"),
            (None, None) => ("response.completed", "completed"),
        };
        let more = json!({
            "status": status,
            "output": self.items,
            "usage": usage,
            "incomplete_details": turn.stop.as_ref().map(|reason| json!({"reason": reason})),
            "error": turn.error.as_ref().map(|code| json!({"code": code, "message": "as the script says"})),
        });
        let response = merged(&self.response, more);
        self.push(kind, json!({"response": response}));
    }
}

fn merged(one: &Value, more: Value) -> Value {
    let mut all = one.as_object().cloned().unwrap_or_default();
    if let Value::Object(more) = more {
        all.extend(more);
    }
    Value::Object(all)
}

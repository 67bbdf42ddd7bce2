//! Assembles a turn from the events of a Messages stream.

use std::collections::BTreeMap;

use pegboard_guard::parse_arguments;
use serde_json::{Map, Value};

use crate::message::{ToolUse, ToolUseKind};
use crate::provider::{FinishReason, ModelError, Turn, TurnDelta, Usage};
use crate::provider_http;

/// The state of a stream.
#[derive(Default)]
pub(super) struct TurnReader {
    blocks: BTreeMap<u64, Block>,
    turn: Turn,
}

#[derive(Default)]
struct Block {
    value: Value,
    /// The arguments of a call, received as fragments of JSON text.
    input: String,
}

impl TurnReader {
    /// Processes one event. Returns the turn after the last one.
    pub(super) fn process(
        &mut self,
        event: &Value,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Option<Turn>, ModelError> {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        match event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "message_start" => {
                if let Some(message) = event.get("message") {
                    self.turn.id = text(message, "id");
                    self.turn.model = text(message, "model");
                    self.usage(message.get("usage"));
                }
            }
            "content_block_start" => {
                if self.blocks.len() >= provider_http::MAX_PARTS {
                    return Err(provider_http::too_many_parts());
                }
                let value = event.get("content_block").cloned().unwrap_or_default();
                let block = Block {
                    value,
                    input: String::new(),
                };
                self.blocks.insert(index(event), block);
            }
            "content_block_delta" => {
                if let (Some(block), Some(delta)) =
                    (self.blocks.get_mut(&index(event)), event.get("delta"))
                {
                    block.grow(delta, on_delta);
                }
            }
            "message_delta" => {
                let reason = event
                    .get("delta")
                    .and_then(|delta| text(delta, "stop_reason"));
                self.turn.raw_finish_reason = reason.or(self.turn.raw_finish_reason.take());
                self.usage(event.get("usage"));
            }
            "message_stop" => return Ok(Some(self.finish())),
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                let kind = text(error, "type").unwrap_or_default();
                return Err(provider_http::stream_error(
                    &kind,
                    &text(error, "message").unwrap_or_default(),
                ));
            }
            // Keep-alive events, and future extensions of the protocol.
            _ => {}
        }
        Ok(None)
    }

    /// Updates the usage. The counts of an event cover the whole response so far.
    fn usage(&mut self, usage: Option<&Value>) {
        let count = |key: &str| usage?.get(key)?.as_u64();
        let read = count("cache_read_input_tokens");
        let written = count("cache_creation_input_tokens");
        let now = &mut self.turn.usage;
        if let Some(input) = count("input_tokens") {
            let kept = read.unwrap_or(now.cached_tokens);
            *now = Usage {
                input_tokens: input
                    .saturating_add(kept)
                    .saturating_add(written.unwrap_or(0)),
                cached_tokens: kept,
                ..*now
            };
        }
        now.output_tokens = count("output_tokens").unwrap_or(now.output_tokens);
    }

    fn finish(&mut self) -> Turn {
        let mut turn = std::mem::take(&mut self.turn);
        turn.finish = match turn.raw_finish_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("pause_turn") => FinishReason::Paused,
            Some("refusal") => FinishReason::Refused,
            _ => FinishReason::Done,
        };
        for (_, block) in std::mem::take(&mut self.blocks) {
            let (item, call) = block.finish();
            match item.get("type").and_then(Value::as_str) {
                Some("text") => {
                    let text = item.get("text").and_then(Value::as_str).unwrap_or_default();
                    // The API rejects empty text blocks.
                    if text.is_empty() {
                        continue;
                    }
                    turn.text.push_str(text);
                }
                None => continue,
                _ => {}
            }
            turn.items.push(item);
            turn.calls.extend(call);
        }
        turn
    }
}

impl Block {
    fn grow(&mut self, delta: &Value, on_delta: &mut (dyn FnMut(TurnDelta) + Send)) {
        let piece = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match piece("type") {
            "text_delta" => {
                self.append("text", piece("text"));
                on_delta(TurnDelta::Text(piece("text").to_owned()));
            }
            "thinking_delta" => {
                self.append("thinking", piece("thinking"));
                on_delta(TurnDelta::Thinking(piece("thinking").to_owned()));
            }
            "signature_delta" => self.append("signature", piece("signature")),
            "input_json_delta" => self.input.push_str(piece("partial_json")),
            "citations_delta" => {
                if let (Some(map), Some(citation)) =
                    (self.value.as_object_mut(), delta.get("citation"))
                {
                    let list = map
                        .entry("citations")
                        .or_insert_with(|| Value::Array(vec![]));
                    if !list.is_array() {
                        *list = Value::Array(vec![]);
                    }
                    if let Some(list) = list.as_array_mut() {
                        list.push(citation.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn append(&mut self, key: &str, piece: &str) {
        if let Some(map) = self.value.as_object_mut() {
            match map.get_mut(key) {
                Some(Value::String(text)) => text.push_str(piece),
                _ => {
                    map.insert(key.to_owned(), piece.into());
                }
            }
        }
    }

    /// Returns the block as it is sent back, and its call if it is one.
    fn finish(mut self) -> (Value, Option<ToolUse>) {
        let kind = self.value.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or_default().to_owned();
        if !kind.ends_with("tool_use") {
            return (self.value, None);
        }
        let empty = || Value::Object(Map::new());
        let input: Result<Value, String> = match self.input.trim() {
            "" => Ok(self.value.get("input").cloned().unwrap_or_else(empty)),
            text => parse_arguments(text).map_err(|error| error.into_details().message),
        };
        if let Some(map) = self.value.as_object_mut() {
            // The API accepts only objects.
            let sent = input.as_ref().ok().filter(|input| input.is_object());
            map.insert("input".to_owned(), sent.cloned().unwrap_or_else(empty));
        }
        if kind != "tool_use" {
            return (self.value, None);
        }
        let text = |key: &str| {
            let text = self.value.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let call = ToolUse {
            id: text("id"),
            name: text("name"),
            arguments: input,
            kind: ToolUseKind::Call,
        };
        (self.value, Some(call))
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(events: &[Value]) -> Result<Option<Turn>, ModelError> {
        let mut reader = TurnReader::default();
        for event in events {
            if let Some(turn) = reader.process(event, &mut |_| {})? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    #[test]
    fn r_agent_02_malformed_events_are_tolerated() {
        let odd = [
            json!(null),
            json!([1]),
            json!({"type": 7}),
            json!({"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta"}}),
            json!({"type": "content_block_start", "index": -1, "content_block": 5}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "input": [1]}}),
            json!({"type": "message_delta", "usage": {"input_tokens": "many"}}),
            json!({"type": "something_new"}),
            json!({"type": "message_stop"}),
        ];
        let turn = read(&odd).unwrap().unwrap();
        assert_eq!(turn.calls.len(), 1);
        assert_eq!(turn.items.len(), 1);
        assert_eq!(
            turn.items[0]["input"],
            json!({}),
            "only objects are sent back"
        );
    }

    #[test]
    fn r_sec_10_a_duplicate_key_in_arguments_of_a_model_is_an_error() {
        let part = r#"{"path":"a","path":"b"}"#;
        let events = [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": part}}),
            json!({"type": "message_stop"}),
        ];
        let turn = read(&events).unwrap().unwrap();
        let why = turn.calls[0].arguments.as_ref().unwrap_err();
        assert!(why.contains("`path`"), "{why}");
    }

    #[test]
    fn r_agent_02_an_endless_response_is_stopped() {
        let start = json!({"type": "content_block_start", "content_block": {"type": "text"}});
        let events: Vec<Value> = (0..=provider_http::MAX_PARTS)
            .map(|index| {
                let mut event = start.clone();
                event["index"] = json!(index);
                event
            })
            .collect();
        let error = read(&events).unwrap_err();
        assert!(!error.is_transient, "{error}");
    }

    #[test]
    fn r_agent_02_an_error_in_the_stream_says_whether_to_retry() {
        for (kind, is_transient) in [
            ("overloaded_error", true),
            ("api_error", true),
            ("invalid_request_error", false),
        ] {
            let event = json!({"type": "error", "error": {"type": kind, "message": "no"}});
            assert_eq!(
                read(&[event]).unwrap_err().is_transient,
                is_transient,
                "{kind}"
            );
        }
    }
}

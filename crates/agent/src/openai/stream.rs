//! Assembles a turn from the events of a Responses stream.

use std::collections::BTreeMap;

use pegboard_guard::parse_arguments;
use serde_json::{Map, Value};

use crate::message::{ToolUse, ToolUseKind};
use crate::provider::{FinishReason, ModelError, Turn, TurnDelta, Usage};
use crate::provider_http;

/// The state of a stream.
#[derive(Default)]
pub(super) struct TurnReader {
    /// The finished items, by position.
    items: BTreeMap<u64, Value>,
}

impl TurnReader {
    /// Processes one event. Returns the turn after the last one.
    pub(super) fn process(
        &mut self,
        event: &Value,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Option<Turn>, ModelError> {
        let delta = || text(event, "delta").unwrap_or_default();
        match event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "response.output_text.delta" | "response.refusal.delta" => {
                on_delta(TurnDelta::Text(delta()))
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                on_delta(TurnDelta::Thinking(delta()));
            }
            "response.output_item.done" => {
                if self.items.len() >= provider_http::MAX_PARTS {
                    return Err(provider_http::too_many_parts());
                }
                let place = event.get("output_index").and_then(Value::as_u64);
                let place = place.unwrap_or(self.items.len() as u64);
                if let Some(item) = event.get("item") {
                    self.items.insert(place, item.clone());
                }
            }
            "response.completed" | "response.incomplete" => {
                return Ok(Some(self.finish(event.get("response"))));
            }
            "response.failed" => {
                let error = event.pointer("/response/error").unwrap_or(&Value::Null);
                return Err(failed(error));
            }
            "error" => return Err(failed(event.get("error").unwrap_or(event))),
            // The finished items repeat everything else.
            _ => {}
        }
        Ok(None)
    }

    fn finish(&mut self, response: Option<&Value>) -> Turn {
        let response = response.unwrap_or(&Value::Null);
        let incomplete = response.pointer("/incomplete_details/reason");
        let incomplete = incomplete.and_then(Value::as_str);
        let status = text(response, "status");
        let mut turn = Turn {
            items: std::mem::take(&mut self.items).into_values().collect(),
            finish: match incomplete {
                Some("content_filter") => FinishReason::Refused,
                Some(_) => FinishReason::Length,
                None => FinishReason::Done,
            },
            raw_finish_reason: incomplete.map(str::to_owned).or(status),
            usage: usage(response.get("usage")),
            id: text(response, "id"),
            model: text(response, "model"),
            ..Turn::default()
        };
        for item in &turn.items {
            match item.get("type").and_then(Value::as_str) {
                Some("message") => {
                    let parts = item.get("content").and_then(Value::as_array);
                    for part in parts.into_iter().flatten() {
                        let written = text(part, "text").or_else(|| text(part, "refusal"));
                        turn.text.push_str(&written.unwrap_or_default());
                    }
                }
                Some("function_call") => turn.calls.push(call(item)),
                Some("tool_search_call")
                    if item.get("execution").is_some_and(|e| e == "client") =>
                {
                    turn.calls.push(search(item));
                }
                _ => {}
            }
        }
        turn
    }
}

fn call(item: &Value) -> ToolUse {
    let written = text(item, "arguments").unwrap_or_default();
    let arguments = match written.trim() {
        "" => Ok(Value::Object(Map::new())),
        written => parse_arguments(written).map_err(|error| error.into_details().message),
    };
    ToolUse {
        id: text(item, "call_id").unwrap_or_default(),
        name: text(item, "name").unwrap_or_default(),
        arguments,
        kind: ToolUseKind::Call,
    }
}

fn search(item: &Value) -> ToolUse {
    // Normally an object; a string is accepted too, as for functions.
    let arguments = match item.get("arguments") {
        Some(Value::String(written)) => {
            parse_arguments(written).map_err(|error| error.into_details().message)
        }
        Some(value) => Ok(value.clone()),
        None => Ok(Value::Null),
    };
    ToolUse {
        id: text(item, "call_id").unwrap_or_default(),
        name: pegboard_formats::SEARCH_TOOL_NAME.to_owned(),
        arguments,
        kind: ToolUseKind::Search,
    }
}

fn usage(usage: Option<&Value>) -> Usage {
    let count = |path: &str| {
        let found = usage.and_then(|usage| usage.pointer(path));
        found.and_then(Value::as_u64).unwrap_or(0)
    };
    Usage {
        input_tokens: count("/input_tokens"),
        output_tokens: count("/output_tokens"),
        cached_tokens: count("/input_tokens_details/cached_tokens"),
    }
}

fn failed(error: &Value) -> ModelError {
    let kind = text(error, "code").or_else(|| text(error, "type"));
    let message = text(error, "message").unwrap_or_default();
    provider_http::stream_error(&kind.unwrap_or_default(), &message)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r_agent_02_malformed_events_are_tolerated() {
        let mut reader = TurnReader::default();
        for event in [
            json!(null),
            json!({"type": "response.output_text.delta"}),
            json!({"type": "response.output_item.done"}),
            json!({"type": "response.output_item.done", "output_index": 3, "item": {"type": "function_call"}}),
            json!({"type": "response.output_item.done", "item": {"type": "message", "content": 1}}),
            json!({"type": "response.output_item.done", "output_index": 9, "item":
                {"type": "tool_search_call", "execution": "client", "arguments": "{\"query\":\"x\"}"}}),
            json!({"type": "response.output_item.done", "output_index": 10, "item":
                {"type": "tool_search_call", "execution": "server"}}),
        ] {
            assert!(reader.process(&event, &mut |_| {}).unwrap().is_none());
        }
        let end = json!({"type": "response.completed"});
        let turn = reader.process(&end, &mut |_| {}).unwrap().unwrap();
        let kinds: Vec<ToolUseKind> = turn.calls.iter().map(|call| call.kind).collect();
        assert_eq!(kinds, [ToolUseKind::Call, ToolUseKind::Search]);
        assert_eq!(turn.calls[1].arguments, Ok(json!({"query": "x"})));
    }

    #[test]
    fn r_sec_10_a_duplicate_key_in_arguments_of_a_model_is_an_error() {
        let item = |kind: &str| json!({"type": kind, "arguments": r#"{"path":"a","path":"b"}"#});
        for call in [
            call(&item("function_call")),
            search(&item("tool_search_call")),
        ] {
            let why = call.arguments.unwrap_err();
            assert!(why.contains("`path`"), "{why}");
        }
    }

    #[test]
    fn r_agent_02_a_failed_response_says_whether_to_retry() {
        for (code, is_transient) in [("server_error", true), ("invalid_prompt", false)] {
            let event = json!({"type": "response.failed", "response": {"error": {"code": code, "message": "no"}}});
            let failed = TurnReader::default().process(&event, &mut |_| {});
            assert_eq!(failed.unwrap_err().is_transient, is_transient, "{code}");
        }
    }
}

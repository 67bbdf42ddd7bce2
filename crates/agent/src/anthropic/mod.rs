//! The Anthropic Messages API.

mod stream;

use async_trait::async_trait;
use pegboard_formats::{Format, anthropic_search_result};
use pegboard_model::{Secret, ToolResult};
use pegboard_upstream::ApiEndpoint;
use serde_json::{Value, json};

use crate::content::Content;
use crate::message::{Message, ToolOutput, ToolOutputBody};
use crate::provider::{ModelError, Provider, Turn, TurnDelta, TurnRequest};
use crate::provider_http;

const BASE_URL: &str = "https://api.anthropic.com";
/// API version. Other hosts of these models support this one, too.
const VERSION: &str = "2023-06-01";

/// A model behind Anthropic's Messages API.
#[derive(Clone)]
pub struct Anthropic {
    service: ApiEndpoint,
    model: String,
}

impl Anthropic {
    /// Creates a provider for a model. `base_url` selects another host of the same API.
    ///
    /// # Errors
    ///
    /// Fails if the URL or the key is invalid.
    pub fn new(
        model: impl Into<String>,
        api_key: &Secret,
        base_url: Option<&str>,
    ) -> ToolResult<Self> {
        let base = base_url.unwrap_or(BASE_URL).trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let headers = [
            ("x-api-key", api_key.clone()),
            ("anthropic-version", Secret::new(VERSION)),
        ];
        Ok(Self {
            service: ApiEndpoint::at(&format!("{base}/v1/messages"), &headers)?,
            model: model.into(),
        })
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        "anthropic"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn format(&self) -> Format {
        Format::Anthropic
    }

    fn deferred_format(&self) -> Option<Format> {
        Some(Format::AnthropicDeferred)
    }

    async fn turn(
        &self,
        request: TurnRequest<'_>,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Turn, ModelError> {
        let mut reply = provider_http::post(&self.service, &body(&self.model, request)).await?;
        let mut reader = stream::TurnReader::default();
        while let Some(event) = provider_http::next_event(&mut reply).await? {
            if let Some(turn) = reader.process(&event, on_delta)? {
                return Ok(turn);
            }
        }
        Err(provider_http::truncated_stream())
    }
}

fn body(model: &str, request: TurnRequest<'_>) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens,
        "stream": true,
        "messages": messages(request.messages),
    });
    if let Some(map) = body.as_object_mut() {
        if !request.system.is_empty() {
            // Tools and system prompt do not change during a run, so the provider can cache them.
            let system = json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
            map.insert("system".to_owned(), system);
        }
        if request
            .tools
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
        {
            map.insert("tools".to_owned(), request.tools.clone());
        }
    }
    body
}

/// Converts messages, and joins neighbours of one role: text of the user follows tool outputs in the same message.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut all: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            Message::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Message::Assistant(items) => ("assistant", items.clone()),
            Message::ToolOutputs(outputs) => ("user", outputs.iter().map(tool_output).collect()),
        };
        match all.last_mut() {
            Some((last, blocks)) if *last == role => blocks.extend(content),
            _ => all.push((role, content)),
        }
    }
    // The conversation up to here does not change in the next turn, so the provider can cache it.
    if let Some(Value::Object(last)) = all.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
        last.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    all.into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

fn tool_output(tool_output: &ToolOutput) -> Value {
    let content: Vec<Value> = match &tool_output.body {
        ToolOutputBody::Tools { names, .. } => {
            return anthropic_search_result(&tool_output.id, names.iter().map(String::as_str));
        }
        ToolOutputBody::Content(parts) => parts.iter().filter_map(block).collect(),
    };
    let mut block =
        json!({"type": "tool_result", "tool_use_id": tool_output.id, "content": content});
    if tool_output.is_error
        && let Some(map) = block.as_object_mut()
    {
        map.insert("is_error".to_owned(), true.into());
    }
    block
}

/// Converts a part. The API rejects empty text blocks, so they are left out.
fn block(part: &Content) -> Option<Value> {
    match part {
        Content::Text(text) if text.is_empty() => None,
        Content::Text(text) => Some(json!({"type": "text", "text": text})),
        Content::Image { mime, data } => Some(json!({
            "type": "image", "source": {"type": "base64", "media_type": mime, "data": data},
        })),
    }
}

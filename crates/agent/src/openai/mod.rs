//! The OpenAI Responses API.

mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pegboard_formats::{Format, openai_search_result};
use pegboard_model::{Reason, Secret, ToolResult};
use pegboard_upstream::{ApiEndpoint, ApiResponse};
use serde_json::{Value, json};

use crate::content::Content;
use crate::message::{Message, ToolOutput, ToolOutputBody};
use crate::provider::{ModelError, Provider, Turn, TurnDelta, TurnRequest};
use crate::provider_http;

const BASE_URL: &str = "https://api.openai.com/v1";

/// A model behind OpenAI's Responses API. Nothing is stored there: every request contains the whole conversation.
#[derive(Clone)]
pub struct OpenAi {
    service: ApiEndpoint,
    model: String,
    /// Whether the model returns its reasoning encrypted, to be sent back. Models without reasoning reject requests
    /// that ask for it.
    encrypts_reasoning: Arc<AtomicBool>,
}

impl OpenAi {
    /// Creates a provider for a model. `base_url` selects another host of the same API, up to and including `/v1`.
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
        let bearer = Secret::new(format!("Bearer {}", api_key.reveal().trim()));
        Ok(Self {
            service: ApiEndpoint::at(&format!("{base}/responses"), &[("authorization", bearer)])?,
            model: model.into(),
            encrypts_reasoning: Arc::new(AtomicBool::new(true)),
        })
    }

    async fn post(&self, request: TurnRequest<'_>) -> Result<ApiResponse, ModelError> {
        let encrypted = self.encrypts_reasoning.load(Ordering::Relaxed);
        let response =
            provider_http::post(&self.service, &body(&self.model, request, encrypted)).await;
        match response {
            Err(refusal) if encrypted && is_about_encryption(&refusal) => {
                self.encrypts_reasoning.store(false, Ordering::Relaxed);
                provider_http::post(&self.service, &body(&self.model, request, false)).await
            }
            response => response,
        }
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        "openai"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn format(&self) -> Format {
        Format::OpenAiResponses
    }

    fn deferred_format(&self) -> Option<Format> {
        Some(Format::OpenAiDeferred)
    }

    async fn turn(
        &self,
        request: TurnRequest<'_>,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Turn, ModelError> {
        let mut reply = self.post(request).await?;
        let mut reader = stream::TurnReader::default();
        while let Some(event) = provider_http::next_event(&mut reply).await? {
            if let Some(turn) = reader.process(&event, on_delta)? {
                return Ok(turn);
            }
        }
        Err(provider_http::truncated_stream())
    }
}

/// Returns whether a request was rejected because the model does not return encrypted reasoning.
fn is_about_encryption(refusal: &ModelError) -> bool {
    let message = refusal.error.message.to_ascii_lowercase();
    refusal.error.reason == Reason::ModelRefused && message.contains("encrypted")
}

fn body(model: &str, request: TurnRequest<'_>, encrypted: bool) -> Value {
    let mut body = json!({
        "model": model,
        "input": request.messages.iter().flat_map(items).collect::<Vec<_>>(),
        "max_output_tokens": request.max_tokens,
        "store": false,
        "stream": true,
    });
    if let Some(map) = body.as_object_mut() {
        if encrypted {
            map.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        }
        if !request.system.is_empty() {
            map.insert("instructions".to_owned(), request.system.into());
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

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Assistant(items) => {
            // Reasoning without encrypted content is known only by its id, and nothing is stored.
            let is_kept = |item: &&Value| {
                let is_reasoning = item.get("type").is_some_and(|kind| kind == "reasoning");
                let encrypted = item.get("encrypted_content").and_then(Value::as_str);
                !is_reasoning || encrypted.is_some_and(|text| !text.is_empty())
            };
            items.iter().filter(is_kept).cloned().collect()
        }
        Message::ToolOutputs(outputs) => outputs.iter().map(tool_output).collect(),
    }
}

fn tool_output(tool_output: &ToolOutput) -> Value {
    let parts = match &tool_output.body {
        ToolOutputBody::Tools { definitions, .. } => {
            return openai_search_result(&tool_output.id, definitions.iter().cloned());
        }
        ToolOutputBody::Content(parts) => parts,
    };
    let has_images = parts
        .iter()
        .any(|part| matches!(part, Content::Image { .. }));
    let output = match has_images {
        true => parts.iter().map(block).collect(),
        false => Value::String(texts(parts).join("\n\n")),
    };
    json!({"type": "function_call_output", "call_id": tool_output.id, "output": output})
}

fn texts(parts: &[Content]) -> Vec<&str> {
    let texts = parts.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect()
}

fn block(part: &Content) -> Value {
    match part {
        Content::Text(text) => json!({"type": "input_text", "text": text}),
        Content::Image { mime, data } => {
            json!({"type": "input_image", "detail": "auto", "image_url": format!("data:{mime};base64,{data}")})
        }
    }
}

//! Validation of sampling requests, in which a server uses the client's model.

use pegboard_model::{ServerName, escape_hidden};
use serde_json::{Map, Value};

use super::Refusal;

/// Attributes the request in its system prompt, which clients show and models read first. Pegboard has no context of
/// other servers and clients must not add any, so `includeContext` is always `none`.
pub(super) fn check(
    server: &ServerName,
    mut params: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let own = match params.get("systemPrompt") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(own)) => format!("\n\n{}", escape_hidden(own)),
        Some(_) => return Err(Refusal::new("`systemPrompt` is not a string")),
    };
    let attributed = format!("This request is from the MCP server `{server}`.{own}");
    params.insert("systemPrompt".to_owned(), attributed.into());
    if params.contains_key("includeContext") {
        params.insert("includeContext".to_owned(), "none".into());
    }
    for message in params
        .get_mut("messages")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        match message.get_mut("content") {
            Some(Value::Array(blocks)) => blocks.iter_mut().for_each(show_text),
            Some(block) => show_text(block),
            None => {}
        }
    }
    Ok(params)
}

/// Escapes hidden characters, so that a person who reviews the request sees everything that the model reads.
fn show_text(block: &mut Value) {
    if let Some(Value::String(text)) = block.get_mut("text")
        && let std::borrow::Cow::Owned(shown) = escape_hidden(text)
    {
        *text = shown;
    }
}

//! Conversations of a user, a model and its tools.

use serde_json::Value;

use crate::content::Content;

/// A conversation. It can be continued after every run, whatever its outcome: it contains no call without an output.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    messages: Vec<Message>,
}

impl Conversation {
    /// Creates an empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.messages.push(Message::User(text.to_owned()));
    }

    /// Adds the model's items together with the outputs of its calls, so that no call is without an output.
    pub(crate) fn exchange(&mut self, items: Vec<Value>, outputs: Vec<ToolOutput>) {
        if !items.is_empty() {
            self.messages.push(Message::Assistant(items));
        }
        if !outputs.is_empty() {
            self.messages.push(Message::ToolOutputs(outputs));
        }
    }
}

/// A message of a conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Message {
    /// Text of the user.
    User(String),
    /// Text and calls of the model, in the provider's format; they are sent back unchanged.
    Assistant(Vec<Value>),
    /// The outputs of the preceding calls.
    ToolOutputs(Vec<ToolOutput>),
}

/// A tool call of a model.
#[derive(Clone, Debug)]
pub struct ToolUse {
    /// The provider's id of the call, repeated in the output.
    pub id: String,
    /// The name that the model wrote.
    pub name: String,
    /// The arguments, or why they are invalid.
    pub arguments: Result<Value, String>,
    /// Whether the call expects a result or tools.
    pub kind: ToolUseKind,
}

/// Returns the arguments that a model wrote. A JSON text, as OpenAI sends it, is parsed; an empty one stands for no
/// arguments.
///
/// # Errors
/// Fails with the reason if the text is not JSON.
pub fn parse_arguments(arguments: Value) -> Result<Value, String> {
    match arguments {
        Value::String(text) if text.trim().is_empty() => Ok(Value::Null),
        Value::String(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        value => Ok(value),
    }
}

/// The kind of output that a call expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolUseKind {
    /// A tool's result.
    Call,
    /// A list of tools: the call is a provider's built-in tool search, which we run.
    Search,
}

/// The output of a call.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The id of the call.
    pub id: String,
    /// The kind of output that the call expects.
    pub kind: ToolUseKind,
    /// The output itself.
    pub body: ToolOutputBody,
    /// Whether the call failed.
    pub is_error: bool,
}

/// The body of an output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolOutputBody {
    /// A tool's result.
    Content(Vec<Content>),
    /// Tools that a search found.
    Tools {
        /// Their names in the provider's format.
        names: Vec<String>,
        /// Their definitions in the provider's format.
        definitions: Vec<Value>,
    },
}

impl ToolOutput {
    /// Creates the output of a failed call, with a text for the model.
    pub fn failure(call: &ToolUse, text: impl Into<String>) -> Self {
        let body = match call.kind {
            ToolUseKind::Call => ToolOutputBody::Content(vec![Content::Text(text.into())]),
            // A failed search can only return no tools.
            ToolUseKind::Search => ToolOutputBody::Tools {
                names: Vec::new(),
                definitions: Vec::new(),
            },
        };
        Self {
            id: call.id.clone(),
            kind: call.kind,
            body,
            is_error: true,
        }
    }

    pub(crate) fn text(call: &ToolUse, text: impl Into<String>) -> Self {
        Self {
            is_error: false,
            kind: ToolUseKind::Call,
            body: ToolOutputBody::Content(vec![Content::Text(text.into())]),
            id: call.id.clone(),
        }
    }
}

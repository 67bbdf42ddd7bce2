//! What was said between a person, a model and its tools.

use serde_json::Value;

use crate::content::Content;

/// A conversation. It can go on after a run ended, whichever way it ended: what was not answered is not in it.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    messages: Vec<Message>,
}

impl Conversation {
    /// A conversation in which nothing was said.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was said, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.messages.push(Message::User(text.to_owned()));
    }

    /// Puts a model's words and the answers to its calls in together, so that neither is ever without the other.
    pub(crate) fn exchange(&mut self, items: Vec<Value>, answers: Vec<ToolOutput>) {
        if !items.is_empty() {
            self.messages.push(Message::Assistant(items));
        }
        if !answers.is_empty() {
            self.messages.push(Message::ToolOutputs(answers));
        }
    }
}

/// One part of a conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Message {
    /// A person's words.
    User(String),
    /// A model's words and calls, as its provider writes them; they are sent back as they came.
    Assistant(Vec<Value>),
    /// The answers to the calls before.
    ToolOutputs(Vec<ToolOutput>),
}

/// A tool that a model wants called.
#[derive(Clone, Debug)]
pub struct ToolUse {
    /// The provider's id, which the answer repeats.
    pub id: String,
    /// The name that the model wrote.
    pub name: String,
    /// The arguments; the error says why they cannot be read.
    pub arguments: Result<Value, String>,
    /// How it is answered.
    pub kind: ToolUseKind,
}

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolUseKind {
    /// With a tool's result.
    Call,
    /// With tools: the provider's own form of a search that we run.
    Search,
}

/// What came of one call.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The id of the call.
    pub id: String,
    /// How the call is answered.
    pub kind: ToolUseKind,
    /// What is answered.
    pub body: ToolOutputBody,
    /// Whether it is the report of a failure.
    pub is_error: bool,
}

/// What a call is answered with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolOutputBody {
    /// A tool's result.
    Content(Vec<Content>),
    /// Tools that were found: their names as the provider knows them, and their definitions as it takes them.
    Tools {
        /// The names.
        names: Vec<String>,
        /// The definitions.
        definitions: Vec<Value>,
    },
}

impl ToolOutput {
    /// A failure in words that a model can act on.
    pub fn failure(call: &ToolUse, text: impl Into<String>) -> Self {
        let body = match call.kind {
            ToolUseKind::Call => ToolOutputBody::Content(vec![Content::Text(text.into())]),
            // A search has no other way to fail than to find nothing.
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

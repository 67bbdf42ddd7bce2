//! A request to call a tool.

use std::sync::Arc;

use pegboard_catalog::ResolvedTool;
use pegboard_model::SpanContext;
use pegboard_upstream::{Caller, InputResponses};
use serde_json::value::RawValue;

/// Who asks: one connected client or embedding agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// A wish to call a tool.
#[derive(Clone)]
pub struct CallRequest {
    /// Who asks.
    pub session: SessionId,
    /// The tool: resolved, or a name in any form that a person or a model writes.
    pub tool: ToolTarget,
    /// The arguments, a JSON object.
    pub arguments: Box<RawValue>,
    /// The client behind the call, as far as the server may reach it.
    pub caller: Option<Arc<dyn Caller>>,
    /// Members for the request's `_meta`, for example `traceparent`. Where spans are made, the call's own span
    /// takes that one's place.
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// The span that the call is a part of: ours, or the one that a client named.
    pub span: Option<SpanContext>,
    /// Answers to what the server asked for in an earlier round.
    pub input: Option<InputResponses>,
    /// What the client calls itself, for a person who is asked; foreign text.
    pub client: Option<Arc<str>>,
    /// Whether more calls of the same session can follow.
    pub is_lasting: bool,
    /// Whether the call is refused unless the server marks the tool as read-only.
    pub read_only: bool,
}

impl CallRequest {
    /// A plain call.
    pub fn new(session: SessionId, tool: impl Into<ToolTarget>, arguments: Box<RawValue>) -> Self {
        Self {
            session,
            tool: tool.into(),
            arguments,
            caller: None,
            meta: None,
            span: None,
            input: None,
            client: None,
            is_lasting: true,
            read_only: false,
        }
    }
}

/// The tool of a call. An edge that knows which tools its client may call resolves the name; other edges leave that to
/// [`Hub::call`](crate::Hub::call), which also discovers servers that may have the tool.
#[derive(Clone, Debug)]
pub enum ToolTarget {
    /// A tool that is in a snapshot.
    Resolved(ResolvedTool),
    /// A name in any form that a person or a model writes.
    Named(String),
}

impl ToolTarget {
    /// The name to show.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Resolved(tool) => tool.exposed().as_str(),
            Self::Named(name) => name,
        }
    }
}

impl From<ResolvedTool> for ToolTarget {
    fn from(tool: ResolvedTool) -> Self {
        Self::Resolved(tool)
    }
}

impl From<String> for ToolTarget {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<&str> for ToolTarget {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

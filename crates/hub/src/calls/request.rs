//! A request to call a tool.

use std::sync::Arc;

use pegboard_catalog::ResolvedTool;
use pegboard_model::SpanContext;
use pegboard_upstream::{Caller, InputResponses};
use serde_json::value::RawValue;

use crate::approvals::Approver;

/// Identifies a connected client or an embedding agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// A request to call a tool. Create one with [`CallRequest::new`] and set the fields that matter.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallRequest {
    /// The session that makes the call.
    pub session: SessionId,
    /// The tool: resolved, or a name in any form that a person or a model writes.
    pub tool: ToolTarget,
    /// The arguments, a JSON object.
    pub arguments: Box<RawValue>,
    /// The client behind the call, for requests of the server to the client.
    pub caller: Option<Arc<dyn Caller>>,
    /// Members of the request's `_meta`, for example `traceparent`. If spans are recorded, the call's own span
    /// replaces it.
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// The parent span: one of ours, or the one that the client named.
    pub span: Option<SpanContext>,
    /// The client's responses to an earlier `input_required` result.
    pub input: Option<InputResponses>,
    /// The client's name and version, for approval requests and the activity log. Untrusted text.
    pub client: Option<Arc<str>>,
    /// Whether the session can make more calls, so that a grant for the session is useful.
    pub is_lasting: bool,
    /// Whether to refuse the call unless the server marks the tool as read-only.
    pub read_only: bool,
    /// Asks the person who makes the call, instead of the hub's own approver.
    pub approver: Option<Arc<dyn Approver>>,
}

impl CallRequest {
    /// Creates a request without optional parts.
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
            approver: None,
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

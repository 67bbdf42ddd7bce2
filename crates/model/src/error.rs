//! Errors with a class, a reason, a message and a remedy.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{Reason, ServerName};

/// Result of operations on tools and servers.
pub type ToolResult<T> = Result<T, ToolError>;

/// Coarse error classes for programs; [`Reason`] is more specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorClass {
    /// No handler is registered for the tool.
    #[serde(rename = "TOOL_NOT_IMPLEMENTED")]
    NotImplemented,
    /// Invalid name, configuration or arguments.
    #[serde(rename = "TOOL_INVALID_INPUT")]
    InvalidInput,
    /// The server cannot be reached or does not work.
    #[serde(rename = "TOOL_UNAVAILABLE")]
    Unavailable,
    /// The tool ran and failed, or an internal error occurred.
    #[serde(rename = "TOOL_EXECUTION_FAILED")]
    ExecutionFailed,
    /// A person or a policy denied it.
    #[serde(rename = "TOOL_DENIED")]
    Denied,
}

impl ErrorClass {
    /// The stable code in upper case.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotImplemented => "TOOL_NOT_IMPLEMENTED",
            Self::InvalidInput => "TOOL_INVALID_INPUT",
            Self::Unavailable => "TOOL_UNAVAILABLE",
            Self::ExecutionFailed => "TOOL_EXECUTION_FAILED",
            Self::Denied => "TOOL_DENIED",
        }
    }
}

/// An error with what failed, why, and what to do next. The details are its fields: `error.reason`.
///
/// It is as small as a pointer, so that a `Result` is not larger than its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", .0.message)]
#[serde(transparent)]
pub struct ToolError(Box<ErrorDetails>);

impl Deref for ToolError {
    type Target = ErrorDetails;

    fn deref(&self) -> &ErrorDetails {
        &self.0
    }
}

impl DerefMut for ToolError {
    fn deref_mut(&mut self) -> &mut ErrorDetails {
        &mut self.0
    }
}

/// The details of a [`ToolError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// The coarse class.
    pub code: ErrorClass,
    /// The specific reason.
    pub reason: Reason,
    /// What happened, for a person. Never contains secrets.
    pub message: String,
    /// Whether the same request may succeed later without changes.
    pub retryable: bool,
    /// What to do next.
    pub remedy: String,
    /// The affected server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerName>,
    /// The exposed name of the affected tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The affected input field, as a JSON pointer or key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Similar names that may have been meant.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub nearest: Vec<String>,
    /// The server's JSON-RPC error, if there was one, to be forwarded verbatim.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rpc: Option<RpcError>,
}

/// A JSON-RPC error received from a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The message; untrusted text.
    pub message: String,
    /// The `data` member as JSON text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<String>,
}

impl ToolError {
    /// Creates an error with the class, retryability and remedy of `reason`.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            code: reason.class(),
            reason,
            message: message.into(),
            retryable: reason.retryable(),
            remedy: reason.remedy().to_owned(),
            server: None,
            tool: None,
            field: None,
            nearest: Vec::new(),
            rpc: None,
        }))
    }

    /// Returns the details, to take values out of them.
    pub fn into_details(self) -> ErrorDetails {
        *self.0
    }

    /// Sets the affected server and replaces `SERVER` in the remedy.
    #[must_use]
    pub fn at_server(mut self, server: &ServerName) -> Self {
        self.remedy = self.remedy.replace("SERVER", server.as_str());
        self.server = Some(server.clone());
        self
    }

    /// Sets the affected tool and replaces `TOOL` in the remedy.
    #[must_use]
    pub fn at_tool(mut self, tool: impl Into<String>) -> Self {
        let tool = tool.into();
        self.remedy = self.remedy.replace("TOOL", &tool);
        self.tool = Some(tool);
        self
    }

    /// Sets the affected input field.
    #[must_use]
    pub fn at_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Replaces the default remedy of the reason.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Attaches the JSON-RPC error that the server sent.
    #[must_use]
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.rpc = Some(rpc);
        self
    }

    /// The message followed by the remedy, as sentences.
    pub fn full_message(&self) -> String {
        let message = self.message.trim_end();
        let end = match message.ends_with(['.', '!', '?', ':']) {
            true => "",
            false => ".",
        };
        format!("{message}{end} {}", self.remedy)
    }

    /// The full message for a model, with the error code and similar names.
    pub fn model_message(&self) -> String {
        let message = self.with_model_remedy().full_message();
        let mut text = format!("{message} [{}]", self.reason.code());
        if !self.nearest.is_empty() {
            text.push_str(&format!(" Nearest: {}.", self.nearest.join(", ")));
        }
        text
    }

    /// The same error with a remedy for a model, which can call meta tools or inform the user but cannot run commands.
    /// Every error that is sent to a model or its client goes through this function.
    #[must_use]
    pub fn with_model_remedy(&self) -> Self {
        let table = self.filled(self.reason.remedy());
        let for_model = self.reason.remedy_for_model();
        let remedy = match self.remedy.strip_prefix(&table) {
            // Text that was appended to the default remedy applies to models as well.
            Some(added) if !names_command(added) => self.filled(for_model) + added,
            None if !names_command(&self.remedy) => self.remedy.clone(),
            _ => self.filled(for_model),
        };
        self.clone().with_remedy(remedy)
    }

    /// Replaces the placeholders `SERVER` and `TOOL` in a remedy.
    fn filled(&self, remedy: &str) -> String {
        let text = match &self.server {
            Some(server) => remedy.replace("SERVER", server.as_str()),
            None => remedy.replace("server `SERVER`", "the server"),
        };
        match &self.tool {
            Some(tool) => text.replace("TOOL", tool),
            None => text.replace("`TOOL`", "the tool"),
        }
    }

    /// Sets the similar names.
    #[must_use]
    pub fn with_nearest(mut self, nearest: Vec<String>) -> Self {
        self.nearest = nearest;
        self
    }
}

/// Whether a text mentions a `pegboard` command.
pub(crate) fn names_command(text: &str) -> bool {
    text.contains("`pegboard ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: ToolError, for_person: &str, for_model: &str) {
        assert_eq!(error.remedy, for_person);
        assert_eq!(error.with_model_remedy().remedy, for_model);
    }

    #[test]
    fn r_gate_05_the_next_step_depends_on_who_reads_it() {
        let github = ServerName::parse("github").unwrap();
        let error = |reason| ToolError::new(reason, "it failed");
        check(
            error(Reason::ServerDisabled).at_server(&github),
            "Enable it with `pegboard enable github`.",
            "Do not retry; ask the user to enable server `github`.",
        );
        check(
            error(Reason::ServerDisabled),
            "Enable it with `pegboard enable SERVER`.",
            "Do not retry; ask the user to enable the server.",
        );
        let remedy = format!(
            "{} The rule is in `x.toml:3`.",
            Reason::PolicyDenied.remedy()
        );
        check(
            error(Reason::PolicyDenied)
                .at_tool("a__one")
                .with_remedy(&remedy),
            &remedy,
            "Do not retry; ask the user to allow `a__one` in Pegboard's dashboard or policy. The rule is in `x.toml:3`.",
        );
        check(
            error(Reason::ToolUnknown).with_remedy("Write it as `server/tool`."),
            "Write it as `server/tool`.",
            "Write it as `server/tool`.",
        );
        check(
            error(Reason::ToolUnknown).with_remedy("Run `pegboard refresh a`."),
            "Run `pegboard refresh a`.",
            "Find the tool with search_tools.",
        );
    }

    #[test]
    fn r_gate_05_a_stored_error_gets_a_model_remedy_as_well() {
        let github = ServerName::parse("github").unwrap();
        let error = ToolError::new(Reason::ServerExited, "gone").at_server(&github);
        let stored: ToolError =
            serde_json::from_value(serde_json::to_value(&error).unwrap()).unwrap();
        assert!(
            !stored.model_message().contains("`pegboard"),
            "{}",
            stored.model_message()
        );
        assert!(
            stored.model_message().contains("server `github`"),
            "{}",
            stored.model_message()
        );
    }

    #[test]
    fn an_error_is_as_small_as_a_pointer() {
        assert_eq!(size_of::<ToolResult<()>>(), size_of::<usize>());
    }

    #[test]
    fn r_reg_05_an_error_carries_code_reason_retryable_and_remedy() {
        let server = ServerName::parse("github").unwrap();
        let error = ToolError::new(Reason::ServerExited, "gone").at_server(&server);
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["code"], "TOOL_UNAVAILABLE");
        assert_eq!(json["reason"], "SERVER_EXITED");
        assert_eq!(json["retryable"], true);
        assert_eq!(json["remedy"], "See the cause with `pegboard logs github`.");
        assert_eq!(serde_json::from_value::<ToolError>(json).unwrap(), error);
    }
}

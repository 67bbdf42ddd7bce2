//! Failures as values: class, reason, message, remedy.

use serde::{Deserialize, Serialize};

use crate::{Reason, ServerName};

/// What anything in the tool layer answers.
pub type ToolResult<T> = Result<T, ToolError>;

/// The classes that programs act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Nothing is there to run the tool.
    #[serde(rename = "TOOL_NOT_IMPLEMENTED")]
    NotImplemented,
    /// A bad name, bad configuration or bad arguments.
    #[serde(rename = "TOOL_INVALID_INPUT")]
    InvalidInput,
    /// Trouble reaching the server.
    #[serde(rename = "TOOL_UNAVAILABLE")]
    Unavailable,
    /// The tool ran and failed, or the unexpected happened.
    #[serde(rename = "TOOL_EXECUTION_FAILED")]
    ExecutionFailed,
    /// A person or a policy does not allow it.
    #[serde(rename = "TOOL_DENIED")]
    Denied,
}

impl ErrorClass {
    /// The stable code, in capitals.
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

/// Why something did not work: names the thing, the reason and the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ToolError {
    /// The class that programs act on.
    pub code: ErrorClass,
    /// The finer reason.
    pub reason: Reason,
    /// What happened, for a person; free of secrets.
    pub message: String,
    /// Whether the same request may succeed later without any change.
    pub retryable: bool,
    /// The next step.
    pub remedy: String,
    /// The server it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerName>,
    /// The tool it is about, by exposed name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The field of the input it is about, as a JSON pointer or key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Names that may have been meant.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub nearest: Vec<String>,
    /// The server's own protocol error, where it gave one, to be passed on as it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rpc: Option<Box<RpcError>>,
}

/// A JSON-RPC error as somebody else wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message, foreign text.
    pub message: String,
    /// The `data` member as JSON text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<String>,
}

impl ToolError {
    /// An error with the reason's own class, retry rule and remedy.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
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
        }
    }

    /// Names the server, also in the remedy.
    #[must_use]
    pub fn at_server(mut self, server: &ServerName) -> Self {
        self.remedy = self.remedy.replace("SERVER", server.as_str());
        self.server = Some(server.clone());
        self
    }

    /// Names the tool, also in the remedy.
    #[must_use]
    pub fn at_tool(mut self, tool: impl Into<String>) -> Self {
        let tool = tool.into();
        self.remedy = self.remedy.replace("TOOL", &tool);
        self.tool = Some(tool);
        self
    }

    /// Names the field.
    #[must_use]
    pub fn at_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Gives a better next step than the table's.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Keeps the server's own protocol error beside our words for it.
    #[must_use]
    pub fn with_rpc(mut self, rpc: RpcError) -> Self {
        self.rpc = Some(Box::new(rpc));
        self
    }

    /// What happened and the next step, as sentences.
    pub fn full_message(&self) -> String {
        let message = self.message.trim_end();
        let end = match message.ends_with(['.', '!', '?', ':']) {
            true => "",
            false => ".",
        };
        format!("{message}{end} {}", self.remedy)
    }

    /// The same for a model: with the code, and with what may have been meant.
    pub fn model_message(&self) -> String {
        let words = self.with_model_remedy().full_message();
        let mut text = format!("{words} [{}]", self.reason.code());
        if !self.nearest.is_empty() {
            text.push_str(&format!(" Nearest: {}.", self.nearest.join(", ")));
        }
        text
    }

    /// The same error with the next step that a model can take: a model calls meta tools or tells the user, it runs
    /// no commands. Everything that goes to a model or to its client passes here.
    #[must_use]
    pub fn with_model_remedy(&self) -> Self {
        let table = self.filled(self.reason.remedy());
        let for_model = self.reason.remedy_for_model();
        let remedy = match self.remedy.strip_prefix(&table) {
            // What was added to the table's remedy is true for both.
            Some(added) if !names_command(added) => self.filled(for_model) + added,
            None if !names_command(&self.remedy) => self.remedy.clone(),
            _ => self.filled(for_model),
        };
        Self {
            remedy,
            ..self.clone()
        }
    }

    /// A remedy with the names that it has places for.
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

    /// Adds names that may have been meant.
    #[must_use]
    pub fn with_nearest(mut self, nearest: Vec<String>) -> Self {
        self.nearest = nearest;
        self
    }
}

/// Whether a text names a command of the program.
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
    fn r_gate_05_a_kept_error_is_readdressed_as_well() {
        let github = ServerName::parse("github").unwrap();
        let error = ToolError::new(Reason::ServerExited, "gone").at_server(&github);
        let kept: ToolError =
            serde_json::from_value(serde_json::to_value(&error).unwrap()).unwrap();
        assert!(
            !kept.model_message().contains("`pegboard"),
            "{}",
            kept.model_message()
        );
        assert!(
            kept.model_message().contains("server `github`"),
            "{}",
            kept.model_message()
        );
    }

    #[test]
    fn r_reg_05_an_error_carries_code_reason_retryable_and_remedy() {
        let server = ServerName::parse("github").unwrap();
        let error = ToolError::new(Reason::ServerExited, "gone").at_server(&server);
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["code"], "TOOL_UNAVAILABLE");
        assert_eq!(json["reason"], "SERVER_EXITED");
        assert_eq!(json["retryable"], true);
        assert_eq!(json["remedy"], "See why with `pegboard logs github`.");
        assert_eq!(serde_json::from_value::<ToolError>(json).unwrap(), error);
    }
}

//! Errors about one server: its own words are cut, cleaned of secrets, escaped and marked as its words.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Foreign, Reason, ServerName, ToolError};

use crate::envelope::RpcError;
use crate::redact::{Redactor, cut};

/// How many bytes of an answer that is no protocol are shown.
const GLIMPSE_BYTES: usize = 200;
/// How many lines of stderr an error carries.
const TAIL_LINES: usize = 5;
/// How much of each of those lines.
const TAIL_LINE_CHARS: usize = 300;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Speaks about one server.
#[derive(Clone)]
pub(crate) struct Wording {
    pub(crate) server: ServerName,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) text_bytes: usize,
}

impl Wording {
    /// An error about the server.
    pub(crate) fn error(&self, reason: Reason, what: impl std::fmt::Display) -> ToolError {
        ToolError::new(reason, format!("server `{}` {what}", self.server)).at_server(&self.server)
    }

    /// A text of the server, fit to be shown inside an error.
    pub(crate) fn quote(&self, text: &str) -> String {
        self.shown(text, self.text_bytes)
    }

    /// The start of something that should have been protocol.
    pub(crate) fn glimpse(&self, bytes: &[u8]) -> String {
        self.shown(&String::from_utf8_lossy(bytes), GLIMPSE_BYTES)
    }

    fn shown(&self, text: &str, bytes: usize) -> String {
        // What lies beyond the cut still matters for a secret that begins before it.
        let cleaned = self
            .redactor
            .clean(cut(text, bytes + self.redactor.longest()));
        let kept = cut(&cleaned, bytes);
        let mark = if kept.len() < cleaned.len() || text.len() > bytes {
            "…"
        } else {
            ""
        };
        format!("{}{mark}", Foreign::new(kept))
    }

    /// A JSON-RPC error in one phrase.
    pub(crate) fn rpc(&self, error: &RpcError) -> String {
        format!(
            "error {} with the words \"{}\"",
            error.code,
            self.quote(&error.message)
        )
    }

    /// What a JSON-RPC error to a call means to the caller.
    pub(crate) fn call_refused(&self, tool: &str, error: &RpcError) -> ToolError {
        let reason = match error.code {
            INVALID_PARAMS => Reason::ArgsInvalid,
            METHOD_NOT_FOUND => Reason::ToolUnknown,
            _ => Reason::ServerError,
        };
        self.error(
            reason,
            format_args!(
                "answered the call of `{}` by {}",
                self.quote(tool),
                self.rpc(error)
            ),
        )
    }

    /// The tool's answer did not come.
    pub(crate) fn call_timeout(&self, tool: &str, limit: Duration) -> ToolError {
        self.error(
            Reason::CallTimeout,
            format_args!(
                "did not answer the call of `{}` within {limit:?}",
                self.quote(tool)
            ),
        )
    }

    /// Adds the last lines of a (cleaned) stderr to an error.
    pub(crate) fn with_stderr(&self, mut error: ToolError, stderr: &str) -> ToolError {
        let lines: Vec<_> = stderr
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let tail = lines
            .get(lines.len().saturating_sub(TAIL_LINES)..)
            .unwrap_or_default();
        if !tail.is_empty() {
            error.message.push_str("; the last lines of its stderr:");
            for line in tail {
                let line = Foreign::new(line.trim_end()).shortened(TAIL_LINE_CHARS);
                error.message.push_str(&format!("\n  {line}"));
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wording() -> Wording {
        let mut redactor = Redactor::default();
        redactor.add("canary-value");
        Wording {
            server: ServerName::parse("files").unwrap(),
            redactor: Arc::new(redactor),
            text_bytes: 40,
        }
    }

    #[test]
    fn r_sec_01_words_of_a_server_are_cut_cleaned_and_escaped() {
        let error = RpcError {
            code: -32000,
            message: "key canary-value \u{1b}[2J".into(),
            data: None,
        };
        let error = wording().call_refused("read", &error);
        assert_eq!(error.reason, Reason::ServerError);
        assert_eq!(
            error.message,
            "server `files` answered the call of `read` by error -32000 with the words \"key *** \\u{1b}[2J\""
        );
        let long = format!("{}canary-value", "x".repeat(35));
        assert!(
            !wording().quote(&long).contains("canary"),
            "a secret at the cut goes as a whole"
        );
        assert_eq!(wording().quote(&"y".repeat(100)).chars().count(), 41);
    }

    #[test]
    fn protocol_errors_of_calls_have_their_class() {
        for (code, reason) in [
            (-32602, Reason::ArgsInvalid),
            (-32601, Reason::ToolUnknown),
            (-1, Reason::ServerError),
        ] {
            let error = RpcError {
                code,
                message: String::new(),
                data: None,
            };
            assert_eq!(wording().call_refused("t", &error).reason, reason);
        }
    }

    #[test]
    fn an_error_carries_the_last_lines_of_stderr() {
        let error = wording().error(Reason::ServerExited, "ended");
        let shown = wording().with_stderr(error, "1\n2\n3\n\n4\n5\n6\n").message;
        assert!(
            shown.ends_with("stderr:\n  2\n  3\n  4\n  5\n  6"),
            "{shown}"
        );
    }
}

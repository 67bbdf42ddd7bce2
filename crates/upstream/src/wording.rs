//! Errors about one server: its own words are cut, cleaned of secrets, escaped and marked as its words.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Foreign, Reason, ServerName, ToolError};
use serde::de::IgnoredAny;

use crate::envelope::{RpcError, TOO_DEEP};
use crate::redact::{Redactor, cut};

/// How many bytes of an answer that is no protocol are shown.
const GLIMPSE_BYTES: usize = 200;
/// How many lines of stderr an error carries.
const TAIL_LINES: usize = 5;
/// How much of each of those lines.
const TAIL_LINE_CHARS: usize = 300;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// What was asked of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// To run this tool.
    Call(&'a str),
    /// Something else, by this method.
    Method(&'a str),
}

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

    /// The answer is nested deeper than allowed.
    pub(crate) fn too_deep(&self) -> ToolError {
        let what = format_args!("gave an answer that {TOO_DEEP}");
        self.error(Reason::FrameInvalid, what)
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

    /// What a JSON-RPC error to a request means to the caller, with the error itself.
    pub(crate) fn refused(&self, subject: Subject<'_>, error: &RpcError) -> ToolError {
        let reason = match error.code {
            INVALID_PARAMS => Reason::ArgsInvalid,
            METHOD_NOT_FOUND => Reason::ToolUnknown,
            _ => Reason::ServerError,
        };
        let subject = self.subject(subject);
        let what = format_args!("answered {subject} by {}", self.rpc(error));
        self.error(reason, what).with_rpc(self.passed_on(error))
    }

    /// The error as the server wrote it, but for secrets of ours.
    fn passed_on(&self, error: &RpcError) -> pegboard_model::RpcError {
        let data = error.data.as_deref().and_then(|data| {
            match self.redactor.clean(data.get()) {
                Cow::Borrowed(text) => Some(text.to_owned()),
                // What a secret was taken out of may be no JSON any more.
                Cow::Owned(text) => serde_json::from_str::<IgnoredAny>(&text).ok().map(|_| text),
            }
        });
        pegboard_model::RpcError {
            code: error.code,
            message: self.redactor.clean(&error.message).into_owned(),
            data,
        }
    }

    /// The answer did not come.
    pub(crate) fn timeout(&self, subject: Subject<'_>, limit: Duration) -> ToolError {
        let subject = self.subject(subject);
        let what = format_args!("did not answer {subject} within {limit:?}");
        self.error(Reason::CallTimeout, what)
    }

    /// A request in words.
    pub(crate) fn subject(&self, subject: Subject<'_>) -> String {
        match subject {
            Subject::Call(tool) => format!("the call of `{}`", self.quote(tool)),
            Subject::Method(method) => format!("`{}`", self.quote(method)),
        }
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
        let error = wording().refused(Subject::Call("read"), &error);
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
            assert_eq!(wording().refused(Subject::Call("t"), &error).reason, reason);
        }
    }

    #[test]
    fn r_gate_03_the_server_s_own_error_is_passed_on_without_our_secrets() {
        let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).ok();
        let error = |data: &str| RpcError {
            code: -32042,
            message: "open canary-value \u{1b}".into(),
            data: raw(data),
        };
        let passed = |data: &str| {
            let error = wording().refused(Subject::Method("prompts/get"), &error(data));
            assert!(error.message.contains("answered `prompts/get`"), "{error}");
            *error.rpc.unwrap()
        };
        let found = passed(r#"{ "url" : "https://a/?k=canary-value", "n":1.50}"#);
        assert_eq!(
            (found.code, found.message.as_str()),
            (-32042, "open *** \u{1b}")
        );
        let data = r#"{ "url" : "https://a/?k=***", "n":1.50}"#;
        assert_eq!(found.data.as_deref(), Some(data));
        let untouched = r#"[ {"a" :1.50} ]"#;
        assert_eq!(passed(untouched).data.as_deref(), Some(untouched));
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

//! Errors about one server. Text from the server is truncated, redacted, escaped and quoted.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use pegboard_jsonrpc::{RpcError, TOO_DEEP, code, replace_lone};
use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};
use serde::de::IgnoredAny;

use crate::redact::{Redactor, truncate};

/// Bytes shown of a response that is not a protocol message.
const PREVIEW_BYTES: usize = 200;
/// Lines of stderr in an error.
const TAIL_LINES: usize = 5;
/// Lines of stderr that are searched for the cause. Older lines are about something else.
const CAUSE_LINES: usize = 40;
/// Characters shown of each line.
const TAIL_LINE_CHARS: usize = 300;

/// What was requested from a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestSubject<'a> {
    /// A call of this tool.
    Call(&'a str),
    /// Another method.
    Method(&'a str),
}

/// Creates errors about one server.
#[derive(Clone)]
pub(crate) struct ErrorContext {
    pub(crate) server: ServerName,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) text_bytes: usize,
}

impl ErrorContext {
    /// Creates an error about the server.
    pub(crate) fn error(&self, reason: Reason, what: impl std::fmt::Display) -> ToolError {
        ToolError::new(reason, format!("server `{}` {what}", self.server)).at_server(&self.server)
    }

    /// The response is nested deeper than allowed.
    pub(crate) fn too_deep(&self) -> ToolError {
        let what = format_args!("sent a response that {TOO_DEEP}");
        self.error(Reason::FrameInvalid, what)
    }

    /// Prepares a text of the server for display inside an error.
    pub(crate) fn quote(&self, text: &str) -> String {
        self.shown(text, self.text_bytes)
    }

    /// Shows the start of something that should have been a protocol message.
    pub(crate) fn preview(&self, bytes: &[u8]) -> String {
        self.shown(&String::from_utf8_lossy(bytes), PREVIEW_BYTES)
    }

    fn shown(&self, text: &str, bytes: usize) -> String {
        // Text beyond the cut matters for a secret that begins before it.
        let cleaned = self
            .redactor
            .clean(truncate(text, bytes + self.redactor.longest()));
        let kept = truncate(&cleaned, bytes);
        let mark = if kept.len() < cleaned.len() || text.len() > bytes {
            "…"
        } else {
            ""
        };
        format!("{}{mark}", UntrustedText::new(kept))
    }

    /// Describes a JSON-RPC error in one phrase.
    pub(crate) fn describe(&self, error: &RpcError) -> String {
        format!("error {} (\"{}\")", error.code, self.quote(&error.message))
    }

    /// Converts a JSON-RPC error to a request into an error for the caller, with the original attached.
    pub(crate) fn rpc_failure(&self, subject: RequestSubject<'_>, error: &RpcError) -> ToolError {
        let reason = match error.code {
            code::INVALID_PARAMS => Reason::ArgsInvalid,
            code::METHOD_NOT_FOUND => Reason::ToolUnknown,
            _ => Reason::ServerError,
        };
        let subject = self.subject(subject);
        let what = format_args!("answered {subject} with {}", self.describe(error));
        self.error(reason, what)
            .with_rpc(self.without_secrets(error))
    }

    /// Returns the error as the server wrote it, without our secrets.
    fn without_secrets(&self, error: &RpcError) -> RpcError {
        let data = error.data.as_deref().and_then(|data| {
            match self.redactor.clean(&replace_lone(data)) {
                Cow::Borrowed(text) => Some(text.to_owned()),
                // Masking a secret may have broken the JSON.
                Cow::Owned(text) => serde_json::from_str::<IgnoredAny>(&text).ok().map(|_| text),
            }
        });
        RpcError {
            code: error.code,
            message: self.redactor.clean(&error.message).into_owned(),
            data,
        }
    }

    /// The response did not arrive in time.
    pub(crate) fn timeout(&self, subject: RequestSubject<'_>, limit: Duration) -> ToolError {
        let subject = self.subject(subject);
        let limit = format_duration(limit);
        let what = format_args!("did not answer {subject} within {limit}");
        self.error(Reason::CallTimeout, what)
    }

    /// Describes a request.
    pub(crate) fn subject(&self, subject: RequestSubject<'_>) -> String {
        match subject {
            RequestSubject::Call(tool) => format!("the call of `{}`", self.quote(tool)),
            RequestSubject::Method(method) => format!("`{}`", self.quote(method)),
        }
    }

    /// Adds the cause found in a (redacted) stderr to an error: the line that names it goes to the first line of the
    /// message, which is all that a list shows, and the last lines follow.
    pub(crate) fn with_stderr(&self, mut error: ToolError, stderr: &str) -> ToolError {
        let lines: Vec<&str> = stderr.lines().filter(|line| !is_filler(line)).collect();
        let start = lines.len().saturating_sub(TAIL_LINES);
        let Some((cause, tail)) = cause(&lines).zip(lines.get(start..)) else {
            return error;
        };
        let shown = |line: &str| {
            UntrustedText::new(line.trim())
                .shortened(TAIL_LINE_CHARS)
                .to_string()
        };
        error.message.push_str(&format!(": {}", shown(cause)));
        if tail != [cause] {
            error.message.push_str("\nThe last lines of its stderr:");
            for line in tail {
                let line = UntrustedText::new(line.trim_end()).shortened(TAIL_LINE_CHARS);
                error.message.push_str(&format!("\n  {line}"));
            }
        }
        error
    }
}

/// Returns the line that best explains why a server failed: the first of the newest lines that names an error, or the
/// last line. Node.js names the cause first and ends with a dump, Python ends with it.
pub(crate) fn cause<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let newest = lines.get(lines.len().saturating_sub(CAUSE_LINES)..)?;
    let first = newest.iter().find(|line| names_error(line));
    first.or(newest.last()).copied()
}

/// Stack frames, punctuation, and the version that Node.js ends with.
fn is_filler(line: &str) -> bool {
    let line = line.trim();
    let is_mark = line.chars().all(|c| c.is_ascii_punctuation());
    is_mark || line.starts_with("at ") || line.starts_with("Node.js v")
}

fn names_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words = ["error:", "exception:", "fatal:", "panicked at", "not found"];
    words.iter().any(|word| line.contains(word))
}

/// Formats a time limit without meaningless digits: `4 s`, `2.5 s`, `200 ms`.
pub(crate) fn format_duration(duration: Duration) -> String {
    let rounded = rounded(duration);
    match rounded.as_secs() {
        0 => format!("{} ms", rounded.as_millis()),
        seconds if rounded.subsec_millis() == 0 => format!("{seconds} s"),
        _ => format!("{:.1} s", rounded.as_secs_f64()),
    }
}

/// Rounds a duration: the rest of a time limit is rarely a round number.
fn rounded(duration: Duration) -> Duration {
    let step = match duration.as_secs() {
        0 => 1,
        1..60 => 100,
        _ => 1000,
    };
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let up = u64::from(!duration.subsec_nanos().is_multiple_of(1_000_000));
    let steps = milliseconds.saturating_add(up).saturating_add(step / 2) / step;
    Duration::from_millis(steps * step)
}

#[cfg(test)]
mod tests {
    use pegboard_jsonrpc::rpc_error;

    use super::*;

    fn errors() -> ErrorContext {
        let mut redactor = Redactor::default();
        redactor.add("canary-value");
        ErrorContext {
            server: ServerName::parse("files").unwrap(),
            redactor: Arc::new(redactor),
            text_bytes: 40,
        }
    }

    #[test]
    fn r_sec_01_texts_of_a_server_are_shortened_cleaned_and_escaped() {
        let error = rpc_error(-32000, "key canary-value \u{1b}[2J");
        let error = errors().rpc_failure(RequestSubject::Call("read"), &error);
        assert_eq!(error.reason, Reason::ServerError);
        assert_eq!(
            error.message,
            "server `files` answered the call of `read` with error -32000 (\"key *** \\u{1b}[2J\")"
        );
        let long = format!("{}canary-value", "x".repeat(35));
        assert!(
            !errors().quote(&long).contains("canary"),
            "a secret at the cut goes as a whole"
        );
        assert_eq!(errors().quote(&"y".repeat(100)).chars().count(), 41);
    }

    #[test]
    fn protocol_errors_of_calls_have_their_class() {
        for (code, reason) in [
            (-32602, Reason::ArgsInvalid),
            (-32601, Reason::ToolUnknown),
            (-1, Reason::ServerError),
        ] {
            let error = rpc_error(code, "");
            assert_eq!(
                errors()
                    .rpc_failure(RequestSubject::Call("t"), &error)
                    .reason,
                reason
            );
        }
    }

    #[test]
    fn r_gate_03_the_server_s_own_error_is_passed_on_without_our_secrets() {
        let error = |data: &str| RpcError {
            code: -32042,
            message: "open canary-value \u{1b}".into(),
            data: Some(data.to_owned()),
        };
        let passed = |data: &str| {
            let error = errors().rpc_failure(RequestSubject::Method("prompts/get"), &error(data));
            assert!(error.message.contains("answered `prompts/get`"), "{error}");
            error.into_details().rpc.unwrap()
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
    fn r_ui_02_an_error_carries_the_line_that_names_the_cause() {
        let node = "node:internal/modules/cjs/loader:1368\n  throw err;\n  ^\n\n\
            Error: Cannot find module '/srv/index.js'\n    at Module._resolveFilename (node:internal)\n    \
            at node:internal/main/run_main_module:36:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [\n    \
            '/a.js',\n    '/b.js',\n    '/c.js',\n    '/d.js'\n  ]\n}\n\nNode.js v20.20.2\n";
        let error = errors().error(Reason::ServerExited, "ended");
        let shown = &errors().with_stderr(error, node).message;
        assert_eq!(
            shown.lines().next(),
            Some("server `files` ended: Error: Cannot find module '/srv/index.js'")
        );
        assert!(
            !shown.contains("Node.js v") && !shown.contains(" at "),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), TAIL_LINES + 2, "{shown}");
    }

    #[test]
    fn r_ui_02_the_first_line_of_an_error_names_the_cause_whatever_the_language() {
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1\n    import x\n\
                      ModuleNotFoundError: No module named 'x'\n";
        let old = format!("Error: long ago\n{}the end\n", "fine\n".repeat(60));
        for (stderr, expected) in [
            (python, "ModuleNotFoundError: No module named 'x'"),
            ("one line only\n", "one line only"),
            (&old, "the end"),
        ] {
            let error = errors().error(Reason::ServerExited, "ended");
            let shown = &errors().with_stderr(error, stderr).message;
            let first = shown.lines().next().unwrap_or_default();
            assert_eq!(first, format!("server `files` ended: {expected}"));
        }
    }

    #[test]
    fn r_ui_02_durations_have_no_insignificant_digits() {
        let shown = |nanos| format_duration(Duration::from_nanos(nanos));
        assert_eq!(shown(3_999_998_497), "4 s");
        assert_eq!(shown(2_500_000_000), "2.5 s");
        assert_eq!(shown(199_999_999), "200 ms");
        assert_eq!(shown(50_000_000), "50 ms");
        assert_eq!(shown(61_234_567_890), "61 s");
        assert_eq!(shown(999_999_999), "1 s");
        assert_eq!(shown(0), "0 ms");
    }

    #[test]
    fn an_error_carries_the_last_lines_of_stderr() {
        let error = errors().error(Reason::ServerExited, "ended");
        let shown = &errors().with_stderr(error, "1\n2\n3\n\n4\n5\n6\n").message;
        assert!(
            shown.ends_with("ended: 6\nThe last lines of its stderr:\n  2\n  3\n  4\n  5\n  6"),
            "{shown}"
        );
    }
}

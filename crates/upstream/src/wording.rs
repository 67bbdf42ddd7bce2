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
        let limit = rounded(limit);
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

    /// Adds the last telling lines of a (cleaned) stderr to an error.
    pub(crate) fn with_stderr(&self, mut error: ToolError, stderr: &str) -> ToolError {
        let lines = telling_lines(stderr);
        if !lines.is_empty() {
            error.message.push_str("; the last lines of its stderr:");
            for line in lines {
                let line = Foreign::new(line.trim_end()).shortened(TAIL_LINE_CHARS);
                error.message.push_str(&format!("\n  {line}"));
            }
        }
        error
    }
}

/// The last lines, without those that only surround an error, and with the last line that names one.
fn telling_lines(stderr: &str) -> Vec<&str> {
    let lines: Vec<&str> = stderr.lines().filter(|line| !is_filler(line)).collect();
    let start = lines.len().saturating_sub(TAIL_LINES);
    let named = lines.iter().rposition(|line| names_error(line));
    let (before, tail) = lines.split_at_checked(start).unwrap_or_default();
    match named.and_then(|at| before.get(at)) {
        Some(named) => std::iter::once(*named)
            .chain(tail.iter().skip(1).copied())
            .collect(),
        None => tail.to_vec(),
    }
}

/// Stack frames, brackets and marks, and the version that Node.js ends with.
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

/// A duration without digits that say nothing: what is left of a time limit is rarely a round number.
pub(crate) fn rounded(duration: Duration) -> Duration {
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
    fn r_ui_02_an_error_carries_the_line_that_names_the_cause() {
        let node = "node:internal/modules/cjs/loader:1368\n  throw err;\n  ^\n\n\
            Error: Cannot find module '/srv/index.js'\n    at Module._resolveFilename (node:internal)\n    \
            at node:internal/main/run_main_module:36:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [\n    \
            '/a.js',\n    '/b.js',\n    '/c.js',\n    '/d.js'\n  ]\n}\n\nNode.js v20.20.2\n";
        let error = wording().error(Reason::ServerExited, "ended");
        let shown = wording().with_stderr(error, node).message;
        assert!(shown.contains("\n  Error: Cannot find module"), "{shown}");
        assert!(
            !shown.contains("Node.js v") && !shown.contains(" at "),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), TAIL_LINES + 1, "{shown}");
    }

    #[test]
    fn r_ui_02_durations_have_no_digits_that_say_nothing() {
        let shown = |nanos| format!("{:?}", rounded(Duration::from_nanos(nanos)));
        assert_eq!(shown(4_999_996_975), "5s");
        assert_eq!(shown(2_500_000_000), "2.5s");
        assert_eq!(shown(199_999_999), "200ms");
        assert_eq!(shown(50_000_000), "50ms");
        assert_eq!(shown(61_234_567_890), "61s");
        assert_eq!(shown(0), "0ns");
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

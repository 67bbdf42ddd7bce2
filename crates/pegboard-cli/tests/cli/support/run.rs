//! A run of the program until it exits.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use pegboard_testkit::wait_until_sync;
use serde_json::Value;

use super::TIMEOUT;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Run {
    /// Runs a command until it exits; a hanging one is killed and fails the test.
    pub(crate) fn of(mut command: Command, input: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        if let Some(mut stdin) = child.stdin.take() {
            // The program may have exited without reading its input.
            let _ = stdin.write_all(input.as_bytes());
        }
        let code = exit_code(&mut child, &command);
        let text = |thread: std::thread::JoinHandle<Vec<u8>>| {
            String::from_utf8(thread.join().expect("a reader ends")).expect("answers are UTF-8")
        };
        Self {
            stdout: text(stdout),
            stderr: text(stderr),
            code,
        }
    }

    /// Asserts the exit code and prints the output otherwise.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Parses stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not one JSON document ({error}):\n{}", self.stdout))
    }

    /// Parses the error that `--json` writes as the last line of stderr.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        let document: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("not an error ({error}):\n{}", self.stderr));
        document["error"].clone()
    }
}

fn collect(source: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    let mut source = source.expect("the pipe is there");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = source.read_to_end(&mut bytes);
        bytes
    })
}

fn exit_code(child: &mut Child, command: &Command) -> i32 {
    let mut status = None;
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wait_until_sync(&format!("the end of {command:?}"), TIMEOUT, || {
            status = child.try_wait().expect("the child can be waited for");
            status.is_some()
        });
    }));
    if let Err(panic) = waited {
        let _ = child.kill();
        let _ = child.wait();
        std::panic::resume_unwind(panic);
    }
    status.and_then(|status| status.code()).unwrap_or(-1)
}

//! Running a client program: one line of JSON in, one line of JSON out.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::machine::{Machine, program, text};

/// The time limit of a client without output: each step has its own limit, and a tour has about forty steps.
const LIMIT: Duration = Duration::from_secs(300);

/// The SDK of a client program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    Python,
    TypeScript,
}

/// A running client program. Killed on drop.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Client {
    /// Starts a task of a client program.
    #[expect(clippy::disallowed_methods, reason = "starts a client")]
    pub(crate) fn start(machine: &Machine, sdk: Sdk, task: &str, input: &Value) -> Self {
        let (interpreter, file) = match sdk {
            Sdk::Python => (machine.python(), "python_client.py"),
            Sdk::TypeScript => ("node".to_owned(), "typescript_client.mjs"),
        };
        let mut child = Command::new(interpreter)
            .args([&program(file), task])
            .env("NODE_MODULES_OF", text(&machine.installed.join("clients")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let stdout = child.stdout.take().expect("its output");
        let mut stderr = child.stderr.take().expect("its errors");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let stdin = child.stdin.take().expect("its input");
        let mut client = Self {
            child,
            stdin,
            lines,
            stderr: Some(stderr),
        };
        client.send_line(&input.to_string());
        client
    }

    /// Runs a task and returns its output.
    pub(crate) fn run(machine: &Machine, sdk: Sdk, task: &str, input: &Value) -> Value {
        Self::start(machine, sdk, task, input).seen()
    }

    /// Writes a line to its standard input.
    pub(crate) fn send_line(&mut self, line: &str) {
        let sent = writeln!(self.stdin, "{line}").and_then(|()| self.stdin.flush());
        sent.expect("the client reads");
    }

    /// Returns its next line of output.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(why) => {
                let _ = self.child.kill();
                let stderr = self.stderr.take().map(JoinHandle::join);
                panic!("the client printed nothing ({why}): {stderr:?}");
            }
        }
    }

    /// Waits for the final output.
    #[track_caller]
    pub(crate) fn seen(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Line-based communication with a server of this crate.

#![allow(
    clippy::disallowed_methods,
    dead_code,
    reason = "starts the servers under test; each test file uses its part"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A started server and its pipes; killed on drop.
pub(crate) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Pipe {
    pub(crate) fn start(program: impl AsRef<std::ffi::OsStr>, args: &[String]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stdout
                .read_until(b'\n', &mut line)
                .is_ok_and(|bytes| bytes > 0)
            {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
        }
    }

    /// Sends a message. Errors are ignored; a server that has exited sends no response.
    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        match stdin.write_all(format!("{message}\n").as_bytes()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
    }

    /// The next line with its line break; `None` if the server closed its output.
    pub(crate) fn line(&self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(READ_TIMEOUT) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the server says nothing"),
        }
    }

    pub(crate) fn message(&self) -> Value {
        serde_json::from_slice(&self.line().expect("the server has ended")).unwrap()
    }

    /// Sends a request of the modern era and reads the next message.
    pub(crate) fn modern(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&modern(id, method, params));
        self.message()
    }

    /// Sends a request of the legacy era and reads the next message.
    pub(crate) fn legacy(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.message()
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.legacy(0, "initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The exit code of a server that exits by itself.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.stdin = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn tool_names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap_or("?").to_owned())
        .collect()
}

//! An MCP client over stdio: starts a server and exchanges lines with it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(crate) struct PipeClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl PipeClient {
    /// Starts a server and performs the handshake.
    pub(crate) fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("a server");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("its stdout");
        let mut client = Self {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 16, stdout),
        };
        client.send(r#"{"jsonrpc":"2.0","id":1000000,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#);
        client.write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Requests the tool list.
    pub(crate) fn list(&mut self) -> Vec<u8> {
        self.send(r#"{"jsonrpc":"2.0","id":1000001,"method":"tools/list","params":{}}"#)
    }

    /// Sends a request and waits for the response; notifications are skipped.
    pub(crate) fn send(&mut self, message: &str) -> Vec<u8> {
        self.write_line(message);
        loop {
            let mut line = Vec::new();
            let read = self.stdout.read_until(b'\n', &mut line);
            assert!(read.is_ok_and(|read| read > 0), "no response to {message}");
            if !line.starts_with(br#"{"jsonrpc":"2.0","method""#) {
                line.pop();
                return line;
            }
        }
    }

    fn write_line(&mut self, message: &str) {
        let stdin = self.stdin.as_mut().expect("its stdin");
        let written = stdin.write_all(format!("{message}\n").as_bytes());
        written.expect("a message");
    }
}

impl Drop for PipeClient {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

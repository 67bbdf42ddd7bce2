//! A client of `pegboard stdio`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{Home, TIMEOUT};

/// An MCP client that started `pegboard stdio`. Killed on drop.
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    last_id: u64,
    /// Messages other than the awaited responses.
    pub(super) others: Vec<Value>,
}

impl Client {
    pub(super) fn start(home: &Home) -> Self {
        Self::of(home.command(&["stdio"]))
    }

    /// Starts a client in a folder below the machine's own.
    pub(super) fn start_in(home: &Home, folder: &str) -> Self {
        let folder = home.path(folder);
        std::fs::create_dir_all(&folder).expect("a folder of the test");
        let mut command = home.command(&["stdio"]);
        command.current_dir(folder);
        Self::of(command)
    }

    pub(super) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("only protocol messages");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            messages,
            last_id: 0,
            others: Vec::new(),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{message}").expect("the client's message is read");
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Value {
        let next = self.messages.recv_timeout(TIMEOUT);
        next.expect("the program sends a message in time")
    }

    /// Waits for the response to a request; other messages are kept.
    pub(super) fn response(&mut self, id: u64) -> Value {
        let is_response = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.others.iter().position(is_response) {
            return self.others.remove(at);
        }
        loop {
            let message = self.next();
            if is_response(&message) {
                return message;
            }
            self.others.push(message);
        }
    }

    /// Sends a request and returns its id.
    pub(super) fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send_request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.response(id)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.response(id)
    }

    pub(super) fn add(&mut self, a: u64, b: u64) -> Value {
        self.call("example__add_numbers", json!({"a": a, "b": b}))
    }

    /// Opens the session of a client without capabilities.
    pub(super) fn open(&mut self) {
        self.open_with(json!({}));
    }

    pub(super) fn open_with(&mut self, capabilities: Value) {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info,
        });
        let opened = self.request("initialize", params);
        let name = &opened["result"]["serverInfo"]["name"];
        assert_eq!(*name, "pegboard", "{opened}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Closes the input and waits for the end.
    pub(super) fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A client that writes raw messages, so that only the gateway is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use crate::support::{Home, Running, TIMEOUT};

const MODERN: &str = "2026-07-28";

/// A running gateway and its connection.
pub(crate) enum Gateway {
    /// A legacy session after its handshake.
    Stdio {
        child: Child,
        stdin: Option<ChildStdin>,
        lines: Receiver<String>,
        last: u64,
    },
    /// Modern requests without a session.
    Http {
        running: Running,
        port: u16,
        path: String,
    },
}

impl Gateway {
    /// Starts `pegboard stdio` and initializes a session.
    pub(crate) fn stdio(home: &Home, profile: &str) -> Self {
        let mut child = home
            .command(&["stdio", "--profile", profile])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the gateway starts");
        let stdout = child.stdout.take().expect("its output");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stdin = child.stdin.take();
        let mut gateway = Self::Stdio {
            child,
            stdin,
            lines,
            last: 0,
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        assert!(gateway.request("initialize", hello)["serverInfo"].is_object());
        gateway.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        gateway
    }

    /// Starts `pegboard serve`.
    pub(crate) fn http(home: &Home, profile: &str) -> Self {
        let (running, port) = serve(home, "0");
        Self::Http {
            running,
            port,
            path: format!("/mcp/{profile}"),
        }
    }

    /// Sends a request and returns the result.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        let answer = match self {
            Self::Stdio { last, .. } => {
                *last += 1;
                let id = *last;
                self.write(
                    &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
                );
                self.answer(id)
            }
            Self::Http { port, path, .. } => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let mut headers =
                    format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
                if let Some(name) = params["name"].as_str() {
                    headers.push_str(&format!("Mcp-Name: {name}\r\n"));
                }
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                post(*port, path, &headers, &body).message()
            }
        };
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Returns the names of the listed tools.
    pub(crate) fn listed(&mut self) -> Vec<String> {
        let list = self.request("tools/list", json!({}));
        let tools = list["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Calls a tool and returns its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }

    /// Stops the gateway.
    pub(crate) fn stop(self) {
        match self {
            Self::Stdio {
                mut child,
                mut stdin,
                ..
            } => {
                drop(stdin.take());
                let mut status = None;
                wait_until_sync("the end of `pegboard stdio`", TIMEOUT, || {
                    status = child.try_wait().expect("the child can be waited for");
                    status.is_some()
                });
            }
            Self::Http { mut running, .. } => {
                running.signal("-TERM");
                running.wait();
            }
        }
    }

    fn write(&mut self, message: &Value) {
        if let Self::Stdio {
            stdin: Some(stdin), ..
        } = self
        {
            let written = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
            written.expect("the gateway reads");
        }
    }

    fn answer(&self, id: u64) -> Value {
        let Self::Stdio { lines, .. } = self else {
            panic!("only a pipe is read line by line");
        };
        loop {
            let line = lines.recv_timeout(TIMEOUT).expect("an answer in time");
            let message: Value = serde_json::from_str(&line).expect("a message");
            if message["id"] == id {
                return message;
            }
        }
    }
}

/// Starts `pegboard serve` and waits for its address.
pub(crate) fn serve(home: &Home, port: &str) -> (Running, u16) {
    let running = home.start(&["serve", "--port", port, "--no-auth"]);
    let mut found = None;
    wait_until_sync("the address in what `serve` says", TIMEOUT, || {
        let printed = running.output();
        let rest = printed
            .split_once("http://127.0.0.1:")
            .map(|(_, rest)| rest);
        found = rest.and_then(|rest| rest.split_once("/mcp")?.0.parse().ok());
        found.is_some()
    });
    (running, found.expect("it was found"))
}

/// An HTTP response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: String,
}

impl Reply {
    /// Returns the message of the body or of its last event.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        let lines = self.body.lines().rev();
        let text = lines
            .map(|line| line.trim_start_matches("data:").trim())
            .find(|line| line.starts_with('{'))
            .unwrap_or_default();
        serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.head, self.body))
    }

    /// Returns the value of a header; names are case-sensitive.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let is_it = |line: &&str| {
            let (key, _) = line.split_once(':').unwrap_or_default();
            key.eq_ignore_ascii_case(name)
        };
        let (_, value) = self.head.lines().find(is_it)?.split_once(':')?;
        Some(value.trim())
    }
}

/// Sends one message by POST.
pub(crate) fn post(port: u16, path: &str, headers: &str, body: &Value) -> Reply {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream
        .set_read_timeout(Some(TIMEOUT))
        .expect("a limit for reading");
    let size = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {size}\r\n\
         {headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer in time");
    let text = String::from_utf8(bytes).expect("answers are UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    Reply {
        status: status.expect("a status"),
        head: head.to_owned(),
        body: match is_chunked {
            true => joined(body),
            false => body.to_owned(),
        },
    }
}

/// Joins the chunks of a chunked body.
fn joined(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let (Some(piece), Some(after)) = (more.get(..size), more.get(size..)) else {
            break;
        };
        if size == 0 {
            break;
        }
        whole.push_str(piece);
        rest = after.trim_start_matches("\r\n");
    }
    whole
}

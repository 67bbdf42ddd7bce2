//! An MCP client over HTTP with one persistent connection and one session.

use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// All ids have the same number of digits, so that responses to the same request have the same length.
const FIRST_ID: u64 = 1_000_000;
/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// A request that is sent repeatedly.
#[derive(Clone)]
pub(crate) struct McpRequest {
    pub(crate) method: &'static str,
    /// The tool to call.
    pub(crate) name: Option<String>,
    pub(crate) arguments: String,
}

impl McpRequest {
    pub(crate) fn list() -> Self {
        Self {
            method: "tools/list",
            name: None,
            arguments: String::new(),
        }
    }

    pub(crate) fn call(tool: &str, arguments: &str) -> Self {
        Self {
            method: "tools/call",
            name: Some(tool.to_owned()),
            arguments: arguments.to_owned(),
        }
    }

    fn body(&self, id: u64, era: Era) -> String {
        let subject = match &self.name {
            Some(name) => format!(r#""name":"{name}","arguments":{}"#, self.arguments),
            None => String::new(),
        };
        let comma = if subject.is_empty() { "" } else { "," };
        let meta = match era {
            Era::Legacy => String::new(),
            Era::Modern => format!(
                r#"{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}}}}"#
            ),
        };
        let method = self.method;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{subject}{meta}}}}}"#)
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    head: String,
    era: Era,
    next_id: u64,
    /// The received bytes; the body begins at `body`.
    buffer: Vec<u8>,
    body: usize,
    session: Option<String>,
}

impl Client {
    /// Connects and, in the legacy era, starts a session.
    pub(crate) async fn open(address: &str, path: &str, era: Era) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a connection's option");
        let revision = match era {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: {revision}\r\n"
        );
        let mut client = Self {
            stream,
            head,
            era,
            next_id: FIRST_ID,
            buffer: Vec::with_capacity(1 << 16),
            body: 0,
            session: None,
        };
        if era == Era::Legacy {
            client.begin().await;
        }
        client
    }

    async fn begin(&mut self) {
        let id = self.next_id;
        self.next_id += 1;
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}"#
        );
        self.post("", &hello).await;
        let session = self.session.take();
        if let Some(session) = session {
            self.head += &format!("Mcp-Session-Id: {session}\r\n");
        }
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.post("", notice).await;
    }

    /// Sends a request and waits for the whole response.
    pub(crate) async fn send(&mut self, request: &McpRequest) -> &[u8] {
        let id = self.next_id;
        self.next_id += 1;
        let body = request.body(id, self.era);
        let more = match (self.era, &request.name) {
            (Era::Legacy, _) => String::new(),
            (Era::Modern, None) => format!("Mcp-Method: {}\r\n", request.method),
            (Era::Modern, Some(name)) => {
                format!("Mcp-Method: {}\r\nMcp-Name: {name}\r\n", request.method)
            }
        };
        self.post(&more, &body).await
    }

    async fn post(&mut self, more: &str, message: &str) -> &[u8] {
        let head = &self.head;
        let length = message.len();
        let request = format!("{head}{more}Content-Length: {length}\r\n\r\n{message}");
        let written = self.stream.write_all(request.as_bytes()).await;
        written.expect("a request");
        self.buffer.clear();
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            self.read_more().await;
        };
        let head = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default());
        let mut length = 0;
        for line in head.split("\r\n").skip(1) {
            let (name, value) = line.split_once(": ").unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().expect("a length");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                self.session = Some(value.to_owned());
            }
        }
        assert!(
            head.starts_with("HTTP/1.1 20"),
            "unexpected response to {message}:\n{}",
            String::from_utf8_lossy(&self.buffer)
        );
        let is_stream = head.contains("chunked");
        self.body = end + 4;
        if is_stream {
            // A request that takes longer gets a stream of events, which ends with the response.
            while !self.buffer.ends_with(LAST_CHUNK) {
                self.read_more().await;
            }
        }
        self.buffer
            .reserve((self.body + length).saturating_sub(self.buffer.len()));
        while self.buffer.len() < self.body + length {
            self.read_more().await;
        }
        self.buffer.get(self.body..).unwrap_or_default()
    }

    async fn read_more(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await;
        assert!(read.expect("a response") > 0, "the connection was closed");
    }
}

/// Panics unless the response is a successful result.
pub(crate) fn check(answer: &[u8]) {
    let shown = || String::from_utf8_lossy(answer.get(..answer.len().min(600)).unwrap_or_default());
    let is_good =
        find(answer, b"\"result\"").is_some() && find(answer, b"\"isError\":true").is_none();
    assert!(is_good, "not a result: {}", shown());
}

//! An API client with one persistent connection.

use memchr::memmem::find;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct ApiClient {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl ApiClient {
    pub(crate) async fn open(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a connection's option");
        Self {
            stream,
            head: format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n"),
            buffer: Vec::with_capacity(1 << 16),
        }
    }

    /// Reads a resource and returns the body; panics on an error.
    pub(crate) async fn get(&mut self, path: &str) -> &[u8] {
        let (status, body) = self.send("GET", path, "").await;
        let shown = || String::from_utf8_lossy(body.get(..body.len().min(600)).unwrap_or_default());
        assert!(status == 200, "GET {path} returned {status}: {}", shown());
        body
    }

    /// Sends a POST request and returns the status.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> u16 {
        self.send("POST", path, body).await.0
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, &[u8]) {
        let (head, length) = (&self.head, body.len());
        let more = match method {
            "POST" => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
            _ => String::new(),
        };
        let request = format!("{method} {path} HTTP/1.1\r\n{head}{more}\r\n{body}");
        let written = self.stream.write_all(request.as_bytes()).await;
        written.expect("a request");
        self.buffer.clear();
        let end = loop {
            match find(&self.buffer, b"\r\n\r\n") {
                Some(end) => break end,
                None => self.read_more().await,
            }
        };
        let head = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default());
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let length = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse::<usize>().ok())?
        });
        let (status, length) = (status.expect("a status"), length.expect("a length"));
        while self.buffer.len() < end + 4 + length {
            self.read_more().await;
        }
        (status, self.buffer.get(end + 4..).unwrap_or_default())
    }

    async fn read_more(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await;
        assert!(read.expect("an answer") > 0, "the connection was closed");
    }
}

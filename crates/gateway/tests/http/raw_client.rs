//! A plain HTTP/1.1 client that gives tests control over every byte.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A request before it is sent.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Sets a header. An empty value removes it.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request and waits for the response head.
    pub(crate) async fn open(self, address: SocketAddr) -> OpenResponse {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = self.header("Connection", "close");
        let mut text = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
        for (name, value) in &request.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", request.body.len()));
        text.push_str(&request.body);
        // The response may arrive, and the connection close, before the whole request is written.
        let _ = stream.write_all(text.as_bytes()).await;
        let mut open = OpenResponse {
            stream,
            text: String::new(),
            head_end: 0,
        };
        open.until("\r\n\r\n").await;
        open.head_end = open.text.find("\r\n\r\n").unwrap_or(open.text.len()) + 4;
        open
    }

    /// Sends the request and waits for the complete response.
    pub(crate) async fn send(self, address: SocketAddr) -> HttpResponse {
        let mut open = self.open(address).await;
        open.rest().await;
        open.answer()
    }
}

/// A response that is still being read.
pub(crate) struct OpenResponse {
    stream: TcpStream,
    text: String,
    head_end: usize,
}

impl OpenResponse {
    /// Reads until a text is received. Returns whether it was.
    pub(crate) async fn until(&mut self, wanted: &str) -> bool {
        let from = self.head_end;
        while !self.text[from.min(self.text.len())..].contains(wanted) {
            if !self.more().await {
                return false;
            }
        }
        true
    }

    /// Reads to the end.
    pub(crate) async fn rest(&mut self) {
        while self.more().await {}
    }

    async fn more(&mut self) -> bool {
        let mut piece = vec![0; 64 * 1024];
        let read = timeout(TIMEOUT, self.stream.read(&mut piece)).await;
        let length = read.expect("an answer in time").unwrap_or(0);
        self.text
            .push_str(&String::from_utf8_lossy(&piece[..length]));
        length > 0
    }

    pub(crate) fn answer(&self) -> HttpResponse {
        let (head, body) = self.text.split_at(self.head_end.min(self.text.len()));
        let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap();
        let chunked = head.contains("transfer-encoding: chunked");
        HttpResponse {
            status,
            head: head.to_owned(),
            body: if chunked {
                unchunked(body)
            } else {
                body.to_owned()
            },
        }
    }
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let Some(chunk) = rest.get(..size).filter(|_| size > 0) else {
            break;
        };
        whole.push_str(chunk);
        text = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

/// The response as far as it was read.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut fields = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        fields.next().map(|(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The event ids and messages of a stream.
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        let field = |event: &str, name: &str| {
            let fields = event.lines().filter_map(|line| line.strip_prefix(name));
            fields.collect::<Vec<_>>().join("\n")
        };
        let events = self
            .body
            .split("\n\n")
            .filter(|event| event.contains("data: "));
        events
            .map(|event| {
                let data = serde_json::from_str(&field(event, "data: ")).unwrap_or(Value::Null);
                (field(event, "id: "), data)
            })
            .collect()
    }
}

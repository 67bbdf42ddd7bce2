//! A minimal HTTP/1.1 client.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

/// Sends a request to `http://address/path` and returns the status and the body.
pub(crate) fn http(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let (status, _, body) = http_whole(url, method, headers, body);
    (status, body)
}

/// Like `http`, but also returns the response headers.
pub(crate) fn http_whole(
    url: &str,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String, String) {
    let rest = url.strip_prefix("http://").expect("a plain address");
    let (address, path) = rest.split_once('/').expect("an address with a path");
    let mut stream = TcpStream::connect(address).expect("a listener");
    let mut text = format!("{method} /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (status.expect("a status"), head.to_owned(), body.to_owned())
}

/// Sends a modern MCP request and returns the status and the response.
pub(crate) fn mcp(url: &str, token: &str, method: &str, mut params: Value) -> (u16, Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
        ("Mcp-Name", &name),
    ];
    let (status, body) = http(url, "POST", &headers, &body.to_string());
    (
        status,
        serde_json::from_str(&body).unwrap_or(Value::String(body)),
    )
}

//! HTTP responses, correct or with a fault.

use std::io;

use pegboard_testkit::script::HttpFaultKind;

use crate::connection::Connection;
use crate::http::Reply;
use crate::lifecycle::pause;

/// The headers of a JSON response.
pub(crate) const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
const EVENTS: &[(&str, &str)] = &[
    ("Content-Type", "text/event-stream"),
    ("Connection", "close"),
];

/// Sends a correct response. Returns `false` if the connection must be closed.
pub(crate) fn respond(connection: &mut Connection, reply: &Reply, sse: bool) -> io::Result<bool> {
    let session = reply
        .session
        .as_deref()
        .map(|session| ("Mcp-Session-Id", session));
    if reply.body.is_empty() {
        connection.answer(reply.status, &[], b"")?;
        return Ok(true);
    }
    let with_session = |headers: &[(&'static str, &'static str)]| {
        headers
            .iter()
            .copied()
            .chain(session)
            .collect::<Vec<(&str, &str)>>()
    };
    if sse && reply.status == 200 {
        connection.head(200, &with_session(EVENTS), None)?;
        connection.write(&event(&reply.body))?;
        return Ok(false);
    }
    connection.answer(reply.status, &with_session(JSON), &reply.body)?;
    Ok(true)
}

/// One event of a stream.
pub(crate) fn event(data: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ", data, b"\n\n"].concat()
}

/// Applies a fault. Returns `false` if the connection must be closed.
pub(crate) fn apply_fault(
    kind: &HttpFaultKind,
    connection: &mut Connection,
    port: u16,
    reply: &Reply,
) -> io::Result<bool> {
    match kind {
        HttpFaultKind::EndlessBody => {
            let headers = [
                ("Content-Type", "application/json"),
                ("Transfer-Encoding", "chunked"),
            ];
            connection.head(200, &headers, None)?;
            connection.write(chunk("{\"padding\":\"").as_bytes())?;
            write_forever(connection, chunk(&"x".repeat(64 * 1024)).as_bytes())
        }
        HttpFaultKind::EndlessEvent => {
            connection.head(200, EVENTS, None)?;
            connection.write(b"data: ")?;
            write_forever(connection, "x".repeat(64 * 1024).as_bytes())
        }
        HttpFaultKind::EndlessComments => {
            connection.head(200, EVENTS, None)?;
            write_forever(connection, ": still here\n\n".repeat(1_000).as_bytes())
        }
        HttpFaultKind::CutEvent => {
            connection.head(200, EVENTS, None)?;
            let whole = event(&reply.body);
            connection
                .write(whole.get(..whole.len() / 2).unwrap_or_default())
                .map(|()| false)
        }
        HttpFaultKind::ContentLength(length) => {
            connection.head(200, JSON, Some(*length))?;
            connection.write(&reply.body).map(|()| false)
        }
        HttpFaultKind::Status { code, headers } => {
            let mut all = vec![("Content-Type", "text/plain")];
            all.extend(
                headers
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.as_str())),
            );
            connection
                .answer(*code, &all, b"refused on purpose")
                .map(|()| true)
        }
        HttpFaultKind::Redirect { code, location } => {
            let location = location.replace("{port}", &port.to_string());
            connection
                .answer(*code, &[("Location", &location)], b"")
                .map(|()| true)
        }
        HttpFaultKind::Html => {
            let page = b"<!DOCTYPE html><html><body>Sign in \x1b[2J please</body></html>";
            connection
                .answer(200, &[("Content-Type", "text/html")], page)
                .map(|()| true)
        }
        HttpFaultKind::Empty => connection.answer(200, JSON, b"").map(|()| true),
        HttpFaultKind::Batch => {
            let body = [b"[", reply.body.as_slice(), b"]"].concat();
            connection.answer(200, JSON, &body).map(|()| true)
        }
        HttpFaultKind::CutBody(bytes) => {
            connection.head(200, JSON, Some(reply.body.len() as u64))?;
            let kept = reply.body.get(..*bytes).unwrap_or(&reply.body);
            connection.write(kept).map(|()| false)
        }
        HttpFaultKind::SlowBody { pause_ms } => {
            connection.head(200, JSON, Some(reply.body.len() as u64))?;
            for byte in &reply.body {
                connection.write(&[*byte])?;
                pause(*pause_ms);
            }
            Ok(true)
        }
        HttpFaultKind::Drop => Ok(false),
    }
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

fn write_forever(connection: &mut Connection, bytes: &[u8]) -> io::Result<bool> {
    loop {
        // Ends when the client closes the connection.
        connection.write(bytes)?;
    }
}

//! A minimal HTTP/1.1 connection, which can be broken at any byte.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// Largest request.
const BODY_LIMIT: u64 = 64 * 1024 * 1024;

/// A request; header names are in lower case.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// One connection from a client.
#[derive(Debug)]
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            reader: BufReader::new(stream.try_clone()?),
            stream,
        })
    }

    /// The next request; `None` if the client closed the connection.
    pub(crate) fn read(&mut self) -> io::Result<Option<Request>> {
        if self
            .reader
            .fill_buf()?
            .first()
            .is_some_and(|byte| !byte.is_ascii_uppercase())
        {
            // Not HTTP, such as a TLS handshake.
            self.answer(400, &[("Connection", "close")], b"")?;
            return Ok(None);
        }
        let Some(first) = self.line()? else {
            return Ok(None);
        };
        let mut words = first.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        while let Some(line) = self.line()?.filter(|line| !line.is_empty()) {
            if let Some((key, value)) = line.split_once(':') {
                headers.push((key.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let mut request = Request {
            method,
            path,
            headers,
            body: Vec::new(),
        };
        let length: u64 = request
            .header("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        self.reader
            .by_ref()
            .take(length.min(BODY_LIMIT))
            .read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self
            .reader
            .by_ref()
            .take(BODY_LIMIT)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
    }

    /// Writes bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Writes status and headers, with `Content-Length` if the length is known.
    pub(crate) fn head(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        length: Option<u64>,
    ) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (key, value) in headers {
            head.push_str(&format!("{key}: {value}\r\n"));
        }
        if let Some(length) = length {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        self.write(format!("{head}\r\n").as_bytes())
    }

    /// Writes a whole response.
    pub(crate) fn answer(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        self.head(status, headers, Some(body.len() as u64))?;
        self.write(body)
    }

    /// Waits, without writing, until the client closes the connection.
    pub(crate) fn wait_for_end(&mut self) {
        let _ = io::copy(&mut self.reader, &mut io::sink());
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        300..=399 => "Redirect",
        _ => "Status",
    }
}

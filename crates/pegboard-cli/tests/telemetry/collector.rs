//! A collector that stores what it receives.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;
use prost::Message;
use serde_json::{Map, Value};

use crate::otlp::{ExportTraceServiceRequest, Span, object};
use crate::support::TIMEOUT;

/// A received request.
#[derive(Clone)]
pub(crate) struct ExportRequest {
    pub(crate) path: String,
    /// The headers by lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl ExportRequest {
    pub(crate) fn request(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.body.as_slice()).expect("the body is OTLP")
    }
}

/// A collector on a free port, for the lifetime of the test process.
pub(crate) struct Collector {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<ExportRequest>>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let seen: Arc<Mutex<Vec<ExportRequest>>> = Arc::default();
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let request = take(stream);
                kept.lock().expect("not poisoned").extend(request);
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<ExportRequest> {
        self.seen.lock().expect("not poisoned").clone()
    }

    /// Returns all received spans.
    pub(crate) fn spans(&self) -> Vec<ReceivedSpan> {
        let requests = self.seen();
        let resources = requests
            .iter()
            .flat_map(|seen| seen.request().resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes
            .flat_map(|scope| scope.spans)
            .map(ReceivedSpan::of)
            .collect()
    }

    /// Waits for a span of this name and returns the first one.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str) -> ReceivedSpan {
        let mut found = None;
        wait_until_sync(&format!("a span `{name}`"), TIMEOUT, || {
            found = self.spans().into_iter().find(|span| span.name == name);
            found.is_some()
        });
        found.expect("it was found")
    }
}

/// A received span, decoded.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedSpan {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the root span of a trace.
    pub(crate) parent: String,
    pub(crate) state: String,
    pub(crate) is_error: bool,
    pub(crate) attributes: Map<String, Value>,
}

impl ReceivedSpan {
    fn of(span: Span) -> Self {
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        Self {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            state: span.trace_state,
            is_error: span.status.is_some_and(|status| status.code == 2),
            attributes: object(&span.attributes),
            name: span.name,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn take(mut stream: TcpStream) -> Option<ExportRequest> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(response).ok()?;
    Some(ExportRequest {
        path,
        headers,
        body,
    })
}

//! A server in memory, for tests of what is above the bytes.

use std::sync::Arc;

use pegboard_model::{Limits, ServerName};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use crate::contract::{LogSink, NoLogs};
use crate::link::{Link, Reading};
use crate::redact::Redactor;
use crate::traffic::Traffic;
use crate::wording::Wording;

/// The server's end.
pub(crate) struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    sink: WriteHalf<DuplexStream>,
}

impl Peer {
    /// The next line that was sent to the server.
    pub(crate) async fn line(&mut self) -> String {
        self.lines
            .next_line()
            .await
            .unwrap()
            .expect("the client closed the stream")
    }

    /// The id and method of the next request.
    pub(crate) async fn request(&mut self) -> (u64, String) {
        let line = self.line().await;
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        (
            value["id"].as_u64().expect("a request"),
            value["method"].as_str().unwrap().to_owned(),
        )
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.write_bytes(text.as_bytes()).await;
    }

    /// Writes as long as somebody reads.
    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) {
        let _ = self.sink.write_all(bytes).await;
    }

    pub(crate) async fn result(&mut self, id: u64, result: &str) {
        self.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"
        ))
        .await;
    }

    pub(crate) async fn error(&mut self, id: u64, error: &str) {
        self.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n"
        ))
        .await;
    }
}

pub(crate) fn wording() -> Wording {
    Wording {
        server: ServerName::parse("tested").unwrap(),
        redactor: Arc::new(Redactor::default()),
        text_bytes: 2_000,
    }
}

pub(crate) fn logs() -> Arc<dyn LogSink> {
    Arc::new(NoLogs)
}

pub(crate) fn pair() -> (Arc<Link>, Reading, Peer) {
    pair_with(&Limits::default())
}

pub(crate) fn pair_with(limits: &Limits) -> (Arc<Link>, Reading, Peer) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (source, sink) = tokio::io::split(near);
    let traffic = Arc::new(Traffic::new(wording(), logs()));
    let (link, reading) = Link::start(source, sink, traffic, wording(), limits);
    let (source, sink) = tokio::io::split(far);
    (
        link,
        reading,
        Peer {
            lines: BufReader::new(source).lines(),
            sink,
        },
    )
}

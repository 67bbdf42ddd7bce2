//! The floor of lists over HTTP: reads a catalog and responds to every message with prepared bytes.
//! `floor-http CATALOG LIST`

use bytes::Bytes;
use pegboard_benches::{Reply, serve_http};

const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":1000000,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let catalog = std::fs::read(words.next().unwrap_or_default())?;
    let list = Bytes::from(std::fs::read(words.next().unwrap_or_default())?);
    serve_http(move |message| {
        // The catalog stays in memory, as in a server that knows its tools.
        let has_catalog = !catalog.is_empty();
        let holds = |text: &str| memchr::memmem::find(message, text.as_bytes()).is_some();
        if holds("\"initialize\"") {
            return Reply::Message(Bytes::from_static(HELLO), None);
        }
        match has_catalog && holds("\"id\"") {
            true => Reply::Message(list.clone(), None),
            false => Reply::Accepted,
        }
    })
    .await
}

//! The floor of a first list over stdio: reads a catalog and responds to handshake and list with prepared bytes.
//! `floor-stdio CATALOG LIST`

use std::io::{BufRead, Write};

const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":1000000,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}"#;

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let catalog = std::fs::read(words.next().unwrap_or_default())?;
    let list = std::fs::read(words.next().unwrap_or_default())?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.contains("\"initialize\"") {
            out.write_all(HELLO)?;
        } else if line.contains("\"tools/list\"") {
            out.write_all(&list)?;
        } else {
            continue;
        }
        out.write_all(b"\n")?;
        out.flush()?;
    }
    drop(catalog);
    Ok(())
}

//! Refreshes all servers and prints the events until every server was discovered.
//!
//! `cargo run -p pegboard --no-default-features --example events`
#![allow(clippy::print_stdout)]

use pegboard::{EventKind, Pegboard, Refresh, ToolResult};

#[tokio::main]
async fn main() -> ToolResult<()> {
    let pegboard = Pegboard::open().await?;
    let mut events = pegboard.subscribe();
    let printer = tokio::spawn(async move {
        while let Ok(event) = events.recv().await {
            match event.kind {
                EventKind::ServerDiscovered { server, tools, .. } => {
                    println!("{server}: {tools} tools");
                }
                EventKind::ServerFailed { server, error, .. } => println!("{server}: {error}"),
                _ => {}
            }
        }
    });
    for outcome in pegboard.refresh(Refresh::all().force()).await? {
        if let Ok(refreshed) = outcome.result {
            let delta = refreshed.delta;
            println!(
                "{}: +{} -{}",
                outcome.server,
                delta.added.len(),
                delta.removed.len()
            );
        }
    }
    pegboard.close().await;
    printer.abort();
    Ok(())
}

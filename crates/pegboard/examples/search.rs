//! Searches the tools of all configured servers and describes the best one. Starts no server that was discovered
//! before.
//!
//! `cargo run -p pegboard --no-default-features --example search "convert a length"`
#![allow(clippy::print_stdout)]

use pegboard::{Pegboard, ToolResult};

#[tokio::main]
async fn main() -> ToolResult<()> {
    let query = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let pegboard = Pegboard::open().await?;
    let tools = pegboard.search(&query, 5).await;
    for tool in &tools {
        println!("{:5.2}  {}: {}", tool.score, tool.name, tool.summary);
    }
    if let Some(best) = tools.first() {
        let description = pegboard.describe(&best.name).await?;
        println!("\n{}\n{}", description.signature, description.description);
    }
    pegboard.close().await;
    Ok(())
}

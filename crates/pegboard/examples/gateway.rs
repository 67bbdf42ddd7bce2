//! Serves all configured tools to one MCP client over standard input and output.
//!
//! `cargo run -p pegboard --no-default-features --features gateway --example gateway`

use pegboard::mcp::stdio;
use pegboard::{Pegboard, ToolResult};

#[tokio::main]
async fn main() -> ToolResult<()> {
    let pegboard = Pegboard::open().await?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let never = std::future::pending::<()>();
    stdio::run_until(pegboard.gateway(), "", input, output, never).await?;
    pegboard.close().await;
    Ok(())
}

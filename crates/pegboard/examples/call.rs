//! Defines a server in code and calls one of its tools, independent of the user's configuration.
//!
//! `cargo run -p pegboard --no-default-features --example call` (needs `uvx`)
#![allow(clippy::print_stdout)]

use pegboard::{Pegboard, Server, ToolResult};
use serde_json::json;

#[tokio::main]
async fn main() -> ToolResult<()> {
    let time = Server::stdio("time", "uvx")
        .arg("mcp-server-time")
        .description("Time and time zones");
    let pegboard = Pegboard::builder()
        .isolated_in(std::env::temp_dir().join("pegboard-example"))
        .server(time)
        .open()
        .await?;
    let arguments = json!({"timezone": "Europe/Paris"});
    let outcome = pegboard.call("time/get_current_time", arguments).await?;
    println!("{}", outcome.result);
    pegboard.close().await;
    Ok(())
}

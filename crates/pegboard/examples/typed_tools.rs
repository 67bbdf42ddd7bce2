//! Registers a tool whose argument schema is derived from a Rust type, and calls it.
//!
//! `cargo run -p pegboard --no-default-features --features typed-tools --example typed_tools`
#![allow(clippy::print_stdout)]

use pegboard::schemars::JsonSchema;
use pegboard::{Pegboard, ToolResult};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "pegboard::schemars")]
struct Order {
    /// The order number.
    id: u64,
}

#[derive(Serialize)]
struct Status {
    id: u64,
    status: &'static str,
}

async fn order_status(order: Order) -> ToolResult<Status> {
    Ok(Status {
        id: order.id,
        status: "shipped",
    })
}

#[tokio::main]
async fn main() -> ToolResult<()> {
    let pegboard = Pegboard::builder()
        .isolated_in(std::env::temp_dir().join("pegboard-example"))
        .open()
        .await?;
    pegboard.register_typed(
        "order_status",
        "Returns the status of an order.",
        order_status,
    )?;
    let outcome = pegboard
        .call("order_status", serde_json::json!({"id": 7}))
        .await?;
    println!("{}", outcome.result);
    let error = pegboard
        .call("order_status", serde_json::json!({"id": "seven"}))
        .await;
    println!(
        "{}",
        error.map_or_else(|error| error.to_string(), |_| String::new())
    );
    pegboard.close().await;
    Ok(())
}

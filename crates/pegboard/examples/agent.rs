//! An agent with its own tool and every tool of every configured MCP server.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use pegboard::agent::{AgentEvent, Anthropic, CancellationToken, Conversation};
use pegboard::{Pegboard, Secret, ToolResult};
use serde_json::json;

#[tokio::main]
async fn main() -> ToolResult<()> {
    let pegboard = Pegboard::open().await?;
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    pegboard.register(
        "order",
        "Returns the status of an order.",
        schema,
        |order| async move { Ok(json!({"id": order.get("id"), "status": "shipped"})) },
    )?;

    let key = std::env::var("ANTHROPIC_API_KEY").unwrap_or_default();
    let model = Anthropic::new("claude-sonnet-5", &Secret::new(key), None)?;
    let agent = pegboard.agent(model).system("You help in a small shop.");

    let show = |event: AgentEvent| match event {
        AgentEvent::Text { text } => print!("{text}"),
        AgentEvent::CallFinished { tool, took, .. } => eprintln!("[{tool}: {took:?}]"),
        _ => {}
    };
    let (mut conversation, cancel) = (Conversation::new(), CancellationToken::new());
    for task in std::env::args().skip(1) {
        let run = agent.run(&mut conversation, &task, &cancel, &show).await;
        println!("\n{:?}, {} tokens saved", run.usage, run.saved_tokens);
        run.answer?;
    }
    pegboard.close().await;
    Ok(())
}

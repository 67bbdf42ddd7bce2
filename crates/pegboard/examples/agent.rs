//! An agent with a tool of its own and every tool of every configured MCP server.

use pegboard::agent::{AgentEvent, Anthropic, Cancel, Conversation};
use pegboard::{Options, Pegboard, Secret, ToolResult};
use serde_json::json;

#[tokio::main]
async fn main() -> ToolResult<()> {
    let pegboard = Pegboard::open(Options::default()).await?;
    let schema =
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    pegboard.register(
        "order_status",
        "Says where an order is.",
        schema,
        |order| async move { Ok(json!({"id": order["id"], "status": "on its way"})) },
    )?;

    let key = Secret::new(std::env::var("ANTHROPIC_API_KEY").unwrap_or_default());
    let address = std::env::var("ANTHROPIC_BASE_URL").ok();
    let model = Anthropic::new("claude-sonnet-5", &key, address.as_deref())?;
    let agent = pegboard
        .agent(model)
        .system("You help the people of a small shop.");

    let mut conversation = Conversation::new();
    let task = std::env::args()
        .nth(1)
        .unwrap_or("Where is order 7?".to_owned());
    let show = |event: AgentEvent| match event {
        AgentEvent::Text { text } => print!("{text}"),
        AgentEvent::CallFinished { tool, took, .. } => eprintln!("[{tool}: {took:?}]"),
        _ => {}
    };
    let run = agent
        .run(&mut conversation, &task, &Cancel::new(), &show)
        .await;
    println!(
        "\n{} tokens, about {} saved",
        run.usage.total(),
        run.saved_tokens
    );
    pegboard.close().await;
    run.answer.map(|_| ())
}

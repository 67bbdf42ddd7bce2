//! Budgets and cancellation: after a stopped run, the conversation can continue.

use std::sync::Arc;
use std::time::Duration;

use pegboard::agent::{Budget, CancellationToken, Conversation};
use pegboard::{Pegboard, Reason, ToolResult};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::scripted::{BOTH, agent, continue_conversation, model, results, run_task};
use crate::support::Home;

/// Registers a tool that never returns, and returns a notification of its call.
fn register_endless(pegboard: &Pegboard) -> Arc<Notify> {
    let called = Arc::new(Notify::new());
    let notify = called.clone();
    let endless = move |_: Value| {
        notify.notify_one();
        std::future::pending::<ToolResult<Value>>()
    };
    let schema = json!({"type": "object"});
    pegboard
        .register("endless", "Never ends.", schema, endless)
        .expect("a static tool");
    called
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_each_limit_ends_the_run_and_the_conversation_can_continue() {
    let look = json!({"calls": [{"name": "list_available_tools", "input": {}},
                                {"name": "list_available_tools", "input": {}}]});
    let limits = [
        (
            "turns",
            Budget {
                turns: 2,
                ..Budget::default()
            },
            2,
        ),
        (
            "calls",
            Budget {
                calls: 3,
                ..Budget::default()
            },
            2,
        ),
        (
            "tokens",
            Budget {
                tokens: 200,
                ..Budget::default()
            },
            2,
        ),
    ];
    for api in BOTH {
        for (name, budget, turns) in limits {
            let home = Home::new();
            let pegboard = home.open().await;
            let mut script = vec![look.clone(); turns];
            script.push(json!({"text": "Well."}));
            let server = model(json!(script));
            let agent = agent(&pegboard, api, &server).budget(budget);
            let mut conversation = Conversation::new();
            let (run, _) = continue_conversation(&agent, &mut conversation, "Look twice.").await;
            let error = run.answer.expect_err("a limit");
            assert_eq!(error.reason, Reason::BudgetSpent, "{name}: {error}");
            assert!(error.message.contains(name), "{error}");
            assert_eq!(run.turns, turns, "{name}");
            let (run, _) = continue_conversation(&agent, &mut conversation, "And now?").await;
            assert_eq!(run.answer.as_deref(), Ok("Well."), "{api:?} {name}");
            server.assert_satisfied();
            pegboard.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_the_time_limit_covers_tool_calls_and_model_responses() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        register_endless(&pegboard);
        let server = model(json!([
            {"calls": [{"name": "endless", "input": {}}, {"name": "list_available_tools", "input": {}}]},
            {"text": "A sentence that never ends, because the stream hangs.", "breaks": "hang"},
            {"text": "Well."},
        ]));
        let short = Budget {
            time: Duration::from_millis(300),
            ..Budget::default()
        };
        let mut conversation = Conversation::new();
        let hasty = agent(&pegboard, api, &server).budget(short);
        for task in ["Wait for ever.", "Speak for ever."] {
            let (run, _) = continue_conversation(&hasty, &mut conversation, task).await;
            let error = run.answer.expect_err("a limit");
            assert_eq!(error.reason, Reason::BudgetSpent, "{error}");
        }
        let patient = agent(&pegboard, api, &server);
        let (run, _) = continue_conversation(&patient, &mut conversation, "And now?").await;
        assert_eq!(run.answer.as_deref(), Ok("Well."), "{api:?}");
        server.assert_satisfied();
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_cancelled_run_has_an_answer_for_every_call() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        let called = register_endless(&pegboard);
        let server = model(json!([
            {"calls": [{"name": "list_available_tools", "input": {}}, {"name": "endless", "input": {}}]},
            {"text": "Well."},
        ]));
        let agent = agent(&pegboard, api, &server);
        let mut conversation = Conversation::new();
        let cancel = CancellationToken::new();
        let canceller = cancel.clone();
        let cancelling = async move {
            called.notified().await;
            canceller.cancel();
        };
        let running = agent.run(&mut conversation, "Wait for ever.", &cancel, &|_| {});
        let (run, ()) = tokio::join!(running, cancelling);
        let error = run.answer.expect_err("it was cancelled");
        assert_eq!(error.reason, Reason::Cancelled);
        let used: Vec<_> = run.used.iter().map(|used| used.outcome.as_str()).collect();
        assert_eq!(used, ["CANCELLED"]);
        let (run, _) = continue_conversation(&agent, &mut conversation, "And now?").await;
        assert_eq!(run.answer.as_deref(), Ok("Well."), "{api:?}");
        let requests = server.requests();
        assert!(requests[1].body.to_string().contains("Not finished"));
        server.assert_satisfied();
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_dropped_run_leaves_no_unanswered_call() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        let called = register_endless(&pegboard);
        let server = model(json!([
            {"calls": [{"name": "endless", "input": {}}]},
            {"text": "Well."},
        ]));
        let agent = agent(&pegboard, api, &server);
        let mut conversation = Conversation::new();
        let cancel = CancellationToken::new();
        tokio::select! {
            _ = agent.run(&mut conversation, "Wait for ever.", &cancel, &|_| {}) => panic!("it ended"),
            () = called.notified() => {}
        }
        let (run, _) = continue_conversation(&agent, &mut conversation, "And now?").await;
        assert_eq!(run.answer.as_deref(), Ok("Well."), "{api:?}");
        server.assert_satisfied();
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_large_result_is_read_in_parts() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        let large = |_: Value| async {
            let lines: Vec<String> = (0..20_000).map(|n| format!("line {n}")).collect();
            Ok(json!(lines.join("\n"))) as ToolResult<Value>
        };
        pegboard
            .register("large", "Says much.", json!({"type": "object"}), large)
            .expect("a static tool");
        let server = model(json!([
            {"calls": [{"name": "large", "input": {}}]},
            {"text": "Much."},
        ]));
        let agent = agent(&pegboard, api, &server).result_tokens(1_000);
        let (run, _) = run_task(&agent, "Say much.").await;
        assert_eq!(run.answer.as_deref(), Ok("Much."));
        let (result, _) = results(&server).remove(0);
        assert!(result.len() < 10_000, "{}", result.len());
        assert!(
            result.contains("line 0") && result.contains("read_result"),
            "{result}"
        );
        server.assert_satisfied();
        pegboard.close().await;
    }
}

//! Failures of tools, servers and providers, after which the run continues.

use pegboard::Reason;
use pegboard::agent::{AgentEvent, Conversation};
use pegboard_testkit::Script;
use pegboard_testkit::script::Moment;
use serde_json::json;

use crate::scripted::{BOTH, KEY, agent, continue_conversation, model, results, run_task};
use crate::support::Home;

fn retries(events: &[AgentEvent]) -> usize {
    let is_retry = |event: &&AgentEvent| matches!(event, AgentEvent::Retrying { .. });
    events.iter().filter(is_retry).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_denied_call_is_reported_to_the_model_and_the_run_continues() {
    for api in BOTH {
        let home = Home::new();
        let script = Script::new().tools(["drop", "look"]);
        home.add_script("s", &script, "policies = { drop = \"deny\" }");
        home.run(&["refresh", "--all"]).ok();
        let pegboard = home.open().await;
        let server = model(json!([
            {"calls": [{"name": "call_tool", "input": {"tool_name": "s__drop"}},
                       {"name": "call_tool", "input": {"tool_name": "s__look"}}]},
            {"text": "I may not."},
        ]));
        let (run, _) = run_task(&agent(&pegboard, api, &server), "Drop it.").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("I may not."));
        let results = results(&server);
        assert!(
            results[0].0.contains("POLICY_DENIED") && results[0].1,
            "{results:?}"
        );
        assert!(!results[1].1, "{results:?}");
        let denied = run.used.iter().find(|used| used.tool == "s__drop");
        let denied = denied.expect("it is recorded");
        assert_eq!(denied.outcome, "POLICY_DENIED");
        assert_eq!(denied.server.as_ref().map(|s| s.as_str()), Some("s"));
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_01_failing_servers_lose_only_their_own_tools() {
    for api in BOTH {
        let home = Home::new();
        home.add_example("example");
        home.add("gone", "/nowhere/at-all", &[], "");
        let crash = Script::new().tools(["boom"]).crash(Moment::Call, 3);
        home.add_script("crashing", &crash, "");
        let pegboard = home.open().await;
        let server = model(json!([
            {"calls": [{"name": "search_tools", "input": {"query": "add numbers"}}]},
            {"calls": [{"name": "call_tool", "input": {"tool_name": "crashing__boom"}},
                       {"name": "call_tool", "input": {"tool_name": "gone__x"}},
                       {"name": "call_tool",
                        "input": {"tool_name": "example__add_numbers", "arguments": {"a": 1, "b": 1}}}]},
            {"text": "Two."},
        ]));
        // The first listing waits a limited time for undiscovered servers.
        pegboard
            .refresh(pegboard::Refresh::all())
            .await
            .expect("outcomes");
        let (run, _) = run_task(&agent(&pegboard, api, &server), "1 + 1?").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("Two."));
        let results = results(&server);
        assert!(
            results[0].1 && results[0].0.contains("SERVER_EXITED"),
            "{results:?}"
        );
        assert!(results[1].1, "{results:?}");
        assert!(!results[2].1 && results[2].0.contains('2'), "{results:?}");
        pegboard.close().await;
        home.assert_nothing_runs();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_an_overloaded_or_broken_provider_is_retried() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        let server = model(json!([
            {"status": 529, "retry_after": "0.01"},
            {"status": 429, "error": "rate_limit_error"},
            {"status": 503},
            {"text": "A whole sentence that is cut in the middle of an event.", "breaks": "eof"},
            {"text": "Here."},
            {"text": "Again a whole sentence that is cut somewhere.", "breaks": "reset"},
            {"text": "And another sentence.", "error": "server_error"},
            {"text": "There."},
        ]));
        let agent = agent(&pegboard, api, &server);
        let mut conversation = Conversation::new();
        let (run, events) = continue_conversation(&agent, &mut conversation, "Where?").await;
        assert_eq!(run.answer.as_deref(), Ok("Here."), "{api:?}");
        assert_eq!(retries(&events), 4);
        let (run, events) = continue_conversation(&agent, &mut conversation, "And then?").await;
        assert_eq!(run.answer.as_deref(), Ok("There."), "{api:?}");
        assert_eq!(retries(&events), 2);
        server.assert_satisfied();
        // An interrupted turn is not part of the conversation.
        let last = server
            .requests()
            .last()
            .expect("a request")
            .body
            .to_string();
        assert!(
            last.contains("Here.") && !last.contains("whole sentence"),
            "{last}"
        );
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_rejected_request_is_not_retried() {
    for api in BOTH {
        let home = Home::new();
        let pegboard = home.open().await;
        for (status, kind, reason) in [
            (401, "authentication_error", Reason::LoginNeeded),
            (404, "not_found_error", Reason::ModelRefused),
        ] {
            let server = model(json!([{"status": status, "error": kind}]));
            let (run, events) = run_task(&agent(&pegboard, api, &server), "Hello?").await;
            server.assert_satisfied();
            let error = run.answer.expect_err("a refusal");
            assert_eq!(error.reason, reason);
            assert_eq!(retries(&events), 0);
            let shown = format!("{error:?} {error}");
            assert!(shown.contains(kind) && !shown.contains(KEY), "{shown}");
        }
        let server = model(json!([{"status": 529}, {"status": 529}]));
        let agent = agent(&pegboard, api, &server).retry(pegboard::agent::Retry {
            times: 1,
            pause: std::time::Duration::from_millis(1),
        });
        let (run, _) = run_task(&agent, "Hello?").await;
        let error = run.answer.expect_err("an overload");
        assert_eq!(error.reason, Reason::ModelUnavailable);
        assert!(error.retryable);
        server.assert_satisfied();
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_unparsable_arguments_are_reported_to_the_model() {
    for api in BOTH {
        let home = Home::with_example();
        let pegboard = home.open().await;
        let server = model(json!([
            {"calls": [{"name": "call_tool", "raw_input": "{\"tool_name\": \"example__add"},
                       {"name": "call_tool", "input": {}},
                       {"name": "call_tool",
                        "input": {"tool_name": "example__add_numbers", "arguments": {"a": "x"}}}],
             "stop": match api { crate::scripted::ModelApi::Anthropic => "max_tokens", _ => "max_output_tokens" }},
            {"text": "I give up."},
        ]));
        let (run, _) = run_task(&agent(&pegboard, api, &server), "1 + 1?").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("I give up."));
        let results = results(&server);
        assert!(results[0].0.contains("not JSON"), "{results:?}");
        assert!(results[1].0.contains("tool_name"), "{results:?}");
        assert!(results[2].0.contains("ARGS_INVALID"), "{results:?}");
        assert!(results.iter().all(|(_, is_error)| *is_error));
        pegboard.close().await;
    }
}

//! Every way to call a tool passes the same policy gate.

use pegboard::{CallRequest, SessionId};
use pegboard_testkit::{ModelScript, ModelServer, Script, methods_in};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::serving::{endpoint, token};
use super::stdio::{call, conversation};
use crate::support::{Home, Run, http, mcp};

const TOOL: &str = "s__drop";

/// A path: its name, and a function that calls the tool and returns all output.
type Path = (&'static str, fn(&Home) -> String);

/// Every new way to call tools must be added to this list.
const PATHS: [Path; 9] = [
    ("the command line", |home| {
        let run = home.run(&["call", "s/drop", "--json"]);
        run.stdout + &run.stderr
    }),
    ("the library", library),
    ("stdio, meta tool", |home| over_stdio(home, "call_tool")),
    ("stdio, by name", |home| over_stdio(home, TOOL)),
    ("HTTP, meta tool", |home| {
        over_http(home, "/mcp", "call_tool")
    }),
    ("HTTP, by name", |home| over_http(home, "/mcp", TOOL)),
    ("HTTP, a profile that lists it", |home| {
        over_http(home, "/mcp/plain", TOOL)
    }),
    ("the API", over_the_api),
    ("an agent", by_an_agent),
];

fn library(home: &Home) -> String {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let pegboard = home.open().await;
        let nothing = RawValue::from_string("{}".to_owned()).expect("JSON");
        let request = CallRequest::new(SessionId("test".to_owned()), TOOL, nothing);
        let text = match pegboard.hub().call(&request).await {
            Ok(outcome) => outcome.result.get().to_owned(),
            Err(error) => format!("{} {error}", error.reason.code()),
        };
        pegboard.close().await;
        text
    })
}

fn call_params(tool: &str) -> (&str, Value) {
    match tool {
        "call_tool" => (tool, json!({"tool_name": TOOL, "arguments": {}})),
        direct => (direct, json!({})),
    }
}

fn over_stdio(home: &Home, tool: &str) -> String {
    let (tool, arguments) = call_params(tool);
    let input = conversation(&[call(1, tool, arguments)]);
    home.run_with_input(&["stdio"], &input).ok().stdout
}

fn over_http(home: &Home, path: &str, tool: &str) -> String {
    let mut serve = home.start(&["serve", "--port", "0"]);
    let url = endpoint(&serve).replace("/mcp", path);
    let (tool, arguments) = call_params(tool);
    let params = json!({"name": tool, "arguments": arguments});
    let (_, response) = mcp(&url, &token(home), "tools/call", params);
    serve.signal("-TERM");
    serve.wait();
    response.to_string()
}

fn over_the_api(home: &Home) -> String {
    let mut serve = home.start(&["serve", "--port", "0"]);
    let path = format!("/api/v1/tools/{TOOL}/call");
    let url = endpoint(&serve).replace("/mcp", &path);
    let bearer = format!("Bearer {}", token(home));
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let (_, response) = http(&url, "POST", &headers, "{\"arguments\":{}}");
    serve.signal("-TERM");
    serve.wait();
    response
}

fn by_an_agent(home: &Home) -> String {
    let (name, input) = call_params("call_tool");
    let turns = json!([{"calls": [{"name": name, "input": input}]}, {"text": "Done."}]);
    let model = ModelServer::start(ModelScript::of(json!({"turns": turns})));
    let mut command = home.command(&["ask", "--model", "m-1", "Drop it."]);
    command
        .env("ANTHROPIC_API_KEY", "key")
        .env("ANTHROPIC_BASE_URL", model.anthropic_url());
    Run::of(command, "").ok();
    let requests = model.requests();
    requests.last().expect("a request").body.to_string()
}

/// Calls the tool by every path with one policy. Returns the outputs and the number of calls that reached the server.
fn by_every_path(policy: &str) -> Vec<(&'static str, String, usize)> {
    let home = Home::new();
    let count = home.path("count");
    let script = Script::new().tools(["drop"]).count_in(&count);
    // No approval channel is available, and no call waits in the inbox.
    home.write(
        "config/config.toml",
        "[settings]\napproval_timeout = '0s'\n[profiles.plain]\nmode = 'direct'\n",
    );
    home.add_script("s", &script, &format!("policy = '{policy}'"));
    home.run(&["refresh", "s"]).ok();
    let calls = || {
        let methods = methods_in(&count);
        methods
            .iter()
            .filter(|method| *method == "tools/call")
            .count()
    };
    let result = PATHS.map(|(name, path)| {
        let before = calls();
        let text = path(&home);
        (name, text, calls() - before)
    });
    home.assert_nothing_runs();
    result.into()
}

#[test]
fn r_pol_01_denied_tools_run_by_no_path() {
    for (path, text, calls) in by_every_path("deny") {
        assert_eq!(calls, 0, "{path}: {text}");
        assert!(text.contains("POLICY_DENIED"), "{path}: {text}");
    }
}

#[test]
fn r_pol_01_disabled_tools_are_hidden_on_every_path() {
    for (path, text, calls) in by_every_path("disable") {
        assert_eq!(calls, 0, "{path}: {text}");
        assert!(text.contains("TOOL_"), "{path}: {text}");
    }
}

#[test]
fn r_pol_02_ask_policy_blocks_every_path_without_an_answer() {
    for (path, text, calls) in by_every_path("ask") {
        assert_eq!(calls, 0, "{path}: {text}");
        assert!(text.contains("POLICY_DENIED"), "{path}: {text}");
    }
}

#[test]
fn r_pol_01_allowed_tools_run_once_by_every_path() {
    for (path, text, calls) in by_every_path("allow") {
        assert_eq!(calls, 1, "{path}: {text}");
    }
}

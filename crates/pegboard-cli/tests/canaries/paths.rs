//! The outputs of the program. A new command is a row of `COMMANDS`; any other output gets a function
//! here and a line in `check` of `main.rs`.

use pegboard_testkit::{ModelScript, ModelServer, wait_until_sync};
use serde_json::{Value, json};

use crate::leak_search::Output;
use crate::machine::Machine;
use crate::planted::planted;
use crate::serving::Serving;
use crate::support::{Run, TIMEOUT, http, mcp};

/// A command line.
pub(crate) struct Command {
    /// The arguments; `…` is replaced by the canary that is given on purpose.
    words: &'static str,
    /// The canary that the user typed.
    typed: Option<&'static str>,
    /// Canaries that the output may contain, because the user asked for them.
    answers: &'static [&'static str],
}

const fn plain(words: &'static str) -> Command {
    Command {
        words,
        typed: None,
        answers: &[],
    }
}

const fn typing(
    words: &'static str,
    typed: &'static str,
    answers: &'static [&'static str],
) -> Command {
    Command {
        words,
        typed: Some(typed),
        answers,
    }
}

/// A trust review shows the literals of the project's file.
const fn reviewing(words: &'static str) -> Command {
    Command {
        words,
        typed: None,
        answers: PROJECT,
    }
}

/// Canaries in the project's file.
const PROJECT: &[&str] = &["variable in a project's file", "header in a project's file"];

/// Canaries in the result of `leaking/report`.
const RESULT: &[&str] = &[
    "text of a result",
    "token that a tool gives back in its result",
];

/// Every command, in an order in which each has output. Each runs twice, with text and with JSON output.
pub(crate) const COMMANDS: &[Command] = &[
    plain("config check"),
    plain("config explain"),
    plain("config path"),
    plain("config schema"),
    reviewing("trust"),
    reviewing("trust --yes"),
    plain("tools"),
    plain("refresh --all"),
    plain("refresh --all --force"),
    plain("refresh dying --force"),
    plain("list"),
    plain("show leaky"),
    plain("show dying"),
    plain("show refusing"),
    plain("show headers"),
    plain("show address"),
    plain("show whole"),
    plain("show nowhere"),
    plain("show theirs"),
    plain("show remote"),
    plain("show echo"),
    plain("show echo_login"),
    plain("logs leaky"),
    plain("logs dying"),
    plain("logs leaking"),
    plain("logs echo"),
    plain("doctor"),
    plain("doctor leaky"),
    // The output of a search repeats the query.
    typing("search …", "query of a search", &["query of a search"]),
    typing(
        "search --explain …",
        "query of a search",
        &["query of a search"],
    ),
    plain("describe leaking/report"),
    typing("call leaking/report text=…", "argument of a call", RESULT),
    // A known secret as an argument.
    typing("call leaking/report text=…", "bearer token", RESULT),
    // The error of the server repeats the request.
    typing(
        "call leaking/fail text=…",
        "argument of a call that fails",
        &["argument of a call that fails"],
    ),
    typing("call leaking/none text=…", "argument of a call", &[]),
    typing(
        "call leaky/work wrong=…",
        "argument of a call",
        &["argument of a call"],
    ),
    plain("call dying/work"),
    plain("call nowhere/work"),
    plain("call echo/work"),
    plain("call echo_login/work"),
    plain("call theirs/work"),
    plain("context"),
    plain("export --format anthropic"),
    plain("export --format openai-responses"),
    plain("tokens"),
    plain("policy list"),
    plain("policy test leaking/report"),
    plain("policy grants"),
    plain("approvals"),
    plain("activity"),
    plain("secret list"),
    plain("up --once"),
    plain("disable leaky"),
    plain("enable leaky"),
    plain("edit leaky ttl never"),
];

impl Command {
    pub(crate) fn run(&self, machine: &Machine) -> Vec<Output> {
        let typed = self.typed.map(planted).unwrap_or_default();
        let words: Vec<String> = (self.words.split(' '))
            .map(|word| word.replace('…', &typed))
            .collect();
        let mut outputs = Vec::new();
        for more in [None, Some("--json")] {
            let args: Vec<&str> = words.iter().map(String::as_str).chain(more).collect();
            let run = machine.home.run(&args);
            assert!(
                (0..=7).contains(&run.code),
                "{}: {}",
                self.words,
                run.stderr
            );
            let of = |name: &str| format!("{} ({name})", self.words);
            outputs.push(Output::new(of("stdout"), run.stdout, self.answers));
            let (logs, notes) = split(&run.stderr);
            outputs.push(Output::new(of("stderr"), notes, self.answers));
            outputs.push(Output::new(of("logs"), logs, &[]));
        }
        outputs
    }
}

/// Splits stderr into log lines and notes of the command.
fn split(stderr: &str) -> (String, String) {
    let (logs, notes): (Vec<&str>, Vec<&str>) = stderr
        .lines()
        .partition(|line| line.starts_with("{\"time\":") || line.contains("\"target\":"));
    (logs.join("\n"), notes.join("\n"))
}

/// A call that waits for approval, is shown and refused.
pub(crate) fn through_approvals(machine: &Machine) -> Vec<Output> {
    let waits = "argument of a call that waits for a person";
    let argument = format!("text={}", planted(waits));
    let mut call = machine.home.start(&["call", "asking/wipe", &argument]);
    let mut outputs = Vec::new();
    let mut id = None;
    wait_until_sync("the question is in the inbox", TIMEOUT, || {
        let run = machine.home.run(&["approvals", "--json"]).ok();
        id = numbers(&run.json());
        let (logs, notes) = split(&run.stderr);
        outputs.push(Output::new("approvals (stdout)", run.stdout, &[waits]));
        outputs.push(Output::new("approvals (stderr)", notes, &[]));
        outputs.push(Output::new("approvals (logs)", logs, &[]));
        id.is_some()
    });
    let shown = machine.home.run(&["approvals"]).ok();
    outputs.push(Output::new("approvals (stdout)", shown.stdout, &[waits]));
    let denied = machine
        .home
        .run(&["approvals", "deny", &id.expect("it waits")]);
    outputs.push(Output::new("approvals deny (stdout)", denied.stdout, &[]));
    outputs.push(Output::new("approvals deny (stderr)", denied.stderr, &[]));
    assert_eq!(call.wait().code(), Some(6), "{}", call.output());
    outputs.push(Output::new("call asking/wipe", call.output(), &[]));
    outputs
}

/// Returns the id of the first pending request.
fn numbers(document: &Value) -> Option<String> {
    let waiting = document.as_object()?.values().find_map(Value::as_array)?;
    Some(waiting.first()?["id"].as_str()?.to_owned())
}

const CALLS: &[(&str, &str, &[&str])] = &[
    ("leaking/report", "argument of a call", RESULT),
    ("leaking/report", "bearer token", RESULT),
    (
        "leaking/fail",
        "argument of a call that fails",
        &["argument of a call that fails"],
    ),
    ("leaky/work", "argument of a call", &["argument of a call"]),
    ("dying/work", "argument of a call", &[]),
    ("echo/work", "argument of a call", &[]),
    ("echo_login/work", "argument of a call", &[]),
    ("leaking/none", "argument of a call", &[]),
];

/// A client that starts Pegboard over stdio.
pub(crate) fn through_stdio(machine: &Machine) -> Vec<Output> {
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let search = json!({"query": planted("query of a search")});
    let mut calls = vec![
        ("search_tools", search),
        ("list_available_tools", json!({})),
        (
            "get_tool_description",
            json!({"tool_name": "leaking/report"}),
        ),
    ];
    for (tool, argument, _) in CALLS {
        let arguments = json!({"tool_name": tool, "arguments": {"text": planted(argument)}});
        calls.push(("call_tool", arguments));
    }
    let mut input = format!("{opening}\n");
    for (number, (name, arguments)) in calls.into_iter().enumerate() {
        let params = json!({
            "name": name, "arguments": arguments, "_meta": {"baggage": planted("baggage of a client")},
        });
        let request =
            json!({"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params});
        input.push_str(&format!("{request}\n"));
    }
    let run = machine.home.run_with_input(&["stdio"], &input).ok();
    let mut may_hold = vec!["query of a search"];
    for (_, _, holds) in CALLS {
        may_hold.extend_from_slice(holds);
    }
    vec![
        Output::new("stdio (stdout)", run.stdout, &may_hold),
        Output::new("stdio (stderr)", run.stderr, &[]),
    ]
}

/// A client over HTTP, and the metrics.
pub(crate) fn through_http(machine: &Machine) -> Vec<Output> {
    let mut serving = Serving::start(&machine.home, &[]);
    let mut outputs = Vec::new();
    let mut add = |label: &str, response: &Value, may_hold: &[&'static str]| {
        outputs.push(Output::new(label, response.to_string(), may_hold));
    };
    let (url, token) = (serving.url.clone(), serving.token.clone());
    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("server/discover", json!({})),
        ("prompts/get", json!({"name": "none"})),
        ("resources/read", json!({"uri": "pegboard://leaking/none"})),
    ] {
        let (_, response) = mcp(&url, &token, method, params);
        add(method, &response, &[]);
    }
    let baggage = json!({
        "baggage": planted("baggage of a client"),
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    let search = json!({"query": planted("query of a search")});
    let response = serving.call_with("search_tools", search, &baggage);
    add("search_tools", &response, &["query of a search"]);
    for (tool, argument, holds) in CALLS {
        let arguments = json!({"tool_name": tool, "arguments": {"text": planted(argument)}});
        let response = serving.call_with("call_tool", arguments, &baggage);
        add(&format!("call_tool {tool}"), &response, holds);
    }
    let wrong = http(&url, "POST", &[("Authorization", "Bearer wrong")], "{}");
    add("refused", &json!(wrong.1), &[]);
    add("metrics", &json!(serving.metrics()), &[]);
    serving.stop();
    outputs.push(Output::new("serve", serving.running.output(), &[]));
    outputs
}

/// Every route of the OpenAPI description and every screen of the dashboard, as an administrator.
pub(crate) fn through_api(machine: &Machine) -> Vec<Output> {
    let mut serving = Serving::start(&machine.home, &[]);
    let admin = machine.home.run(&["token", "--admin"]).ok().stdout;
    let bearer = format!("Bearer {}", admin.trim());
    let base = serving.url.replace("/mcp", "");
    let ask = |method: &str, path: &str, body: &str| {
        let mut headers = vec![("Authorization", bearer.as_str())];
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        http(&format!("{base}{path}"), method, &headers, body)
    };
    let mut outputs = Vec::new();
    let (_, description) = ask("GET", "/api/v1/openapi.json", "");
    let description: Value = serde_json::from_str(&description).expect("the description is JSON");
    let (_, servers) = ask("GET", "/api/v1/servers", "");
    let servers: Value = serde_json::from_str(&servers).expect("the servers are JSON");
    let servers: Vec<&str> = servers["servers"]
        .as_array()
        .expect("a list of servers")
        .iter()
        .filter_map(|server| server["name"].as_str())
        .collect();
    assert!(servers.contains(&"leaky"), "{servers:?}");
    // The first report of a server's failure.
    for server in &servers {
        let path = format!("/api/v1/servers/{server}/refresh");
        let (_, response) = ask("POST", &path, "{}");
        outputs.push(Output::new(format!("POST {path}"), response, &[]));
    }
    for (tool, argument, holds) in CALLS {
        let path = format!("/api/v1/tools/{}/call", tool.replace('/', "__"));
        let body = json!({"arguments": {"text": planted(argument)}});
        let (_, response) = ask("POST", &path, &body.to_string());
        outputs.push(Output::new(format!("POST {path}"), response, holds));
    }
    let mut pages: Vec<String> = [
        "",
        "servers",
        "add-server",
        "tools",
        "search",
        "approvals",
        "activity",
        "context",
        "connect",
    ]
    .map(|page| format!("/{page}"))
    .into();
    let read = description["paths"].as_object().expect("paths");
    for (path, methods) in read {
        // The event stream has no end, and `call-token` returns the token on purpose.
        if methods.get("get").is_some()
            && !path.ends_with("/events")
            && !path.ends_with("/call-token")
        {
            pages.push(path.clone());
        }
    }
    for page in pages {
        let page = page
            .replace("{id}", "default")
            .replace("{format}", "anthropic");
        let named: Vec<String> = match page.contains("/tools/{name}") {
            true => vec![page.replace("{name}", "leaking__report")],
            false if page.contains("{name}") => servers
                .iter()
                .map(|name| page.replace("{name}", name))
                .collect(),
            false => vec![page],
        };
        for page in named {
            let (status, response) = ask("GET", &page, "");
            assert!(status < 500, "{page}: {response}");
            outputs.push(Output::new(format!("GET {page}"), response, &[]));
        }
    }
    for page in servers
        .iter()
        .map(|name| format!("/servers/{name}"))
        .chain(["/tools/leaking__report".to_owned()])
    {
        let (status, response) = ask("GET", &page, "");
        assert_eq!(status, 200, "{page}: {response}");
        outputs.push(Output::new(format!("GET {page}"), response, &[]));
    }
    serving.stop();
    outputs.push(Output::new(
        "serve for the API",
        serving.running.output(),
        &[],
    ));
    outputs
}

/// A model that makes calls.
pub(crate) fn through_an_agent(machine: &Machine) -> Vec<Output> {
    let calls: Vec<Value> = CALLS
        .iter()
        .map(|(tool, argument, _)| {
            let input = json!({"tool_name": tool, "arguments": {"text": planted(argument)}});
            json!({"name": "call_tool", "input": input})
        })
        .collect();
    let turns = json!([{"calls": calls}, {"text": "Done."}]);
    let model = ModelServer::start(ModelScript::of(json!({"turns": turns})));
    let mut command = machine
        .home
        .command(&["ask", "--model", "m-1", "Call them all."]);
    command
        .env("ANTHROPIC_API_KEY", planted("key of a model's provider"))
        .env("ANTHROPIC_BASE_URL", model.anthropic_url());
    let run = Run::of(command, "").ok();
    model.assert_satisfied();
    // Calls and results are for the model.
    let mut may_hold = Vec::new();
    for (_, argument, holds) in CALLS {
        may_hold.push(*argument);
        may_hold.extend_from_slice(holds);
    }
    let bodies = model
        .requests()
        .into_iter()
        .map(|request| request.body.to_string());
    let bodies = bodies.map(|body| Output::new("request to a model", body, &may_hold));
    let (logs, notes) = split(&run.stderr);
    let mut outputs: Vec<Output> = bodies.collect();
    outputs.push(Output::new("ask (stdout)", run.stdout, &[]));
    outputs.push(Output::new("ask (stderr)", notes, &[]));
    outputs.push(Output::new("ask (logs)", logs, &[]));
    outputs
}

//! `pegboard stdio`: a client that starts Pegboard itself.

#[cfg(feature = "meaning")]
use std::io::{BufRead, BufReader, Write};
#[cfg(feature = "meaning")]
use std::process::{Child, Command, Stdio};
#[cfg(feature = "meaning")]
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::Home;
#[cfg(feature = "meaning")]
use crate::support::TIMEOUT;

pub(super) fn conversation(requests: &[Value]) -> String {
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines = [opening, opened]
        .into_iter()
        .chain(requests.iter().cloned());
    lines.map(|line| format!("{line}\n")).collect()
}

pub(super) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[test]
fn r_gate_01_stdio_answers_everything_and_ends_with_its_client() {
    let home = Home::with_example();
    let input = conversation(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call(2, "example__add_numbers", json!({"a": 1, "b": 2})),
    ]);
    let run = home.run_with_input(&["stdio"], &input).ok();
    let mut answers: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("nothing but protocol on stdout"))
        .collect();
    answers.retain(|answer| answer.get("id").is_some());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{}", run.stdout);
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "pegboard");
    assert_eq!(
        answers[1]["result"]["tools"].as_array().map(Vec::len),
        Some(5)
    );
    assert_eq!(answers[2]["result"]["structuredContent"], json!({"sum": 3}));
    home.assert_nothing_runs();
}

#[test]
fn r_gate_01_listing_over_stdio_starts_no_server() {
    let home = Home::with_example();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let search = call(2, "search_tools", json!({"query": "add numbers"}));
    let before = home.run(&["logs", "example"]).stdout;
    let run = home
        .run_with_input(&["stdio"], &conversation(&[list, search]))
        .ok();
    assert!(
        run.stdout.contains("example__add_numbers"),
        "{}",
        run.stdout
    );
    assert_eq!(home.run(&["logs", "example"]).stdout, before);
}

#[test]
fn r_gate_02_a_profile_is_chosen_by_its_name() {
    let home = Home::with_example();
    let profiles = "[profiles.work]\nmode = 'direct'\nservers = ['example']\nprefix = false\n";
    home.write(
        "config/config.toml",
        &format!("{}{profiles}", home.config()),
    );
    let input = conversation(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call(2, "add_numbers", json!({"a": 1, "b": 2})),
    ]);
    let run = home
        .run_with_input(&["stdio", "--profile", "work"], &input)
        .ok();
    assert!(
        run.stdout.contains("\"name\":\"add_numbers\""),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("call_tool"), "{}", run.stdout);
    assert!(
        run.stdout.contains("\"structuredContent\":{\"sum\":3}"),
        "{}",
        run.stdout
    );

    let run = home
        .run_with_input(&["stdio", "--profile", "wrk"], &input)
        .exits(7);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("PROFILE_UNKNOWN") && run.stderr.contains("work"),
        "{}",
        run.stderr
    );
}

/// A session that waits for each response.
#[cfg(feature = "meaning")]
struct StdioSession {
    child: Child,
    answers: Receiver<String>,
}

#[cfg(feature = "meaning")]
impl StdioSession {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut lines = stdout.lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Self { child, answers }
    }

    fn send(&mut self, lines: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(lines.as_bytes()).expect("it listens");
    }

    fn answer(&self, id: u64) -> Value {
        loop {
            let line = self.answers.recv_timeout(TIMEOUT).expect("an answer");
            let answer: Value = serde_json::from_str(&line).expect("nothing but protocol");
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Ends the session and the program.
    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Searches and calls the result in a Pegboard with this environment. Returns the number of remembered searches.
#[cfg(feature = "meaning")]
fn remembered_after_a_call(variables: &[(&str, &str)]) -> u64 {
    let mut home = Home::with_example();
    let settings = "[settings]\nremember_searches = true\n";
    home.write(
        "config/config.toml",
        &format!("{}{settings}", home.config()),
    );
    // Creates the vectors, which are required for remembering.
    home.run(&["search", "add two numbers"]).ok();
    for (name, value) in variables {
        home.set(name, value);
    }
    let mut session = StdioSession::start(home.command(&["stdio"]));
    session.send(&conversation(&[]));
    session.answer(0);
    let search = call(1, "search_tools", json!({"query": "the sum of two values"}));
    session.send(&format!("{search}\n"));
    let shown = session.answer(1).to_string();
    assert!(shown.contains("example__add_numbers"), "{shown}");
    let add = call(2, "example__add_numbers", json!({"a": 1, "b": 2}));
    session.send(&format!("{add}\n"));
    assert_eq!(
        session.answer(2)["result"]["structuredContent"],
        json!({"sum": 3})
    );
    session.end();
    let forgotten = home.run(&["search", "--forget", "--json"]).ok().json();
    forgotten["forgotten"].as_u64().expect("a number")
}

#[cfg(feature = "meaning")]
#[test]
fn r_find_02_a_server_that_runs_pegboard_cannot_raise_its_own_rank() {
    assert_eq!(remembered_after_a_call(&[]), 1);
    // Inherited by every process of a server.
    let inherited = [("PEGBOARD_CHILD", "of a server")];
    assert_eq!(remembered_after_a_call(&inherited), 0);
}

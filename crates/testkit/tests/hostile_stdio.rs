//! Tests of the hostile server over pipes: each fault is the scripted one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod pipe;

use std::time::{Duration, Instant};

use pegboard_testkit::script::{
    Crash, Cursors, Era, Grandchild, ListChanged, Malformed, Moment, Mutation, MutationAt,
    NoiseKind, Probe, ResponseShape,
};
use pegboard_testkit::{
    Script, is_alive, methods_in, processes_with_marker, starts_in, wait_until_sync,
};
use pipe::{Pipe, modern, tool_names};
use serde_json::{Value, json};

fn start(script: &Script) -> Pipe {
    let (command, args) = script.stdio_command();
    Pipe::start(command, &args)
}

#[test]
fn a_plain_server_speaks_both_eras() {
    let mut server = start(&Script::new().tools(["a", "b"]));
    let discovered = server.modern(1, "server/discover", json!({}));
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );
    let listed = server.modern(2, "tools/list", json!({}));
    assert_eq!(tool_names(&listed), ["a", "b"]);
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(
        server.initialize()["result"]["protocolVersion"],
        "2025-11-25"
    );
    assert_eq!(
        tool_names(&server.legacy(3, "tools/list", json!({}))),
        ["a", "b"]
    );
    let called = server.legacy(
        4,
        "tools/call",
        json!({"name": "a", "arguments": {"x": [1, "é"]}}),
    );
    let text = called["result"]["content"][0]["text"].as_str().unwrap();
    let echoed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(echoed, json!({"tool": "a", "arguments": {"x": [1, "é"]}}));
    assert_eq!(
        server.legacy(5, "tools/call", json!({"name": "c"}))["error"]["code"],
        -32602
    );
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn an_unsupported_era_is_refused_as_scripted() {
    let refusal = |script: Script| {
        let mut server = start(&script);
        server.modern(1, "server/discover", json!({}))["error"]["code"].clone()
    };
    assert_eq!(refusal(Script::new().probe(Probe::MethodNotFound)), -32601);
    assert_eq!(refusal(Script::new().probe(Probe::InvalidParams)), -32602);

    let mut modern_only = start(&Script::new().era(Era::Modern));
    assert_eq!(modern_only.initialize()["error"]["code"], -32022);
    assert_eq!(
        modern_only.legacy(2, "tools/list", json!({}))["error"]["code"],
        -32602
    );

    let mut silent = start(&Script::new().probe(Probe::Silent));
    silent.send(&modern(1, "server/discover", json!({})));
    assert_eq!(silent.initialize()["id"], 0);

    let mut gone = start(&Script::new().probe(Probe::Exit));
    gone.send(&modern(1, "server/discover", json!({})));
    assert_eq!(gone.line(), None);
    assert_eq!(gone.exit_code(), Some(1));
}

#[test]
fn a_hanging_server_reads_input_and_sends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let mut server = start(&Script::new().hang(Moment::List).count_in(&count));
    server.initialize();
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    wait_until_sync("the ping arrives", Duration::from_secs(10), || {
        methods_in(&count)
            .last()
            .is_some_and(|method| method == "ping")
    });
    assert_eq!(starts_in(&count), [server.pid()]);
    server.close_stdin();
    assert_eq!(server.line(), None);
}

#[test]
fn a_server_crashes_at_the_scripted_moment() {
    let check = |crash: Crash, answered: usize, tail: bool| {
        let mut server = start(
            &Script::new()
                .tools(["a"])
                .with(|script| script.crash = Some(crash)),
        );
        let answers = ["server/discover", "tools/list", "tools/list"]
            .iter()
            .zip(1..)
            .map_while(|(method, id)| {
                server.send(&modern(id, method, json!({})));
                server.line()
            })
            .collect::<Vec<_>>();
        let whole = answers.iter().filter(|line| line.ends_with(b"\n")).count();
        assert_eq!(
            (whole, answers.len() > whole),
            (answered, tail),
            "{crash:?}"
        );
        assert_eq!(server.exit_code(), Some(crash.code), "{crash:?}");
    };
    check(
        Crash {
            when: Moment::Message(3),
            code: 7,
            mid_line: false,
        },
        2,
        false,
    );
    check(
        Crash {
            when: Moment::List,
            code: 9,
            mid_line: false,
        },
        1,
        false,
    );
    check(
        Crash {
            when: Moment::List,
            code: 1,
            mid_line: true,
        },
        1,
        true,
    );
}

#[test]
fn noise_comes_before_and_between_the_frames() {
    let script = Script::new()
        .noise(Moment::Start, NoiseKind::Text, 2)
        .noise(Moment::List, NoiseKind::Binary, 1)
        .noise(Moment::List, NoiseKind::Deep(100_000), 1)
        .noise(Moment::List, NoiseKind::Flood(1_000), 1);
    let mut server = start(&script);
    server.send(&modern(1, "tools/list", json!({})));
    assert!(server.line().unwrap().starts_with(b"Welcome"));
    assert!(server.line().unwrap().starts_with(b"Welcome"));
    assert!(String::from_utf8(server.line().unwrap()).is_err());
    assert_eq!(server.line().unwrap().len(), 200_001);
    let last = server.line().unwrap();
    assert!(last.starts_with(b"xxxx") && last.len() > 1_000, "{last:?}");
}

#[test]
fn pages_follow_their_cursors() {
    let pages = |cursors: Cursors, limit: usize| {
        let mut server = start(&Script::new().tools(["a", "b", "c"]).with(|script| {
            script.list.page_size = Some(1);
            script.list.cursors = cursors;
        }));
        let (mut names, mut params) = (Vec::new(), json!({}));
        for id in 1..=limit as u64 {
            let page = server.modern(id, "tools/list", params.clone());
            names.extend(tool_names(&page));
            match page["result"].get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return (names, params["cursor"].clone()),
            }
        }
        names.push("…".to_owned());
        (names, params["cursor"].clone())
    };
    assert_eq!(
        pages(Cursors::Sound, 9),
        (vec!["a".into(), "b".into(), "c".into()], json!("page-3"))
    );
    assert_eq!(pages(Cursors::EmptyText, 9).0, ["a", "b", "c"]);
    assert_eq!(
        pages(Cursors::Number, 9),
        (vec!["a".into(), "b".into(), "c".into()], json!(3))
    );
    assert_eq!(pages(Cursors::Huge(5_000), 9).0, ["a", "b", "c"]);
    assert_eq!(
        pages(Cursors::Repeated, 3),
        (["a", "b", "b", "…"].map(Into::into).into(), json!("again"))
    );
    assert_eq!(
        pages(Cursors::Endless, 3).0,
        ["endless_1", "endless_2", "endless_3", "…"]
    );
    let mut failing = start(&Script::new().tools(["a", "b"]).with(|script| {
        script.list.page_size = Some(1);
        script.list.fail_page = Some(2);
    }));
    assert_eq!(
        failing.modern(1, "tools/list", json!({"cursor": "page-2"}))["error"]["code"],
        -32603
    );
}

#[test]
fn malformed_tools_do_not_affect_valid_ones() {
    let script = Script::new()
        .tools(["good"])
        .with(|script| script.list.malformed = Malformed::BREAK_TYPED_CLIENTS.into());
    let listed = start(&script).modern(1, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 9);
    assert!(tools[1].get("inputSchema").is_none());
    assert_eq!(tools[7]["name"], 7);
}

#[test]
fn a_list_changes_also_over_several_starts() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new()
        .tools(["a"])
        .count_in(folder.path().join("count"))
        .with(|script| {
            script.list.mutations = vec![MutationAt {
                listing: 2,
                change: Mutation::Add("b".into()),
            }];
        });
    assert_eq!(
        tool_names(&start(&script).modern(1, "tools/list", json!({}))),
        ["a"]
    );
    assert_eq!(
        tool_names(&start(&script).modern(1, "tools/list", json!({}))),
        ["a", "b"]
    );
}

#[test]
fn answers_take_wrong_shapes() {
    let response = |shape: ResponseShape| {
        start(&Script::new().tools(["a"]).answer(Moment::List, shape)).modern(
            5,
            "tools/list",
            json!({}),
        )
    };
    assert_eq!(
        response(ResponseShape::Error(-32603))["error"]["code"],
        -32603
    );
    assert_eq!(response(ResponseShape::WrongId)["id"], 4_242_424_242_u64);
    assert_eq!(response(ResponseShape::TextId)["id"], "5");
    let both = response(ResponseShape::Both);
    assert!(both.get("result").is_some() && both.get("error").is_some());
    assert_eq!(
        response(ResponseShape::Neither),
        json!({"jsonrpc": "2.0", "id": 5})
    );
    let mut twice = start(&Script::new().answer(Moment::List, ResponseShape::Twice));
    assert_eq!(twice.modern(1, "tools/list", json!({})), twice.message());
}

#[test]
fn calls_run_side_by_side_and_can_be_answered_in_reverse() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.call.reverse = 3;
        script.call.delay_ms = 100;
        script.call.structured = Some(json!({"n": 1}));
        script.call.image = true;
        script.call.extra_fields = true;
    });
    let mut server = start(&script);
    let begun = Instant::now();
    (1..=3).for_each(|id| server.send(&modern(id, "tools/call", json!({"name": "a"}))));
    let ids: Vec<Value> = (0..3).map(|_| server.message()["id"].clone()).collect();
    assert_eq!(ids, [3, 2, 1]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_server_asks_its_client_during_a_call() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.call.client_requests = vec!["ping".into(), "sampling/createMessage".into()];
    });
    let mut server = start(&script);
    let ping = server.modern(1, "tools/call", json!({"name": "a"}));
    assert_eq!(ping["method"], "ping");
    server.send(&json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
    let sampling = server.message();
    let refusal = json!({"code": -32601, "message": "no"});
    server.send(&json!({"jsonrpc": "2.0", "id": sampling["id"], "error": refusal}));
    let content = server.message()["result"]["content"].clone();
    assert_eq!(content[1]["text"], "ping -> result");
    assert_eq!(content[2]["text"], "sampling/createMessage -> error -32601");
}

#[test]
fn changes_are_sent_to_a_subscription() {
    let script = Script::new().with(|script| {
        script.list_changed = Some(ListChanged {
            after: Moment::List,
            times: 5,
            pause_ms: 0,
        });
    });
    let mut server = start(&script);
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let acknowledged = server.modern(8, "subscriptions/listen", wanted);
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    server.send(&modern(9, "tools/list", json!({})));
    assert_eq!(server.message()["id"], 9);
    for _ in 0..5 {
        let change = server.message();
        assert_eq!(change["method"], "notifications/tools/list_changed");
        assert_eq!(
            change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            8
        );
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "sends a signal by `kill`")]
fn a_stubborn_fixture_ignores_sigterm_and_eof() {
    let marker = format!("stubborn-{}", std::process::id());
    let script = Script::new().with(|script| {
        script.instructions = Some(marker.clone());
        script.process.ignore_term = true;
        script.process.ignore_eof = true;
        script.process.grandchild = Some(Grandchild::OwnSession);
    });
    let mut server = start(&script);
    server.initialize();
    let status = std::process::Command::new("kill")
        .arg(server.pid().to_string())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(server.legacy(1, "ping", json!({}))["result"], json!({}));
    server.close_stdin();
    assert!(is_alive(server.pid()));
    assert_eq!(processes_with_marker(&marker), [server.pid()]);
    let grandchild = children_of(server.pid());
    assert_eq!(grandchild.len(), 1);
    drop(server);
    assert!(is_alive(grandchild[0]), "the grandchild keeps running");
    let killed = std::process::Command::new("kill")
        .args(["-9", &grandchild[0].to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    wait_until_sync("the grandchild ends", Duration::from_secs(5), || {
        !is_alive(grandchild[0])
    });
}

fn children_of(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

#[test]
fn a_script_is_read_from_a_file_and_a_wrong_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, Script::new().tools(["from_file"]).to_json()).unwrap();
    let program = pegboard_testkit::binary("pegboard-hostile");
    let args = ["--script-file".to_owned(), file.display().to_string()];
    let listed = Pipe::start(&program, &args).modern(1, "tools/list", json!({}));
    assert_eq!(tool_names(&listed), ["from_file"]);
    let wrong = ["--script".to_owned(), r#"{"eras":1}"#.to_owned()];
    assert_eq!(Pipe::start(&program, &wrong).exit_code(), Some(2));
}

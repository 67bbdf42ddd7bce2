//! `ps`, `stop`, `restart` and `status` of the background process.

use std::sync::atomic::{AtomicBool, Ordering};

use pegboard_background::{find_process, lock_file_path};
use pegboard_testkit::{Script, wait_until_sync};
use serde_json::{Value, json};

use super::client::Client;
use super::process_of;
use crate::support::{Home, TIMEOUT, kill};

fn sum(response: &Value) -> &Value {
    &response["result"]["structuredContent"]["sum"]
}

#[test]
fn r_share_01_stop_ends_the_process_and_its_servers_and_clients_continue() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(*sum(&client.add(1, 2)), 3);
    let first = process_of(&home);
    let run = home.run(&["stop"]).ok();
    assert_eq!(run.stdout, format!("stopped process {first}\n"));
    let none = home.run(&["stop", "--json"]).exits(3);
    assert_eq!(none.error()["reason"], "NOT_RUNNING");
    home.run(&["ps"]).exits(3);
    home.run(&["restart"]).exits(3);
    assert_eq!(home.processes().len(), 1, "only the bridge is left");
    let response = client.add(2, 2);
    assert_eq!(*sum(&response), 4, "{response}");
    assert_ne!(process_of(&home), first);
    client.end();
    home.run(&["stop"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_stop_ends_a_frozen_process() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(*sum(&client.add(1, 2)), 3);
    let frozen = process_of(&home);
    kill("-STOP", frozen);
    home.run(&["ps"]).exits(3);
    let run = home.run(&["stop", "--json"]).ok();
    assert_eq!(run.json(), json!({"pid": frozen, "ended_by": "signal"}));
    assert!(find_process(&home.state()).is_none());
    let second = client.add(2, 2);
    let is_error = second["error"]["data"]["code"] == "PROCESS_ENDED";
    assert!(is_error || *sum(&second) == 4, "{second}");
    assert_eq!(*sum(&client.add(3, 3)), 6);
    client.end();
    home.run(&["stop"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_two_stops_at_once_end_one_process_and_nothing_else() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    let first = process_of(&home);
    let runs = std::thread::scope(|scope| {
        let stops: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| home.run(&["stop", "--json"])))
            .collect();
        let ended = stops.into_iter().map(|stop| stop.join().expect("it ends"));
        ended.collect::<Vec<_>>()
    });
    let stopped: Vec<_> = runs.iter().filter(|run| run.code == 0).collect();
    assert!(!stopped.is_empty(), "{runs:?}");
    for run in stopped {
        assert_eq!(run.json(), json!({"pid": first, "ended_by": "request"}));
    }
    let others = runs.iter().filter(|run| run.code != 0);
    for run in others {
        assert_eq!(
            (run.code, &run.error()["reason"]),
            (3, &json!("NOT_RUNNING"))
        );
    }
    assert_eq!(*sum(&client.add(2, 2)), 4);
    client.end();
    home.run(&["stop"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_stop_ignores_a_stale_lock_file_that_names_another_process() {
    let home = Home::with_example();
    let mut other = home.start(&["example-server"]);
    let own = std::fs::read_to_string(format!("/proc/{}/stat", other.pid())).expect("its state");
    let started = own.rsplit_once(')').and_then(|(_, rest)| {
        let mut words = rest.split_whitespace();
        words.nth(19)?.parse::<u64>().ok()
    });
    let record = json!({
        "pid": other.pid(), "started": started, "protocols": [1], "build": "0", "socket": home.path("none"),
    });
    std::fs::write(lock_file_path(&home.state()), record.to_string()).expect("a lock file");
    let run = home.run(&["stop"]).exits(3);
    assert!(
        run.stderr.contains("no background process is running"),
        "{}",
        run.stderr
    );
    other.signal("-0");
    other.signal("-KILL");
    other.wait();
}

#[test]
fn r_share_04_clients_move_to_a_restarted_process_without_an_error() {
    let home = Home::with_example();
    let mut clients: Vec<Client> = (0..3).map(|_| Client::start(&home)).collect();
    clients.iter_mut().for_each(Client::open);
    let former = process_of(&home);
    let is_done = AtomicBool::new(false);
    let (document, clients) = std::thread::scope(|scope| {
        let is_done = &is_done;
        let calling: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                scope.spawn(move || {
                    let mut calls = 0;
                    // A few calls follow the restart in any case.
                    let mut rest = 3;
                    while rest > 0 {
                        calls += 1;
                        let response = client.add(calls, 1);
                        assert_eq!(*sum(&response), calls + 1, "{response}");
                        rest -= u64::from(is_done.load(Ordering::Acquire));
                    }
                    client
                })
            })
            .collect();
        let document = home.run(&["restart", "--json"]).ok().json();
        is_done.store(true, Ordering::Release);
        let ended = calling
            .into_iter()
            .map(|call| call.join().expect("it ends"));
        (document, ended.collect::<Vec<_>>())
    });
    let new = process_of(&home);
    assert_eq!(
        document,
        json!({"former_pid": former, "pid": new, "ended_by": null})
    );
    assert_ne!(former, new);
    wait_until_sync("the former process has ended", TIMEOUT, || {
        !home.processes().contains(&former)
    });
    let status = home.run(&["status", "--json"]).ok().json();
    assert_eq!(status["background"]["process"]["pid"], new);
    let moved = status["background"]["process"]["clients"].as_array();
    assert_eq!(moved.map(Vec::len), Some(3), "{status}");
    clients.into_iter().for_each(Client::end);
    home.run(&["stop"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_share_02_ps_lists_instances_of_all_projects_and_scopes() {
    let home = Home::with_example();
    for scope in ["user", "project", "session"] {
        let script = Script::new().tools(["work"]);
        let share = format!("share = \"{scope}\"\n");
        home.add_script(&format!("of_{scope}"), &script, &share);
    }
    home.run(&["refresh", "--all"]).ok();
    home.write("one/.mcp.json", "{}");
    home.write("two/.mcp.json", "{}");
    let mut clients: Vec<Client> = ["one", "one", "two"]
        .iter()
        .map(|folder| Client::start_in(&home, folder))
        .collect();
    for client in &mut clients {
        client.open();
        for scope in ["user", "project", "session"] {
            let params = json!({"name": format!("of_{scope}__work"), "arguments": {"text": "x"}});
            let response = client.request("tools/call", params);
            assert!(response["result"].is_object(), "{response}");
        }
    }
    let document = home.run(&["ps", "--json"]).ok().json();
    assert_eq!(document["clients"], 3, "{document}");
    let instances = document["instances"].as_array().expect("instances");
    let counted: Vec<_> = instances
        .iter()
        .map(|one| {
            (
                one["scope"].as_str().unwrap_or_default(),
                one["clients"].as_u64(),
            )
        })
        .collect();
    let expected = [
        ("project", Some(2)),
        ("project", Some(1)),
        ("session", Some(1)),
        ("session", Some(1)),
        ("session", Some(1)),
        ("user", Some(3)),
    ];
    let mut sorted = counted.clone();
    sorted.sort_by_key(|(scope, clients)| (*scope, std::cmp::Reverse(*clients)));
    assert_eq!(sorted, expected, "{document}");
    for one in instances {
        assert!(one["pid"].is_u64() && one["id"].is_u64(), "{one}");
        assert!(one["memory_bytes"].as_u64() > Some(0), "{one}");
        assert_eq!(one["in_flight"], 0);
    }
    let text = home.run(&["ps"]).ok().stdout;
    let mut lines = text.lines();
    assert_eq!(
        lines.next().map(|line| line.split_whitespace().collect()),
        Some(vec![
            "SERVER", "PID", "SCOPE", "PROJECT", "CLIENTS", "IDLE", "MEMORY", "WHY"
        ])
    );
    assert_eq!(lines.count(), 6, "{text}");
    assert!(text.contains("2 projects"), "{text}");
    clients.into_iter().for_each(Client::end);
    home.run(&["stop"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_status_shows_the_process_with_its_clients_and_why_sharing_is_off() {
    let mut home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    let status = home.run(&["status", "--json"]).ok().json();
    let background = &status["background"];
    assert_eq!(background["sharing"], json!({"on": true}));
    assert_eq!(background["process"]["reachable"], true);
    let shown = &background["process"]["clients"][0];
    assert_eq!(shown["name"], "test 1");
    assert_eq!(shown["transport"], "stdio");
    assert_eq!(shown["project"], home.path("project").display().to_string());
    assert_eq!(shown["profile"], Value::Null);
    assert!(shown["since"].is_u64() && shown["pid"].is_u64(), "{shown}");
    let text = home.run(&["status"]).ok().stdout;
    let expected = format!("test 1 in {} (for ", home.path("project").display());
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("running in the background"), "{text}");
    client.end();
    home.run(&["stop"]).ok();
    home.set("PEGBOARD_SHARE", "off");
    let status = home.run(&["status", "--json"]).exits(3).json();
    assert_eq!(status["background"]["process"], Value::Null);
    let reason = status["background"]["sharing"]["reason"].as_str();
    assert!(reason.is_some_and(|why| why.contains("PEGBOARD_SHARE")));
    let text = home.run(&["status"]).exits(3).stdout;
    assert!(text.contains("off (PEGBOARD_SHARE"), "{text}");
}

#[test]
fn r_share_01_a_process_in_the_foreground_is_stopped_but_not_restarted() {
    let home = Home::with_example();
    let mut up = home.start(&["up", "--port", "0"]);
    wait_until_sync("`up` is the shared process", TIMEOUT, || {
        find_process(&home.state()).is_some()
    });
    let run = home.run(&["restart"]).exits(2);
    assert!(run.stderr.contains("is a `pegboard up`"), "{}", run.stderr);
    let status = home.run(&["status", "--json"]).ok().json();
    let process = &status["background"]["process"];
    assert_eq!(
        (&process["kind"], &process["pid"]),
        (&json!("foreground"), &json!(up.pid()))
    );
    let stopped = home.run(&["stop", "--json"]).ok().json();
    assert_eq!(stopped, json!({"pid": up.pid(), "ended_by": "request"}));
    assert!(up.wait().success());
    home.assert_nothing_runs();
}

//! Several `pegboard stdio` and commands that share one process.

mod activation;
mod client;
mod commands;
mod controlling;
mod foreground;
mod obstacles;
mod versions;
mod windows;

use std::time::{Duration, Instant};

use pegboard_background::find_process;
use pegboard_testkit::{Script, is_alive, methods_in, starts_in, wait_until_sync};
use serde_json::json;

use crate::support::{Home, TIMEOUT, kill};
use client::Client;

/// How long the errors of open requests may take. They follow within milliseconds; the tests run on loaded machines.
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits until the process is another one than `former`, and returns its id.
fn successor_of(home: &Home, former: u32) -> u32 {
    let mut pid = None;
    wait_until_sync("another process serves the clients", TIMEOUT, || {
        pid = find_process(&home.state()).map(|process| process.pid);
        pid.is_some_and(|pid| pid != former)
    });
    pid.expect("it was found")
}

/// The id of the process that serves the clients of this machine.
fn process_of(home: &Home) -> u32 {
    find_process(&home.state())
        .expect("a process that clients share")
        .pid
}

#[test]
fn r_share_01_twenty_clients_that_start_at_once_share_one_process_and_one_server() {
    let home = Home::new();
    let count = home.path("starts");
    let script = Script::new().tools(["echo"]).count_in(&count);
    home.add_script("s", &script, "");
    home.run(&["refresh", "--all"]).ok();
    std::fs::remove_file(&count).expect("the discovery was counted");
    let mut clients: Vec<Client> = (0..20).map(|_| Client::start(&home)).collect();
    clients.iter_mut().for_each(Client::open);
    let process = process_of(&home);
    for (number, client) in (0..).zip(&mut clients) {
        let text = format!("number {number} end");
        let response = client.call("s__echo", json!({ "text": text }));
        assert!(response.to_string().contains(&text), "{response}");
    }
    assert_eq!(starts_in(&count).len(), 1, "one instance serves all");
    // Twenty bridges, the process, its watcher and one server.
    let running = home.processes().len();
    assert!(running <= 23, "{running} processes");
    assert_eq!(process_of(&home), process);
    clients.into_iter().for_each(Client::end);
    wait_until_sync("the process ends when it is idle", TIMEOUT, || {
        find_process(&home.state()).is_none()
    });
    home.assert_nothing_runs();
}

#[test]
fn r_share_04_open_requests_of_a_killed_process_get_one_error_and_are_never_sent_twice() {
    let home = Home::with_example();
    let count = home.path("calls");
    let mut slow = Script::new().tools(["wait"]).count_in(&count);
    slow.call.delay_ms = 600_000;
    home.add_script("slow", &slow, "");
    home.run(&["refresh", "--all"]).ok();
    let mut client = Client::start(&home);
    client.open();
    let calls = || {
        let methods = methods_in(&count);
        methods.iter().filter(|name| *name == "tools/call").count()
    };
    let ids: Vec<u64> = (0..3)
        .map(|number| client.send_call("slow__wait", json!({ "n": number })))
        .collect();
    wait_until_sync("the server has the calls", TIMEOUT, || calls() == 3);
    let server = *starts_in(&count).last().expect("it was started");
    let process = process_of(&home);
    kill("-9", process);
    let killed = Instant::now();
    for id in ids {
        let response = client.response(id);
        let error = &response["error"]["data"];
        assert_eq!(error["code"], "PROCESS_ENDED", "{response}");
        assert_eq!(error["retryable"], true, "{response}");
    }
    let took = killed.elapsed();
    assert!(took < ERROR_TIMEOUT, "the errors took {took:?}");
    let response = client.add(3, 2);
    let sum = &response["result"]["structuredContent"]["sum"];
    assert_eq!(*sum, 5, "the next call works: {response}");
    assert_ne!(process_of(&home), process);
    assert_eq!(calls(), 3, "nothing was sent again");
    wait_until_sync("the server of the killed process ends", TIMEOUT, || {
        !is_alive(server)
    });
    client.end();
    home.assert_nothing_runs();
}

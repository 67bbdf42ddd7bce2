//! Several windows on shared servers: one instance for all, and nothing in the wrong window.

use pegboard_background::process_status;
use pegboard_testkit::script::Era;
use pegboard_testkit::{Script, is_alive, methods_in, starts_in, wait_until_sync};
use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Home, TIMEOUT};

const WINDOWS: usize = 10;
const SERVERS: usize = 8;
const CALLS_PER_WINDOW: u64 = 5_000;
const AT_ONCE: u64 = 20;

#[test]
fn r_share_02_ten_windows_of_one_project_run_one_process_per_server() {
    let home = Home::new();
    let count = |server: usize| home.path(&format!("starts-{server}"));
    for server in 0..SERVERS {
        let script = Script::new().tools(["echo"]).count_in(count(server));
        home.add_script(&format!("s{server}"), &script, "");
    }
    home.run(&["refresh", "--all"]).ok();
    for server in 0..SERVERS {
        std::fs::remove_file(count(server)).expect("the discovery was counted");
    }
    let mut windows: Vec<Client> = (0..WINDOWS).map(|_| Client::start(&home)).collect();
    windows.iter_mut().for_each(Client::open);
    for window in &mut windows {
        let ids: Vec<u64> = (0..SERVERS)
            .map(|server| window.send_call(&format!("s{server}__echo"), json!({})))
            .collect();
        for id in ids {
            let response = window.response(id);
            assert!(response.get("result").is_some(), "{response}");
        }
    }
    for server in 0..SERVERS {
        let starts = starts_in(&count(server));
        assert_eq!(starts.len(), 1, "server s{server} was started {starts:?}");
        assert!(is_alive(starts[0]), "server s{server} runs");
    }
    let status = process_status(&home.state()).expect("it replies");
    let status = status.expect("a process");
    assert_eq!(status.clients.len(), WINDOWS);
    for client in &status.clients {
        assert_eq!(client.name.as_deref(), Some("test 1"));
        assert_eq!(client.project, home.path("project"));
        assert_eq!(client.calls, SERVERS as u64);
        assert!(client.requests > client.calls && client.pid.is_some());
    }
    assert_eq!(status.instances.len(), SERVERS);
    for instance in &status.instances {
        assert_eq!(instance.scope, "project");
        assert_eq!(instance.leases.len(), 1, "one view uses it");
    }
    windows.into_iter().for_each(Client::end);
    home.assert_nothing_runs();
}

#[test]
fn r_share_02_projects_share_a_server_of_the_user_and_no_other() {
    let home = Home::new();
    for (name, share) in [("common", "user"), ("own", "project")] {
        let script = Script::new().tools(["echo"]).count_in(home.path(name));
        home.add_script(name, &script, &format!("share = \"{share}\""));
    }
    home.run(&["refresh", "--all"]).ok();
    for name in ["common", "own"] {
        std::fs::remove_file(home.path(name)).expect("the discovery was counted");
    }
    let mut windows = ["a", "b"].map(|folder| Client::start_in(&home, folder));
    for window in &mut windows {
        window.open();
        for tool in ["common__echo", "own__echo"] {
            let response = window.call(tool, json!({}));
            assert!(response.get("result").is_some(), "{response}");
        }
    }
    assert_eq!(starts_in(&home.path("common")).len(), 1);
    assert_eq!(starts_in(&home.path("own")).len(), 2);
    let [first, second] = windows;
    first.end();
    // The instance stays for the other project.
    let mut second = second;
    let response = second.call("common__echo", json!({}));
    assert!(response.get("result").is_some(), "{response}");
    assert_eq!(starts_in(&home.path("common")).len(), 1);
    second.end();
    home.assert_nothing_runs();
}

/// Makes calls with the ids 1, 2, 3, ... and checks that everything that arrives is for this window.
fn call_many(window: &mut Client, name: &str) -> (u64, u64) {
    let (mut progress, mut messages) = (0, 0);
    let mut sent = 0;
    let mut answered = 0;
    while answered < CALLS_PER_WINDOW {
        while sent < CALLS_PER_WINDOW && sent - answered < AT_ONCE {
            sent += 1;
            let text = format!("{name} {sent} end");
            let params = json!({
                "name": "s__echo", "arguments": { "text": text }, "_meta": { "progressToken": sent },
            });
            let id = 1_000_000 + sent;
            window.send(&json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params,
            }));
        }
        let message = window.next();
        let whole = message.to_string();
        assert!(whole.contains(&format!("{name} ")), "{name} got {whole}");
        match message["method"].as_str() {
            Some("notifications/progress") => {
                let number = &message["params"]["progressToken"];
                assert!(whole.contains(&format!("{name} {number} end")), "{whole}");
                progress += 1;
            }
            Some("notifications/message") => messages += 1,
            Some(other) => panic!("{other}"),
            None => {
                let number = message["id"].as_u64().expect("an id") - 1_000_000;
                assert!(whole.contains(&format!("{name} {number} end")), "{whole}");
                answered += 1;
            }
        }
    }
    (progress, messages)
}

#[test]
fn r_share_03_nothing_of_10_000_calls_with_equal_ids_reaches_the_wrong_window() {
    let home = Home::new();
    let count = home.path("starts");
    let mut script = Script::new().tools(["echo"]).count_in(&count);
    script.era = Era::Legacy;
    script.call.progress = 1;
    script.call.echoes_in_messages = true;
    home.add_script("s", &script, "share = \"user\"");
    home.run(&["refresh", "--all"]).ok();
    std::fs::remove_file(&count).expect("the discovery was counted");
    let mut one = Client::start_in(&home, "one");
    let mut two = Client::start_in(&home, "two");
    for window in [&mut one, &mut two] {
        window.open();
        let set = window.request("logging/setLevel", json!({"level": "debug"}));
        assert!(set.get("result").is_some(), "{set}");
    }
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| call_many(&mut one, "one"));
        let second = scope.spawn(|| call_many(&mut two, "two"));
        (first.join(), second.join())
    });
    let (first, second) = (first.expect("window one"), second.expect("window two"));
    assert_eq!((first.0, second.0), (CALLS_PER_WINDOW, CALLS_PER_WINDOW));
    assert_eq!(starts_in(&count).len(), 1, "one instance serves both");
    one.end();
    two.end();
    home.assert_nothing_runs();
}

/// Answers the requests of a server until the response to `id` arrives. Returns it and the requested methods.
fn respond_until(window: &mut Client, id: u64) -> (Value, Vec<String>) {
    let mut requested = Vec::new();
    loop {
        let message = window.next();
        let method = message["method"].as_str().map(str::to_owned);
        match (method, message.get("id")) {
            (Some(method), Some(request)) => {
                let result = match method.as_str() {
                    "elicitation/create" => json!({"action": "accept", "content": {}}),
                    "roots/list" => json!({"roots": [{"uri": "file:///project"}]}),
                    _ => json!({
                        "role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m",
                    }),
                };
                let response = json!({"jsonrpc": "2.0", "id": request, "result": result});
                window.send(&response);
                requested.push(method);
            }
            (None, Some(other)) if *other == id => return (message, requested),
            _ => {}
        }
    }
}

#[test]
fn r_share_03_elicitation_sampling_and_roots_reach_the_window_that_called() {
    let home = Home::new();
    let mut script = Script::new().tools(["ask"]);
    script.era = Era::Legacy;
    let methods = ["elicitation/create", "sampling/createMessage", "roots/list"];
    script.call.client_requests = methods.map(str::to_owned).to_vec();
    home.add_script("s", &script, "");
    home.run(&["refresh", "--all"]).ok();
    let mut windows = [Client::start(&home), Client::start(&home)];
    let ask = |window: &mut Client, round: u32| {
        let id = window.send_call("s__ask", json!({ "round": round }));
        let (response, requested) = respond_until(window, id);
        let text = response.to_string();
        for method in methods {
            assert!(text.contains(&format!("{method} -> result")), "{text}");
        }
        // Roots are constant for an instance, so only one window is asked for them.
        let own = |name: &str| requested.iter().filter(|method| *method == name).count();
        assert_eq!(own("elicitation/create"), 1, "{requested:?}");
        assert_eq!(own("sampling/createMessage"), 1, "{requested:?}");
    };
    for window in &mut windows {
        window.open_with(json!({"elicitation": {}, "sampling": {}, "roots": {}}));
    }
    // The server is shared until it asks for the first time. From then on its sessions take turns.
    ask(&mut windows[0], 0);
    std::thread::scope(|scope| {
        for window in &mut windows {
            scope.spawn(move || (1..20).for_each(|round| ask(window, round)));
        }
    });
    for window in windows {
        let asked =
            |message: &Value| message.get("method").is_some() && message.get("id").is_some();
        assert!(!window.others.iter().any(asked), "{:?}", window.others);
        window.end();
    }
    home.assert_nothing_runs();
}

#[test]
fn r_share_03_cancelling_a_call_leaves_the_call_of_the_other_window_with_the_same_id() {
    let home = Home::new();
    let count = home.path("calls");
    let mut slow = Script::new().tools(["wait"]).count_in(&count);
    slow.era = Era::Legacy;
    slow.call.delay_ms = 3_000;
    home.add_script("slow", &slow, "");
    home.run(&["refresh", "--all"]).ok();
    let received = |method: &str| {
        let methods = methods_in(&count);
        methods.iter().filter(|name| *name == method).count()
    };
    let mut windows = [Client::start(&home), Client::start(&home)];
    windows.iter_mut().for_each(Client::open);
    let ids = windows
        .each_mut()
        .map(|window| window.send_call("slow__wait", json!({})));
    assert_eq!(ids[0], ids[1], "both use the same id");
    wait_until_sync("the server has both calls", TIMEOUT, || {
        received("tools/call") == 2
    });
    windows[0].send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ids[0]},
    }));
    let response = windows[1].response(ids[1]);
    assert!(response.get("result").is_some(), "{response}");
    assert_eq!(received("notifications/cancelled"), 1);
    // The first window gets no response to the cancelled call, and the next one as usual.
    let response = windows[0].request("ping", json!({}));
    assert!(response.get("result").is_some(), "{response}");
    assert!(windows[0].others.is_empty(), "{:?}", windows[0].others);
    windows.into_iter().for_each(Client::end);
    home.assert_nothing_runs();
}

#[test]
fn r_share_03_each_window_gets_log_messages_of_its_own_level() {
    let home = Home::new();
    let mut script = Script::new().tools(["echo"]);
    script.era = Era::Legacy;
    script.call.echoes_in_messages = true;
    home.add_script("s", &script, "");
    home.run(&["refresh", "--all"]).ok();
    let mut windows = [Client::start(&home), Client::start(&home)];
    for (window, level) in windows.iter_mut().zip(["debug", "emergency"]) {
        window.open();
        window.request("logging/setLevel", json!({ "level": level }));
    }
    let mut messages = windows.each_mut().map(|window| {
        let response = window.call("s__echo", json!({"text": "x"}));
        assert!(response.get("result").is_some(), "{response}");
        let is_message = |message: &&Value| message["method"] == "notifications/message";
        window.others.iter().filter(is_message).count()
    });
    messages.reverse();
    assert_eq!(messages, [0, 1]);
    windows.into_iter().for_each(Client::end);
    home.assert_nothing_runs();
}

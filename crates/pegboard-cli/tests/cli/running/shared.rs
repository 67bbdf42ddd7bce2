//! Several `pegboard stdio` that share one background process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use pegboard_background::find_process;
use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use crate::support::{Home, TIMEOUT, kill};

/// A client of `pegboard stdio`.
pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    pub(super) fn start(home: &Home) -> Self {
        Self::start_in(home, "project")
    }

    /// Starts a client in a folder of the test.
    pub(super) fn start_in(home: &Home, folder: &str) -> Self {
        let mut command = home.command(&["stdio"]);
        command.current_dir(home.path(folder));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        Self {
            child,
            input,
            output,
            last_id: 0,
        }
    }

    /// Sends a request and returns its response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the client's request is read");
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("a line");
            assert!(
                read > 0,
                "the program ended before its response to {method}"
            );
            let message: Value = serde_json::from_str(&line).expect("only protocol messages");
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(super) fn open(&mut self) {
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let opened = self.request("initialize", params);
        assert_eq!(
            opened["result"]["serverInfo"]["name"], "pegboard",
            "{opened}"
        );
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(self.input, "{note}").expect("the notification is read");
    }

    pub(super) fn add(&mut self, a: u64, b: u64) -> Value {
        let params = json!({"name": "example__add_numbers", "arguments": {"a": a, "b": b}});
        self.request("tools/call", params)
    }

    pub(super) fn end(self) {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn r_share_01_clients_that_start_at_once_share_one_process_that_ends_when_idle() {
    let home = Home::with_example();
    let mut clients: Vec<Client> = (0..10).map(|_| Client::start(&home)).collect();
    clients.iter_mut().for_each(Client::open);
    let process = find_process(&home.state()).expect("a background process");
    for (number, client) in (0..).zip(&mut clients) {
        let response = client.add(number, 1000);
        let sum = &response["result"]["structuredContent"]["sum"];
        assert_eq!(*sum, number + 1000, "{response}");
    }
    // Ten bridges, the process, its watcher and one server.
    let running = home.processes().len();
    assert!(running <= 13, "{running} processes");
    let same = find_process(&home.state()).map(|found| found.pid);
    assert_eq!(same, Some(process.pid));
    clients.into_iter().for_each(Client::end);
    wait_until_sync("the process ends when it is idle", TIMEOUT, || {
        find_process(&home.state()).is_none()
    });
    home.assert_nothing_runs();
}

#[test]
fn r_share_04_a_killed_process_is_replaced_and_every_request_gets_one_response() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(client.add(1, 2)["result"]["structuredContent"]["sum"], 3);
    let process = find_process(&home.state()).expect("a background process");
    kill("-9", process.pid);
    wait_until_sync("the process is gone", Duration::from_secs(20), || {
        find_process(&home.state()).is_none()
    });
    // The request may have been sent to the killed process; it is never sent to another one.
    let first = client.add(2, 2);
    let is_error = first["error"]["data"]["code"] == "PROCESS_ENDED";
    let is_result = first["result"]["structuredContent"]["sum"] == 4;
    assert!(is_error || is_result, "{first}");
    let second = client.add(3, 2);
    assert_eq!(second["result"]["structuredContent"]["sum"], 5, "{second}");
    let successor = find_process(&home.state()).expect("another process");
    assert_ne!(successor.pid, process.pid);
    client.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_client_that_cannot_share_is_served_alone() {
    let home = Home::with_example();
    // The file with the lock under which the process is started cannot be opened.
    home.write("state/process.start/in-the-way", "");
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(client.add(1, 2)["result"]["structuredContent"]["sum"], 3);
    client.end();
    home.assert_nothing_runs();
}

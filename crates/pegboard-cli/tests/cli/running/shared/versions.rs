//! Bridges and processes of different versions. The numbers are written out: what was released keeps working.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use pegboard_background::{
    Hello, LifeLock, ProcessKind, ProcessRecord, Reply, Request, Variables, connect, read_message,
    receive_request, send_hello, write_message,
};
use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Home, TIMEOUT};

const FIRST: u32 = 1;
const SECOND: u32 = 2;
const UNKNOWN: u32 = 99;

/// Opens a session as a bridge with these protocol numbers. Returns the number in use, or the refusal.
fn greet(home: &Home, protocols: &[u32]) -> Result<u32, String> {
    let mut stream = connect(&home.state())
        .expect("it can be reached")
        .expect("a process");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    let hello = Hello {
        protocols: protocols.to_vec(),
        folder: home.path("project"),
        home: home.path("home"),
        config_dir: home.path("config"),
        ..Hello::default()
    };
    let (read_by_process, to_process) = rustix::pipe::pipe().expect("a pipe");
    let (from_process, written_by_process) = rustix::pipe::pipe().expect("a pipe");
    let ends = [read_by_process.as_fd(), written_by_process.as_fd()];
    send_hello(&mut stream, hello, ends).expect("it is sent");
    drop((read_by_process, written_by_process));
    let protocol = loop {
        match read_message(&mut stream).expect("a reply") {
            Reply::Serving { protocol, .. } => break protocol,
            Reply::Alone { reason } => return Err(reason),
            Reply::Variables { .. } => {
                let path = std::env::var("PATH").unwrap_or_default();
                let values = [("PATH".to_owned(), path)].into();
                write_message(&mut stream, &Variables { values }).expect("it is sent");
            }
            other => panic!("{other:?}"),
        }
    };
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let mut to_process = File::from(to_process);
    writeln!(to_process, "{request}").expect("it is read");
    let mut line = String::new();
    let mut from_process = BufReader::new(File::from(from_process));
    from_process.read_line(&mut line).expect("a response");
    let response: Value = serde_json::from_str(&line).expect("a message");
    assert_eq!(response["id"], 1, "{response}");
    Ok(protocol)
}

#[test]
fn r_share_04_bridges_of_all_released_versions_are_served() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(greet(&home, &[FIRST]), Ok(FIRST));
    assert_eq!(greet(&home, &[SECOND, FIRST]), Ok(SECOND));
    assert_eq!(greet(&home, &[UNKNOWN, FIRST]), Ok(FIRST));
    let refused = greet(&home, &[UNKNOWN]).expect_err("no common number");
    assert!(refused.contains("no protocol in common"), "{refused}");
    client.end();
    home.assert_nothing_runs();
}

/// A process of the first version: it serves one client and answers each request with its own name.
fn first_version(home: &Home) -> (LifeLock, std::thread::JoinHandle<()>) {
    let socket = home.path("old");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let mut lock = LifeLock::try_take(&home.state())
        .expect("a lock file")
        .expect("no other process");
    let record = json!({
        "pid": std::process::id(), "started": 1, "protocols": [FIRST], "build": "0.1.0", "socket": socket,
    });
    let record: ProcessRecord = serde_json::from_value(record).expect("members have defaults");
    assert_eq!(record.kind, ProcessKind::Background);
    lock.write(&record).expect("it is written");
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        let (request, ends) = receive_request(&mut stream).expect("a hello");
        let Request::Serve(hello) = request else {
            panic!("{request:?}");
        };
        assert!(hello.protocols.contains(&FIRST), "{hello:?}");
        let reply = json!({"reply": "serving", "protocol": FIRST});
        write_message(&mut stream, &reply).expect("it is sent");
        let [input, output] = ends.expect("two pipes");
        let mut output = File::from(output);
        for line in BufReader::new(File::from(input)).lines() {
            let request: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            if request.get("id").is_some() {
                let result = json!({"serverInfo": {"name": "old"}});
                let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                writeln!(output, "{response}").expect("the bridge reads");
            }
        }
    });
    (lock, serving)
}

#[test]
fn r_share_04_a_process_of_the_first_version_serves_new_bridges_but_no_commands() {
    let home = Home::with_example();
    let (lock, serving) = first_version(&home);
    // A command needs a newer process, so it runs the call itself.
    let call = ["call", "example/add_numbers", "a=1", "b=2"];
    assert!(home.run(&call).ok().stdout.contains('3'));
    let mut client = Client::start(&home);
    let response = client.request("initialize", json!({}));
    assert_eq!(response["result"]["serverInfo"]["name"], "old");
    client.end();
    serving.join().expect("the process ends with its client");
    drop(lock);
    home.assert_nothing_runs();
}

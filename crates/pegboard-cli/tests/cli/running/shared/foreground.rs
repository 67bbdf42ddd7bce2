//! `pegboard up` as the process that clients share, and the handover between processes.

use pegboard_background::{ProcessKind, find_process, process_status};
use pegboard_testkit::{is_alive, wait_until_sync};

use super::client::Client;
use super::{process_of, successor_of};
use crate::support::{Home, PEGBOARD, TIMEOUT};

#[track_caller]
fn assert_sum(client: &mut Client, a: u64, b: u64) {
    let response = client.add(a, b);
    let sum = &response["result"]["structuredContent"]["sum"];
    assert_eq!(*sum, a + b, "{response}");
}

#[test]
fn r_share_01_up_takes_over_the_clients_of_the_background_process() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    assert_sum(&mut client, 1, 2);
    let background = process_of(&home);
    let mut up = home.start(&["up", "--port", "0"]);
    assert_eq!(successor_of(&home, background), up.pid());
    assert_sum(&mut client, 3, 4);
    wait_until_sync("the background process ends", TIMEOUT, || {
        !is_alive(background)
    });
    let record = find_process(&home.state()).expect("a process");
    assert_eq!(record.kind, ProcessKind::Foreground);
    let status = process_status(&home.state()).expect("it replies");
    let status = status.expect("a process");
    assert_eq!(status.pid, up.pid());
    assert_eq!(status.url, record.url);
    assert_eq!(status.clients.len(), 1, "{:?}", status.clients);
    let window = &status.clients[0];
    assert_eq!(window.pid, Some(client.pid()));
    assert_eq!(window.transport, "stdio");
    assert_eq!(window.name.as_deref(), Some("test 1"), "the name moves too");
    assert_eq!(status.instances.len(), 1);

    let second = home.start(&["up", "--port", "0"]);
    let place = record.url.expect("an address");
    second.wait_for(&format!("already runs at {place} (process {})", up.pid()));
    drop(second);

    up.signal("-INT");
    assert!(up.wait().success());
    assert_sum(&mut client, 5, 6);
    assert_ne!(process_of(&home), up.pid());
    client.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_04_a_replaced_program_hands_its_clients_over_without_an_error() {
    let home = Home::with_example();
    let program = home.path("pegboard");
    let replacement = home.path("pegboard.new");
    std::fs::hard_link(PEGBOARD, &program)
        .or_else(|_| std::fs::copy(PEGBOARD, &program).map(drop))
        .expect("a copy of the program");
    std::fs::copy(PEGBOARD, &replacement).expect("another copy");
    let start = || {
        let mut command = pegboard_command(&program);
        let own = home.command(&["stdio"]);
        command.current_dir(home.path("project"));
        command.env_clear().args(own.get_args());
        command.envs(home.environment());
        Client::of(command)
    };
    let mut old = start();
    old.open();
    assert_sum(&mut old, 1, 2);
    let former = process_of(&home);
    std::fs::rename(&replacement, &program).expect("the program is replaced");
    let mut new = start();
    new.open();
    let successor = successor_of(&home, former);
    // Requests of both windows during the handover.
    for number in 0..50 {
        assert_sum(&mut old, number, 1);
        assert_sum(&mut new, number, 2);
    }
    wait_until_sync("the former process ends", TIMEOUT, || !is_alive(former));
    assert_eq!(process_of(&home), successor);
    let status = process_status(&home.state()).expect("it replies");
    assert_eq!(status.expect("a process").clients.len(), 2);
    old.end();
    new.end();
    home.assert_nothing_runs();
}

#[expect(clippy::disallowed_methods, reason = "starts the program under test")]
fn pegboard_command(program: &std::path::Path) -> std::process::Command {
    std::process::Command::new(program)
}

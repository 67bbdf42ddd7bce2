//! What can be in the way of the shared process. Each client is served nevertheless.

use std::os::unix::fs::chown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use pegboard_background::{
    LifeLock, ProcessKind, ProcessRecord, find_process, lock_file_path, process_status,
};
use pegboard_testkit::wait_until_sync;

use super::client::Client;
use super::process_of;
use crate::support::{Home, TIMEOUT, kill};

/// A user that this test is not.
const OTHER_USER: u32 = 65_534;

#[track_caller]
fn is_served(mut client: Client) {
    client.open();
    let response = client.add(1, 2);
    let sum = &response["result"]["structuredContent"]["sum"];
    assert_eq!(*sum, 3, "{response}");
    client.end();
}

/// Pretends to be a process that listens on `socket`.
fn announce(state: &Path, socket: &Path) -> LifeLock {
    let lock = LifeLock::try_take(state).expect("a lock file");
    let mut lock = lock.expect("no other process");
    let record = ProcessRecord {
        pid: std::process::id(),
        started: 1,
        protocols: vec![1],
        build: String::new(),
        socket: socket.to_owned(),
        kind: ProcessKind::Background,
        url: None,
    };
    lock.write(&record).expect("it is written");
    lock
}

#[test]
fn r_share_01_a_client_that_cannot_start_the_process_is_served_alone() {
    let home = Home::with_example();
    // The file with the lock under which the process is started cannot be opened.
    home.write("state/process.start/in-the-way", "");
    is_served(Client::start(&home));
    assert_eq!(find_process(&home.state()), None);
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_the_socket_and_the_record_of_a_killed_process_are_replaced() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    let record = find_process(&home.state()).expect("a process");
    kill("-9", record.pid);
    drop(client);
    assert!(record.socket.exists(), "the socket is left behind");
    is_served(Client::start(&home));
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_process_that_accepts_no_client_is_not_waited_for() {
    let home = Home::with_example();
    let socket = home.path("full");
    let listener = UnixListener::bind(&socket).expect("a socket");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let _lock = announce(&home.state(), &socket);
    // One connection fills the queue, so the next ones must try again.
    let _waiting = UnixStream::connect(&socket).expect("the first one waits");
    is_served(Client::start(&home));
    drop(listener);
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_lock_file_of_another_user_is_not_used() {
    let home = Home::with_example();
    let file = lock_file_path(&home.state());
    std::fs::write(&file, "").expect("a file");
    if chown(&file, Some(OTHER_USER), Some(OTHER_USER)).is_err() {
        println!("skipped: only root can give a file to another user");
        return;
    }
    is_served(Client::start(&home));
    assert!(process_status(&home.state()).is_ok_and(|status| status.is_none()));
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_long_state_path_and_a_missing_runtime_folder_do_not_prevent_sharing() {
    let mut home = Home::new();
    let state = home.path(&"s".repeat(120));
    home.set("PEGBOARD_STATE_DIR", &state.display().to_string());
    home.set("XDG_RUNTIME_DIR", "/nonexistent/pegboard-test");
    home.add_example("example");
    home.run(&["refresh", "--all"]).ok();
    let mut client = Client::start(&home);
    client.open();
    let record = find_process(&state).expect("a process");
    assert!(record.socket.starts_with("/tmp"), "{record:?}");
    is_served(Client::start(&home));
    client.end();
    home.assert_nothing_runs();
    assert!(!record.socket.exists(), "the socket is removed");
}

/// Returns a command that runs another one, or prints why it cannot.
#[expect(clippy::disallowed_methods, reason = "the system's own sandbox tools")]
fn sandboxed(home: &Home, wrapper: &[&str]) -> Option<Command> {
    let own = home.command(&["stdio"]);
    let (program, options) = wrapper.split_first()?;
    let probe = Command::new(program).args(options).arg("true").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: this system cannot run {wrapper:?}");
        return None;
    }
    let mut command = Command::new(program);
    command
        .args(options)
        .arg(own.get_program())
        .args(own.get_args())
        .env_clear()
        .envs(home.environment())
        .current_dir(home.path("project"));
    Some(command)
}

#[test]
fn r_share_01_a_client_in_a_sandbox_is_not_served_by_the_process_outside() {
    for wrapper in [
        &["setpriv", "--no-new-privs"][..],
        &["unshare", "-r"],
        &["unshare", "-rn"],
    ] {
        let home = Home::with_example();
        let mut outside = Client::start(&home);
        outside.open();
        let process = process_of(&home);
        let Some(command) = sandboxed(&home, wrapper) else {
            continue;
        };
        let mut inside = Client::of(command);
        inside.open();
        let response = inside.add(1, 2);
        let sum = &response["result"]["structuredContent"]["sum"];
        assert_eq!(*sum, 3, "{wrapper:?}: {response}");
        let status = process_status(&home.state()).expect("it replies");
        let clients = status.expect("a process").clients;
        assert_eq!(clients.len(), 1, "{wrapper:?}: {clients:?}");
        assert_eq!(clients[0].pid, Some(outside.pid()));
        assert_eq!(process_of(&home), process);
        inside.end();
        outside.end();
        home.assert_nothing_runs();
    }
}

#[test]
fn r_share_01_a_client_in_a_sandbox_does_not_start_the_process_for_others() {
    let home = Home::with_example();
    let Some(command) = sandboxed(&home, &["setpriv", "--no-new-privs"]) else {
        return;
    };
    let mut inside = Client::of(command);
    inside.open();
    assert_eq!(find_process(&home.state()), None, "none outside");
    let mut outside = Client::start(&home);
    outside.open();
    let status = process_status(&home.state()).expect("it replies");
    assert_eq!(status.expect("a process").clients.len(), 1);
    inside.end();
    outside.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_with_a_read_only_state_folder_a_client_is_served_alone() {
    let home = Home::with_example();
    let mount = "mount --bind \"$PEGBOARD_STATE_DIR\" \"$PEGBOARD_STATE_DIR\" \
                 && mount -o remount,bind,ro \"$PEGBOARD_STATE_DIR\" && exec \"$@\"";
    let Some(command) = sandboxed(&home, &["unshare", "-rm", "sh", "-c", mount, "sh"]) else {
        return;
    };
    is_served(Client::of(command));
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_sharing_can_be_turned_off() {
    let mut home = Home::with_example();
    is_served(Client::of(home.command(&["stdio", "--alone"])));
    home.set("PEGBOARD_SHARE", "off");
    is_served(Client::start(&home));
    assert!(!lock_file_path(&home.state()).exists(), "no process ran");
}

#[test]
fn r_share_01_a_process_whose_socket_was_deleted_makes_room() {
    let home = Home::with_example();
    let mut client = Client::start(&home);
    client.open();
    let record = find_process(&home.state()).expect("a process");
    std::fs::remove_file(&record.socket).expect("the socket");
    wait_until_sync("the lock is free", TIMEOUT, || {
        find_process(&home.state()).is_none_or(|found| found.pid != record.pid)
    });
    let response = client.add(1, 2);
    let sum = &response["result"]["structuredContent"]["sum"];
    assert_eq!(*sum, 3, "{response}");
    client.end();
    home.assert_nothing_runs();
}

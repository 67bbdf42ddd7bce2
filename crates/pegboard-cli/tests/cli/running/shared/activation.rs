//! Socket activation: the process is started with a socket that another program listens on.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pegboard_background::{Confinement, find_process, state_id};
use pegboard_testkit::wait_until_sync;
use rustix::event::{PollFd, PollFlags, poll};

use super::client::Client;
use crate::support::{Home, PEGBOARD, TIMEOUT};

/// A home with a private runtime folder, and the socket that a service manager would listen on.
fn home_with_socket() -> (Home, UnixListener, PathBuf) {
    let mut home = Home::with_example();
    let runtime = home.path("run");
    let folder = runtime.join("pegboard");
    std::fs::create_dir_all(&folder).expect("a runtime folder");
    for private in [&runtime, &folder] {
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(private, mode).expect("a private folder");
    }
    home.set("XDG_RUNTIME_DIR", &runtime.display().to_string());
    let path = folder.join(format!("{}.activate", state_id(&home.state())));
    let listener = UnixListener::bind(&path).expect("a socket");
    (home, listener, path)
}

/// Starts the process as a service manager does: the socket is descriptor 3, and `LISTEN_PID` names the process.
#[expect(clippy::disallowed_methods, reason = "starts the program under test")]
fn start(home: &Home, listener: &UnixListener, pid: &str) -> Child {
    let socket = OwnedFd::from(listener.try_clone().expect("another descriptor"));
    let script = format!(
        "exec 3<&0 0</dev/null; LISTEN_PID={pid} LISTEN_FDS=1 exec '{PEGBOARD}' background"
    );
    Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .envs(home.environment())
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts")
}

fn wait_for_process(home: &Home) {
    wait_until_sync("a process runs", TIMEOUT, || {
        find_process(&home.state()).is_some()
    });
}

#[test]
fn r_share_01_a_passed_socket_is_served_and_left_to_its_owner() {
    let (home, listener, path) = home_with_socket();
    let mut child = start(&home, &listener, "$$");
    wait_for_process(&home);
    let record = find_process(&home.state()).expect("a process");
    assert_eq!((record.pid, &record.socket), (child.id(), &path));
    let mut client = Client::start(&home);
    client.open();
    assert_eq!(client.add(1, 2)["result"]["structuredContent"]["sum"], 3);
    // A second one finds the first, and does not leave clients of the socket waiting.
    let mut second = start(&home, &listener, "$$");
    assert!(second.wait().expect("it ends").success());
    client.end();
    home.run(&["stop"]).ok();
    assert!(child.wait().expect("it ends").success());
    assert!(path.exists(), "the service manager still listens on it");
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_socket_for_another_process_is_not_used() {
    let (home, listener, path) = home_with_socket();
    let mut child = start(&home, &listener, "1");
    wait_for_process(&home);
    let record = find_process(&home.state()).expect("a process");
    assert_ne!(record.socket, path);
    home.run(&["stop"]).ok();
    assert!(child.wait().expect("it ends").success());
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_socket_that_others_can_reach_is_refused() {
    let (home, listener, path) = home_with_socket();
    let folder = path.parent().expect("a folder");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut child = start(&home, &listener, "$$");
    assert!(!child.wait().expect("it ends").success());
    assert!(find_process(&home.state()).is_none());
}

#[test]
fn r_share_01_the_first_client_starts_the_process_through_the_socket() {
    if Confinement::own().is_none_or(|own| own.is_restricted()) {
        println!("skipped: a restricted process never starts one through the service manager");
        return;
    }
    let (home, listener, path) = home_with_socket();
    let mut child = std::thread::scope(|scope| {
        let manager = scope.spawn(|| {
            // The connection of the client waits until the process accepts it.
            poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).expect("a client");
            start(&home, &listener, "$$")
        });
        let mut client = Client::start(&home);
        client.open();
        assert_eq!(client.add(1, 2)["result"]["structuredContent"]["sum"], 3);
        let child = manager.join().expect("it starts the process");
        let record = find_process(&home.state()).expect("a process");
        assert_eq!((record.pid, &record.socket), (child.id(), &path));
        client.end();
        child
    });
    // A process that retires sends new clients of the socket on, so that no client waits for it.
    let mut client = Client::start(&home);
    client.open();
    let document = home.run(&["restart", "--json"]).ok().json();
    assert_eq!(document["former_pid"], child.id());
    assert_eq!(client.add(2, 2)["result"]["structuredContent"]["sum"], 4);
    client.end();
    home.run(&["stop"]).ok();
    assert!(child.wait().expect("it ends").success());
    home.assert_nothing_runs();
}

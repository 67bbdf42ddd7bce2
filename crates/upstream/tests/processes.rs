//! No process of a server is ever left behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![cfg(target_os = "linux")]

mod fixture;

use std::path::Path;
use std::time::{Duration, Instant};

use fixture::*;
use pegboard_model::Reason;
use pegboard_upstream::{Connect, ConnectHint, sweep_orphans};

/// A server that ignores SIGTERM, with a child in its group and one that left it, both ignoring SIGTERM as well.
fn stubborn(folder: &Path) -> String {
    let path = folder.to_str().unwrap();
    format!(
        "trap '' TERM HUP INT
         sh -c 'trap \"\" TERM HUP; echo $$ > {path}/grandchild; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 &
         setsid sh -c 'trap \"\" TERM HUP; echo $$ > {path}/escaped; while :; do sleep 1; done' </dev/null 2>/dev/null &
         {LEGACY}
         while :; do sleep 1; done"
    )
}

#[tokio::test]
async fn r_sec_04_closing_leaves_no_process_however_stubborn() {
    let folder = tempfile::tempdir().unwrap();
    let server = connect(&sh(&stubborn(folder.path()))).await.unwrap();
    let grandchild = pid_in(&folder.path().join("grandchild")).await;
    let escaped = pid_in(&folder.path().join("escaped")).await;
    let child = server.health().pid.unwrap();
    assert!(is_running(child) && is_running(grandchild) && is_running(escaped));
    let begun = Instant::now();
    server.close().await;
    assert!(
        begun.elapsed() >= Duration::from_secs(4),
        "stdin was closed and SIGTERM sent first"
    );
    assert!(begun.elapsed() < Duration::from_secs(9));
    // The escaped process is waited for; a killed member of the group may take a moment to end.
    assert!(!is_running(child) && !is_running(escaped));
    eventually("the group is gone", || !is_running(grandchild)).await;
}

#[tokio::test]
async fn r_sec_04_dropping_the_connection_kills_all_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let server = connect(&sh(&stubborn(folder.path()))).await.unwrap();
    let grandchild = pid_in(&folder.path().join("grandchild")).await;
    let escaped = pid_in(&folder.path().join("escaped")).await;
    let child = server.health().pid.unwrap();
    drop(server);
    eventually("all gone", || {
        ![child, grandchild, escaped].into_iter().any(is_running)
    })
    .await;
}

#[tokio::test]
async fn r_sec_04_a_server_that_ends_by_itself_leaves_nothing_and_does_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    // The escaped child keeps the server's stdout and stderr open.
    let script = format!(
        "setsid sh -c 'trap \"\" TERM HUP; echo $$ > {path}/escaped; while :; do sleep 1; done' & {LEGACY}"
    );
    let server = connect(&sh(&script)).await.unwrap();
    let escaped = pid_in(&folder.path().join("escaped")).await;
    let error = failure(server.call("die", &nothing(), within(10)).await);
    assert_eq!(error.reason, Reason::ServerExited);
    assert!(error.message.contains("exit code 7"), "{error}");
    assert!(!is_running(escaped));
    server.close().await;
}

#[tokio::test]
async fn r_sec_04_a_connection_attempt_that_fails_or_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let silent = sh(&format!(
        "trap '' TERM; echo $$ > {}; while :; do sleep 1; done",
        file.to_str().unwrap()
    ));
    let error = failure(
        connector()
            .connect(&silent, &ConnectHint::default(), Duration::from_millis(500))
            .await,
    );
    assert_eq!(error.reason, Reason::DiscoveryTimeout);
    assert!(!is_running(pid_in(&file).await));
    std::fs::remove_file(&file).unwrap();
    let (connector, hint) = (connector(), ConnectHint::default());
    let mut attempt = Box::pin(connector.connect(&silent, &hint, Duration::from_secs(60)));
    let pid = tokio::select! {
        _ = &mut attempt => panic!("it never answers"),
        pid = pid_in(&file) => pid,
    };
    drop(attempt);
    eventually("the child is gone", || !is_running(pid)).await;
}

#[tokio::test]
async fn r_sec_04_a_cooperative_server_exits_when_its_stdin_closes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bye");
    let script = format!(
        "trap 'echo term > {0}' TERM; {LEGACY} echo eof > {0}",
        file.to_str().unwrap()
    );
    let server = connect(&sh(&script)).await.unwrap();
    let begun = Instant::now();
    server.close().await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "eof\n");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "a server that has ended is not waited for"
    );
}

#[tokio::test]
async fn r_sec_04_the_sweep_kills_what_a_dead_pegboard_left_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orphan");
    let ours = connect(&sh(LEGACY)).await.unwrap();
    // A process with the mark of an owner that cannot exist: our own pid with a different start time.
    let mark = format!("{}.1.1", std::process::id());
    let script = format!(
        "PEGBOARD_CHILD={mark} setsid sh -c 'echo $$ > {}; exec sleep 1000' </dev/null >/dev/null 2>&1 & {LEGACY}",
        file.to_str().unwrap()
    );
    let parent = connect(&sh(&script)).await.unwrap();
    let orphan = pid_in(&file).await;
    eventually("the orphan is marked", || {
        std::fs::read(format!("/proc/{orphan}/environ"))
            .unwrap_or_default()
            .windows(mark.len())
            .any(|part| part == mark.as_bytes())
    })
    .await;
    assert!(sweep_orphans() >= 1);
    assert!(!is_running(orphan));
    assert!(ours.is_alive() && is_running(ours.health().pid.unwrap()));
    assert!(parent.is_alive());
    ours.close().await;
    parent.close().await;
}

#[tokio::test]
async fn fifty_servers_at_once_are_bounded_by_the_slowest() {
    let slow = sh(&format!("sleep 0.3; {LEGACY}"));
    let connector = connector();
    let begun = Instant::now();
    let hint = ConnectHint::default();
    let all = futures_util::future::join_all(
        (0..50).map(|_| connector.connect(&slow, &hint, Duration::from_secs(30))),
    )
    .await;
    let elapsed = begun.elapsed();
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert!(
        elapsed < Duration::from_secs(5),
        "{elapsed:?}, and 15 s one after the other"
    );
    let pids: Vec<_> = all
        .iter()
        .map(|server| server.health().pid.unwrap())
        .collect();
    futures_util::future::join_all(all.iter().map(|server| server.close())).await;
    assert!(!pids.into_iter().any(is_running));
}

/// The variable with the file to which the program that is killed writes the pid of its server.
const VICTIM: &str = "PEGBOARD_TEST_VICTIM";

#[tokio::test]
#[ignore = "the victim of the test below, which starts it by name"]
async fn victim() {
    let file = std::env::var(VICTIM).expect("started by the other test");
    let server = connect(&sh(&format!(
        "echo $$ > {file}; trap '' TERM HUP; {LEGACY} while :; do sleep 1; done"
    )))
    .await
    .unwrap();
    server.ended().await;
}

#[tokio::test]
#[allow(
    clippy::disallowed_methods,
    reason = "the test needs a second program that it can kill"
)]
async fn r_sec_04_children_die_with_the_program_even_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut program = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored"])
        .env(VICTIM, &file)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let child = pid_in(&file).await;
    assert!(is_running(child));
    program.kill().await.unwrap();
    eventually("the child is gone", || !is_running(child)).await;
}

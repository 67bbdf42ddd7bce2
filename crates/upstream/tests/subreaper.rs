//! A program that starts only servers adopts their orphans instead of scanning all processes. A separate test program,
//! because adoption affects the whole process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![cfg(target_os = "linux")]

mod fixture;

use fixture::*;
use pegboard_upstream::adopt_orphans;

/// Returns the processes whose parent we are.
fn children() -> Vec<u32> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let file = thread.unwrap().path().join("children");
        let children = std::fs::read_to_string(file).unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .map(|pid| pid.parse::<u32>().unwrap()),
        );
    }
    found
}

#[tokio::test]
async fn r_sec_04_an_orphan_of_a_server_is_adopted_and_ended() {
    adopt_orphans();
    let polite = connect(&sh(LEGACY)).await.unwrap();
    let child = polite.health().pid.unwrap();
    polite.close().await;
    assert!(!is_running(child));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orphan");
    // The process between it and the server ends at once, which makes the orphan our child.
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > {}; while :; do sleep 1; done' \
          </dev/null >/dev/null 2>&1 &) ; {LEGACY}",
        file.to_str().unwrap()
    );
    let server = connect(&sh(&script)).await.unwrap();
    let orphan = pid_in(&file).await;
    eventually("the orphan is our child", || children().contains(&orphan)).await;
    assert!(is_running(orphan));
    server.close().await;
    assert!(!is_running(orphan), "closing leaves nothing behind");

    // An orphan that ends on its own is reaped while its server is running.
    let file = folder.path().join("short");
    let script = format!(
        "(setsid env -i sh -c 'echo $$ > {}' </dev/null >/dev/null 2>&1 &) ; {LEGACY}",
        file.to_str().unwrap()
    );
    let server = connect(&sh(&script)).await.unwrap();
    let short = pid_in(&file).await;
    eventually("the orphan is reaped", || !children().contains(&short)).await;
    assert!(server.is_alive());
    server.close().await;
}

//! Child processes: start, shutdown, and remaining processes.

use std::time::{Duration, Instant};

use pegboard_model::Reason;
use pegboard_testkit::script::{Grandchild, Moment};
use pegboard_testkit::{Script, stdio_spec, wait_until, with_env};
use pegboard_upstream::{Connect as _, ConnectHint};

use crate::harness::{
    BUDGET, MarkedServer, SLACK, concurrently, connector, list, list_with, names, refused,
};

#[tokio::test]
async fn r_sec_01_b01_a_command_that_is_not_there_is_named_with_the_path() {
    let spec = stdio_spec("bad", "no-such-program-of-pegboard", ["x"]);
    let error = refused(
        list_with(&connector(), &spec).await,
        &[Reason::SpawnNotFound],
    );
    assert!(
        error.message.contains("no-such-program-of-pegboard"),
        "{error}"
    );
    let first = std::env::var("PATH").unwrap_or_default();
    let first = first.split(':').next().unwrap_or_default().to_owned();
    assert!(
        error.remedy.contains(&first),
        "the searched directories: {error}"
    );
}

#[tokio::test]
async fn r_sec_01_b02_a_command_that_may_not_be_executed_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-executable");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let spec = stdio_spec("bad", file.display().to_string(), Vec::<String>::new());
    refused(list_with(&connector(), &spec).await, &[Reason::SpawnDenied]);
}

#[tokio::test]
async fn r_sec_04_b05_a_server_that_ignores_eof_and_term_is_killed() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.process.ignore_term = true;
        script.process.ignore_eof = true;
        script.process.grandchild = Some(Grandchild::SameGroup);
    });
    let server = MarkedServer::new(&script);
    let upstream = server.connect().await.unwrap();
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    wait_until("the server and its grandchild run", SLACK, || {
        server.processes().len() == 2
    })
    .await;
    let started = Instant::now();
    upstream.close().await;
    assert!(started.elapsed() < SLACK, "{:?}", started.elapsed());
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_04_b06_a_grandchild_that_holds_the_pipes_holds_up_nothing() {
    concurrently(
        [Grandchild::SameGroup, Grandchild::OwnSession].map(async |kind| {
            let grandchild = Script::new()
                .tools(["a"])
                .with(|script| script.process.grandchild = Some(kind));
            assert_eq!(names(&list(&grandchild).await.unwrap()), ["a"]);
            // The server exits, but its standard output stays open.
            refused(
                list(&grandchild.clone().crash(Moment::List, 1)).await,
                &[Reason::ServerExited],
            );
            refused(
                list(&grandchild.clone().crash(Moment::Start, 1)).await,
                &[Reason::ServerExited],
            );
            refused(
                list(&grandchild.hang(Moment::List)).await,
                &[Reason::DiscoveryTimeout],
            );
        }),
    )
    .await;
}

#[tokio::test]
async fn r_sec_04_a_connect_that_is_dropped_leaves_no_process() {
    let script = Script::new().hang(Moment::Start).with(|script| {
        script.process.ignore_term = true;
        script.process.ignore_eof = true;
    });
    let server = MarkedServer::new(&script);
    let connecting = {
        let spec = server.spec.clone();
        tokio::spawn(async move {
            connector()
                .connect(&spec, &ConnectHint::default(), Duration::from_secs(60))
                .await
                .map(drop)
        })
    };
    wait_until("the server runs", SLACK, || !server.processes().is_empty()).await;
    connecting.abort();
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_04_a_conversation_that_is_dropped_leaves_no_process() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.process.ignore_term = true;
        script.process.ignore_eof = true;
    });
    let server = MarkedServer::new(&script);
    let upstream = server.connect().await.unwrap();
    assert!(!server.processes().is_empty());
    drop(upstream);
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_04_closing_twice_or_during_a_call_is_fine() {
    let server = MarkedServer::new(&Script::new().tools(["a"]).hang(Moment::Call));
    let upstream = server.connect().await.unwrap();
    let calling = {
        let upstream = upstream.clone();
        tokio::spawn(async move {
            crate::harness::call(&*upstream, "a", serde_json::json!({}))
                .await
                .map(drop)
        })
    };
    wait_until("the call is under way", SLACK, || {
        upstream.health().in_flight > 0
    })
    .await;
    tokio::join!(upstream.close(), upstream.close());
    upstream.close().await;
    refused(
        calling.await.unwrap(),
        &[Reason::ServerExited, Reason::Cancelled],
    );
    assert_eq!(upstream.ended().await.reason, Reason::Cancelled);
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_obs_03_b12_secrets_in_an_environment_dump_are_gone_from_stderr_and_errors() {
    let script = Script::new()
        .tools(["a"])
        .with(|script| script.process.stderr_env = true);
    let mut server = MarkedServer::new(&script);
    server.spec = with_env(server.spec, "API_TOKEN", "canary-4711-canary");
    let upstream = server.connect().await.unwrap();
    wait_until("stderr is kept", SLACK, || {
        upstream.recent_stderr().contains("API_TOKEN")
    })
    .await;
    let stderr = upstream.recent_stderr();
    assert!(!stderr.contains("canary-4711"), "{stderr}");
    upstream.close().await;

    let mut crashing = MarkedServer::new(&script.crash(Moment::Start, 1));
    crashing.spec = with_env(crashing.spec, "API_TOKEN", "canary-4711-canary");
    let error = refused(
        list_with(&connector(), &crashing.spec).await,
        &[Reason::ServerExited],
    );
    assert!(!format!("{error:?}").contains("canary-4711"), "{error:?}");
}

#[tokio::test]
async fn r_sec_01_b14_a_server_gets_only_the_variables_it_is_meant_to_have() {
    // Cargo sets this for every test, and no server needs it.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    let server = MarkedServer::new(&Script::new().with(|script| script.process.stderr_env = true));
    let upstream = server.connect().await.unwrap();
    wait_until("stderr is kept", SLACK, || {
        upstream.recent_stderr().contains("PEGBOARD_TEST_MARKER=")
    })
    .await;
    let stderr = upstream.recent_stderr();
    assert!(stderr.contains("PATH="), "{stderr}");
    assert!(!stderr.contains("CARGO_PKG_NAME="), "{stderr}");
    upstream.close().await;
}

#[tokio::test]
async fn r_disc_02_an_error_carries_the_last_words_of_the_server() {
    // Not an MCP server: a program that prints an error to stderr and exits.
    let spec = stdio_spec("bad", "sh", ["-c", "echo 'the key is missing' >&2; exit 3"]);
    let error = refused(
        list_with(&connector(), &spec).await,
        &[Reason::ServerExited],
    );
    assert!(error.message.contains("the key is missing"), "{error}");
    assert!(error.message.contains('3'), "the exit code: {error}");
}

#[tokio::test]
async fn r_sec_04_many_servers_at_once_leave_nothing() {
    let script = Script::new().tools(["a"]).start_delay_ms(100);
    let servers: Vec<_> = (0..24).map(|_| MarkedServer::new(&script)).collect();
    let started = Instant::now();
    let tasks: Vec<_> = servers
        .iter()
        .map(|server| {
            let spec = server.spec.clone();
            tokio::spawn(async move {
                list_with(&connector(), &spec)
                    .await
                    .map(|listing| names(&listing))
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), ["a"]);
    }
    assert!(
        started.elapsed() < BUDGET + SLACK,
        "{:?}",
        started.elapsed()
    );
    for server in &servers {
        server.leaves_nothing().await;
    }
}

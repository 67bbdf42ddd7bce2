//! Connections to child processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fixture;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fixture::*;
use pegboard_model::{Era, Limits, Reason, Secret, Template, TemplatePart, Transport};
use pegboard_upstream::{
    CallOptions, Connect, ConnectHint, Connector, ConnectorConfig, OutcomeKind,
};

#[tokio::test]
async fn r_disc_06_a_legacy_server_is_started_asked_and_stopped() {
    let server = connect(&sh(LEGACY)).await.unwrap();
    assert_eq!(
        (
            server.handshake().era,
            server.handshake().protocol_version.as_str()
        ),
        (Era::Legacy, "2025-06-18")
    );
    assert_eq!(server.handshake().info.as_ref().unwrap().name, "sh");
    let listing = server.list_tools().await.unwrap();
    assert_eq!(
        listing.tools[0].get(),
        r#"{"name":"echo","x-unknown":1.50}"#
    );
    let outcome = server.call("echo", &nothing(), within(5)).await.unwrap();
    assert_eq!(
        outcome.result.get(),
        r#"{"content":[{"type":"text","text":"hi"}]}"#
    );
    assert!(!outcome.is_error && server.is_alive());
    let pid = server.health().pid.unwrap();
    server.close().await;
    server.close().await;
    assert!(!is_running(pid) && !server.is_alive());
    assert_eq!(server.ended().await.reason, Reason::Cancelled);
    assert_eq!(failure(server.list_tools().await).reason, Reason::Cancelled);
}

#[tokio::test]
async fn r_disc_12_a_modern_server_gives_its_hints_and_announces_changes() {
    let server = connect(&sh(MODERN)).await.unwrap();
    assert_eq!(
        (server.handshake().era, server.handshake().list_changed),
        (Era::Modern, true)
    );
    let listing = server.list_tools().await.unwrap();
    assert_eq!(
        (listing.tools.len(), listing.ttl_ms, listing.private),
        (1, Some(60_000), true)
    );
    let mut changes = server.list_changed();
    tokio::time::timeout(
        Duration::from_secs(10),
        changes.wait_for(|count| *count == 1),
    )
    .await
    .unwrap()
    .unwrap();
    server.close().await;
}

#[tokio::test]
async fn a_stored_modern_era_skips_the_probe() {
    let server = sh(&format!(
        "read -r first; case \"$first\" in *discover*|*initialize*) exit 9;; esac; id=${{first#*\\\"id\\\":}}; id=${{id%%,*}}; printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"tools\":[]}}}}\\n' \"$id\"; {MODERN}"
    ));
    let hint = ConnectHint {
        era: Some(Era::Modern),
        protocol_version: Some("2026-07-28".into()),
        ..Default::default()
    };
    let server = connector()
        .connect(&server, &hint, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 0);
    server.close().await;
}

#[tokio::test]
async fn a_wrong_memory_is_corrected() {
    let as_modern = ConnectHint {
        era: Some(Era::Modern),
        protocol_version: None,
        ..Default::default()
    };
    let server = connector()
        .connect(&sh(LEGACY), &as_modern, Duration::from_secs(10))
        .await
        .unwrap();
    // This server answers lists in any era, as many legacy servers do, so there is nothing to correct.
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
    server.close().await;
    let strict = LEGACY.replace("while read -r line; do", "ready=no; while read -r line; do case \"$line\" in *'\"initialize\"'*) ready=yes;; esac; if [ $ready = no ]; then id=${line#*\\\"id\\\":}; id=${id%%,*}; refuse -32602; continue; fi");
    for _ in 0..2 {
        let server = connector()
            .connect(&sh(&strict), &as_modern, Duration::from_secs(10))
            .await
            .unwrap();
        assert!(
            server
                .call("echo", &nothing(), within(5))
                .await
                .unwrap()
                .result
                .get()
                .contains("hi")
        );
        assert_eq!(server.handshake().era, Era::Legacy);
        assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
        server.close().await;
    }
    let as_legacy = ConnectHint {
        era: Some(Era::Legacy),
        protocol_version: None,
        ..Default::default()
    };
    let only_modern = MODERN.replace("refuse -32022", "exit 1");
    let server = connector()
        .connect(&sh(&only_modern), &as_legacy, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(server.handshake().era, Era::Modern);
    server.close().await;
    let connector = connector();
    let dies = LEGACY.replace(
        "while read -r line; do",
        "while read -r line; do case \"$line\" in *clientCapabilities*) exit 3;; esac;",
    );
    let server = connector
        .connect(&sh(&dies), &as_modern, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(
        failure(server.list_tools().await).reason,
        Reason::ServerExited
    );
    let server = connector
        .connect(&sh(&dies), &as_modern, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(
        (
            server.handshake().era,
            server.list_tools().await.unwrap().tools.len()
        ),
        (Era::Legacy, 1)
    );
    server.close().await;
}

#[tokio::test]
async fn a_server_that_ends_on_the_probe_is_started_again() {
    let dies = LEGACY.replace(
        "*'\"method\":\"server/discover\"'*) refuse -32601 ;;",
        "*'\"method\":\"server/discover\"'*) exit 1 ;;",
    );
    let server = connect(&sh(&dies)).await.unwrap();
    assert_eq!(server.handshake().era, Era::Legacy);
    server.close().await;
}

#[tokio::test]
async fn a_legacy_server_silent_on_the_probe_works_after_a_second() {
    let silent = LEGACY.replace(
        "*'\"method\":\"server/discover\"'*) refuse -32601 ;;",
        "*'\"method\":\"server/discover\"'*) : ;;",
    );
    let begun = Instant::now();
    let server = connect(&sh(&silent)).await.unwrap();
    assert_eq!(server.handshake().era, Era::Legacy);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    server.close().await;
}

#[tokio::test]
async fn r_sec_01_a_banner_on_stdout_is_counted_and_harmless() {
    let server = connect(&sh(&format!(
        "echo 'Welcome to my server!'; echo; {LEGACY}"
    )))
    .await
    .unwrap();
    assert_eq!(
        (server.handshake().noise, server.health().noise_lines),
        (1, 1)
    );
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
    server.close().await;
}

#[tokio::test]
async fn answers_to_calls_keep_their_meaning() {
    let server = connect(&sh(LEGACY)).await.unwrap();
    assert!(
        server
            .call("fails", &nothing(), within(5))
            .await
            .unwrap()
            .is_error
    );
    let reason = async |tool: &str| failure(server.call(tool, &nothing(), within(5)).await).reason;
    let asks = server.call("asks", &nothing(), within(5)).await.unwrap();
    assert_eq!(asks.kind, OutcomeKind::InputRequired);
    assert_eq!(reason("wrong").await, Reason::ArgsInvalid);
    let hang = pegboard_upstream::CallOptions::with_timeout(Duration::from_millis(50));
    assert_eq!(
        failure(server.call("hang", &nothing(), hang).await).reason,
        Reason::CallTimeout
    );
    assert_eq!(server.health().in_flight, 0);
    assert!(
        server.call("echo", &nothing(), within(5)).await.is_ok(),
        "the server lives on"
    );
    server.close().await;
}

#[tokio::test]
async fn r_obs_03_an_exit_is_reported_with_status_and_stderr_without_secrets() {
    let log = Arc::new(Log::default());
    let connector = Connector::new(ConnectorConfig {
        logs: Arc::clone(&log) as _,
        ..setup()
    });
    let spec = with_env(sh(LEGACY), "TOKEN", "canary-token-value");
    let server = connector
        .connect(&spec, &ConnectHint::default(), Duration::from_secs(10))
        .await
        .unwrap();
    let arguments = nothing();
    let (called, ended) = tokio::join!(server.call("die", &arguments, within(5)), server.ended());
    let error = failure(called);
    assert_eq!(
        (error.reason, error.retryable),
        (Reason::ServerExited, true)
    );
    assert!(
        error.message.contains("exit code 7") && error.message.contains("last words ***"),
        "{error}"
    );
    assert_eq!(ended, error);
    assert_eq!(server.recent_stderr(), "last words ***\n");
    assert_eq!(log.text(), "last words ***\n");
    assert!(!server.is_alive());
    server.close().await;
}

#[tokio::test]
async fn r_sec_04_a_server_sees_only_its_own_environment() {
    let spec = with_env(sh(LEGACY), "OWN", "own-value");
    let server = connect(&spec).await.unwrap();
    let outcome = server.call("env", &nothing(), within(5)).await.unwrap();
    let seen = outcome.result.get();
    assert!(
        seen.contains("OWN=own-value") && seen.contains("PEGBOARD_CHILD="),
        "{seen}"
    );
    assert!(
        !seen.contains("not-for-you") && !seen.contains("CARGO_PKG"),
        "{seen}"
    );
    server.close().await;
}

#[tokio::test]
async fn r_sec_01_a_line_without_end_is_stopped_and_the_child_is_dropped() {
    let limits = Limits {
        frame_bytes: 100_000,
        ..Limits::default()
    };
    let connector = Connector::new(ConnectorConfig { limits, ..setup() });
    let endless = sh("cat /dev/zero | tr '\\0' 'x'");
    let error = failure(
        connector
            .connect(&endless, &ConnectHint::default(), Duration::from_secs(10))
            .await,
    );
    assert_eq!(error.reason, Reason::FrameTooLarge);
}

#[tokio::test]
async fn r_disc_13_a_hang_ends_with_the_budget_and_package_runners_get_their_remedy() {
    let budget = Duration::from_millis(300);
    let silent = sh("echo 'waiting for the database' >&2; exec sleep 1000");
    let error = failure(
        connector()
            .connect(&silent, &ConnectHint::default(), budget)
            .await,
    );
    assert_eq!(
        (error.reason, error.retryable),
        (Reason::DiscoveryTimeout, true)
    );
    assert!(
        error.message.contains("waiting for the database"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let npx = folder.path().join("npx");
    std::fs::write(&npx, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&npx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let npx = command(npx.to_str().unwrap(), &["-y", "some-server"]);
    let error = failure(
        connector()
            .connect(&npx, &ConnectHint::default(), budget)
            .await,
    );
    assert_eq!(error.reason, Reason::DiscoveryTimeout);
    assert!(
        error.remedy.contains("`npx` may still be downloading")
            && error.remedy.contains("discovery_timeout"),
        "{}",
        error.remedy
    );
}

#[tokio::test]
async fn r_disc_02_a_list_that_hangs_ends_with_its_own_time() {
    let mut spec = sh(&LEGACY.replace(
        "*'\"method\":\"tools/list\"'*)",
        "*'\"method\":\"tools/list\"'*) : ;; never)",
    ));
    spec.timeouts.discovery = Duration::from_millis(200);
    let server = connect(&spec).await.unwrap();
    assert_eq!(
        failure(server.list_tools().await).reason,
        Reason::DiscoveryTimeout
    );
    server.close().await;
}

#[tokio::test]
async fn a_failed_start_reports_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .unwrap();
        path.to_str().unwrap().to_owned()
    };
    let error = failure(connect(&command("no-such-program-here", &[])).await);
    assert_eq!(error.reason, Reason::SpawnNotFound);
    let expected = "`no-such-program-here` not found in PATH";
    assert!(error.message.ends_with(expected), "{error}");
    assert_eq!(
        failure(connect(&command("/no/such/file", &[])).await).reason,
        Reason::SpawnNotFound
    );
    assert_eq!(
        failure(connect(&command(&file("plain", "text", 0o644), &[])).await).reason,
        Reason::SpawnDenied
    );
    let error = failure(
        connect(&command(
            &file("script", "#!/no/such/interpreter\n", 0o755),
            &[],
        ))
        .await,
    );
    assert_eq!(error.reason, Reason::SpawnFailed);
    assert!(error.message.contains("interpreter"), "{error}");
    let mut spec = sh(LEGACY);
    if let Transport::Stdio { cwd, .. } = &mut spec.transport {
        *cwd = Some(Template::literal("/no/such/folder"));
    }
    let error = failure(connect(&spec).await);
    assert_eq!(
        (error.reason, error.field.as_deref()),
        (Reason::SpawnFailed, Some("cwd"))
    );
}

#[tokio::test]
async fn a_secret_that_is_not_kept_is_named_before_anything_starts() {
    let mut spec = sh(LEGACY);
    if let Transport::Stdio { env, .. } = &mut spec.transport {
        let part = TemplatePart::StoredSecret {
            name: "github".into(),
            version: "1".into(),
        };
        env.insert(
            "TOKEN".into(),
            Template::new("${secret:github}", vec![part]),
        );
    }
    let error = failure(connect(&spec).await);
    assert_eq!(
        (error.reason, error.field.as_deref()),
        (Reason::ConfigSecretMissing, Some("env.TOKEN"))
    );
    assert!(error.message.contains("`github`"));
}

#[tokio::test]
async fn r_disc_02_a_refused_opening_carries_the_words_and_stderr() {
    let script = "echo 'API key missing' >&2; while read -r line; do id=${line#*\\\"id\\\":}; id=${id%%,*}; printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32000,\"message\":\"no key\"}}\\n' \"$id\"; done";
    let error = failure(connect(&sh(script)).await);
    assert_eq!(error.reason, Reason::HandshakeFailed);
    assert!(
        error.message.contains("no key") && error.message.contains("API key missing"),
        "{error}"
    );
}

#[tokio::test]
async fn a_wrong_memory_of_a_server_that_stays_silent_is_corrected_by_the_next_connection() {
    let as_modern = ConnectHint {
        era: Some(Era::Modern),
        protocol_version: None,
        ..Default::default()
    };
    let silent = LEGACY.replace("while read -r line; do", "ready=no; while read -r line; do case \"$line\" in *'\"initialize\"'*) ready=yes;; esac; if [ $ready = no ]; then continue; fi");
    let mut spec = sh(&silent);
    spec.timeouts.discovery = Duration::from_millis(200);
    let connector = connector();
    for asks_for_its_list in [true, false] {
        let server = connector
            .connect(&spec, &as_modern, Duration::from_secs(10))
            .await
            .unwrap();
        if asks_for_its_list {
            failure(server.list_tools().await);
        } else {
            let briefly = CallOptions::with_timeout(Duration::from_millis(200));
            failure(server.call("echo", &nothing(), briefly).await);
        }
        server.close().await;
        let server = connector
            .connect(&spec, &as_modern, Duration::from_secs(10))
            .await
            .unwrap();
        assert_eq!(server.handshake().era, Era::Legacy);
        server.close().await;
    }
}

#[tokio::test]
async fn r_sec_11_a_servers_own_secret_is_masked_in_its_lists() {
    let script = LEGACY
        .replace(
            r#"'{"tools":[{"name":"echo","x-unknown":1.50}]}'"#,
            r#""{\"tools\":[{\"name\":\"echo\",\"description\":\"Uses $TOKEN in $MODE.\"},{\"name\":\"b\",\"x\":1.50}]}""#,
        )
        .replace(
            r#"'{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'"#,
            r#""{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"sh\",\"version\":\"$TOKEN\"},\"instructions\":\"I am $TOKEN\"}""#,
        );
    let spec = with_env(sh(&script), "TOKEN", "canary-token-value");
    let spec = with_env(spec, "MODE", "production");
    let server = connect(&spec).await.unwrap();
    let listing = server.list_tools().await.unwrap();
    assert_eq!(
        listing.tools[0].get(),
        r#"{"name":"echo","description":"Uses *** in production."}"#
    );
    assert_eq!(
        listing.tools[1].get(),
        r#"{"name":"b","x":1.50}"#,
        "others stay byte for byte"
    );
    let handshake = server.handshake();
    assert_eq!(handshake.instructions.as_deref(), Some("I am ***"));
    assert_eq!(handshake.info.as_ref().unwrap().version, "***");
    server.close().await;
}

#[tokio::test]
async fn r_sec_11_a_secret_of_the_arguments_is_masked_in_the_lists_too() {
    let script = LEGACY.replace(
        r#"'{"tools":[{"name":"echo","x-unknown":1.50}]}'"#,
        r#""{\"tools\":[{\"name\":\"echo\",\"description\":\"$1, $2, $3 and $4\"}]}""#,
    );
    let key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let variable = |written: &str, value: &str| {
        let part = TemplatePart::Resolved(Secret::new(value.to_owned()));
        Template::new(written, vec![part])
    };
    let mut spec = sh(&script);
    if let Transport::Stdio { args, .. } = &mut spec.transport {
        args.extend([
            Template::literal("sh"),
            Template::literal(key),
            variable("${secret:kept}", "canary-kept-value"),
            variable("${MY_TOKEN}", "canary-token-value"),
            variable("${MY_HOST}", "api.example.com"),
        ]);
    }
    let server = connect(&spec).await.unwrap();
    let listing = server.list_tools().await.unwrap();
    assert_eq!(
        listing.tools[0].get(),
        r#"{"name":"echo","description":"***, ***, *** and api.example.com"}"#
    );
    server.close().await;
}

#[tokio::test]
async fn r_sec_01_deep_nesting_fails_one_tool_or_call_and_never_the_connection() {
    let levels = 100;
    let schema = format!(
        "{}{{}}{}",
        r#"{"properties":{"a":"#.repeat(levels),
        "}}".repeat(levels)
    );
    let tools =
        format!(r#"{{"tools":[{{"name":"echo"}},{{"name":"deep","inputSchema":{schema}}}]}}"#);
    let script = LEGACY
        .replace(r#"{"tools":[{"name":"echo","x-unknown":1.50}]}"#, &tools)
        .replace(
            r#"{"content":[],"isError":true}"#,
            &format!(r#"{{"content":[],"structuredContent":{schema}}}"#),
        );
    let server = connect(&sh(&script)).await.unwrap();
    let listing = server.list_tools().await.unwrap();
    let name = pegboard_model::ServerName::parse("tested").unwrap();
    let admission = pegboard_guard::admit(&name, false, &listing.tools, &Limits::default());
    assert_eq!(admission.tools.len(), 1);
    assert_eq!(admission.tools[0].name, "echo");
    assert_eq!(admission.rejections[0].reason, Reason::SchemaTooDeep);
    assert_eq!(admission.rejections[0].tool, "deep");

    let refused = failure(server.call("fails", &nothing(), within(5)).await);
    assert_eq!(refused.reason, Reason::FrameInvalid);
    assert!(server.call("echo", &nothing(), within(5)).await.is_ok());
    server.close().await;
}

#[tokio::test]
async fn r_ui_02_a_program_that_never_speaks_the_protocol_is_named_with_what_it_wrote() {
    let cow = "echo ' ____________'; echo '< help: cowsay >'; exit 0";
    let error = failure(connect(&sh(cow)).await);
    assert_eq!(error.reason, Reason::ServerExited);
    let expected =
        "ended with exit code 0 without speaking MCP; its output begins with \"____________\"";
    assert!(error.message.contains(expected), "{error}");
    let error = failure(connect(&sh("exit 4")).await);
    let expected = "ended with exit code 4 without speaking MCP";
    assert!(error.message.ends_with(expected), "{error}");
}

use super::*;
use crate::log_event;
use pegboard_model::{EventKind, Secret, ServerName, TraceId};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Mutex;

#[derive(Clone, Default)]
struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log output of `work`.
fn logged(level: &str, format: LineFormat, secrets: &[Secret], work: impl FnOnce()) -> String {
    let kept = CapturedOutput::default();
    let settings = LogSettings {
        level: Some(level.to_owned()),
        ..LogSettings::default()
    };
    let redactor = Arc::new(Redactor::with_secrets(secrets));
    let (subscriber, logs) =
        subscriber(&settings, format, redactor, Box::new(kept.clone())).unwrap();
    tracing::subscriber::with_default(subscriber, work);
    // A slow machine may need longer than a process waits at exit.
    logs.writer.flush(Duration::from_secs(30));
    let bytes = kept.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn event(kind: EventKind) -> pegboard_model::Event {
    let trace = TraceId::from_bytes([0xab; 16]);
    pegboard_model::Event::new(pegboard_model::Timestamp(1), trace, kind)
}

fn server() -> ServerName {
    ServerName::parse("github").unwrap()
}

#[track_caller]
fn check(kind: EventKind, expected: Value) {
    let text = logged("debug", LineFormat::Json, &[], || log_event(&event(kind)));
    let mut line: Value = serde_json::from_str(&text).unwrap();
    let line = line.as_object_mut().unwrap();
    assert!(
        line.remove("time")
            .is_some_and(|time| time.as_str().unwrap().ends_with('Z'))
    );
    assert_eq!(line.remove("target"), Some("pegboard".into()));
    assert_eq!(line.remove("trace"), Some("ab".repeat(16).into()));
    assert_eq!(Value::Object(line.clone()), expected);
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn r_obs_01_events_have_their_names_their_counts_and_their_trace() {
    check(
        EventKind::DiscoveryStarted { servers: 3 },
        json!({"level": "info", "event": "tools.discovery.started", "servers": 3}),
    );
    check(
        EventKind::ServerDiscovered {
            server: server(),
            tools: 7,
            duration_ms: 12,
        },
        json!({"level": "info", "event": "tools.discovery.server.success", "server": "github", "tools": 7, "duration_ms": 12}),
    );
    check(
        EventKind::ServerFailed {
            server: server(),
            reason: "SERVER_EXITED".into(),
            error: "gone\nfar".into(),
        },
        json!({"level": "warn", "event": "tools.discovery.server.failed", "server": "github", "reason": "SERVER_EXITED", "error": "gone\\nfar"}),
    );
    check(
        EventKind::ServerNotStored {
            server: server(),
            reason: "STORE_IO".into(),
            error: "the disk is full".into(),
        },
        json!({"level": "warn", "event": "store.server.failed", "server": "github", "reason": "STORE_IO", "error": "the disk is full"}),
    );
    check(
        EventKind::RegistryUpdated {
            static_tools: 1,
            mcp_tools: 2,
        },
        json!({"level": "info", "event": "tools.registry.updated", "static_tools": 1, "mcp_tools": 2}),
    );
    check(
        EventKind::ServerRemoved {
            server: server(),
            removed: 2,
        },
        json!({"level": "info", "event": "tools.registry.server.removed", "server": "github", "removed": 2}),
    );
    check(
        EventKind::CallFinished {
            tool: "github__x".into(),
            outcome: "ok".into(),
            duration_ms: 1,
        },
        json!({"level": "debug", "event": "tools.call.finished", "tool": "github__x", "outcome": "ok", "duration_ms": 1}),
    );
    check(
        EventKind::ServerStopped {
            server: server(),
            why: "crashed".into(),
        },
        json!({"level": "warn", "event": "server.stopped", "server": "github", "why": "crashed"}),
    );
    // The event name in the log equals its serialized name.
    let kind = EventKind::ConfigReloaded { servers: 1 };
    let name = serde_json::to_value(&kind).unwrap()["event"].clone();
    check(kind, json!({"level": "info", "event": name, "servers": 1}));
}

#[test]
fn r_store_01_a_lookup_is_logged_with_its_hits_and_misses() {
    use pegboard_model::Recorder;
    let facts = pegboard_model::LookupFacts {
        trace: TraceId::from_bytes([0xab; 16]),
        hits: 3,
        misses: 1,
        took: Duration::ZERO,
    };
    let tracer = crate::Tracer::metrics_only(Arc::default());
    let recorders: [&dyn Recorder; 2] = [&crate::LogRecorder, &tracer];
    for recorder in recorders {
        let work = || recorder.lookup(None, &facts);
        let text = logged("debug", LineFormat::Json, &[], work);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["event"], "tools.cache.lookup");
        assert_eq!((&line["hits"], &line["misses"]), (&3.into(), &1.into()));
        assert_eq!(line["trace"], "ab".repeat(16));
        assert_eq!(logged("info", LineFormat::Json, &[], work), "");
    }
}

#[test]
fn r_obs_01_a_person_reads_plain_lines() {
    let work = || {
        log_event(&event(EventKind::DiscoveryStarted { servers: 3 }));
        tracing::warn!(target: "pegboard", name = "a\u{1b}[2J", "not kept");
    };
    let text = logged("info", LineFormat::Human { colours: false }, &[], work);
    let lines: Vec<_> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    let trace = "ab".repeat(16);
    assert_eq!(
        lines[0],
        format!("INFO  tools.discovery.started servers=3 trace={trace}")
    );
    assert_eq!(lines[1], "WARN  not kept name=a\\u{1b}[2J");
    let coloured = logged("info", LineFormat::Human { colours: true }, &[], work);
    assert!(coloured.contains("\u{1b}[32mINFO "), "{coloured:?}");
}

#[track_caller]
fn check_level(level: &str, expected: &[&str]) {
    let text = logged(level, LineFormat::Json, &[], || {
        tracing::debug!(target: "pegboard_hub", "our debug");
        tracing::info!(target: "pegboard", "our info");
        tracing::warn!(target: "pegboard", "our warn");
        tracing::debug!(target: "hyper", "their debug");
        tracing::warn!(target: "hyper", "their warn");
    });
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages: Vec<_> = lines
        .map(|line| line["message"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(messages, expected, "{level}");
}

#[test]
fn a_level_is_about_ourselves_and_libraries_stay_quiet() {
    check_level("off", &[]);
    check_level("error", &[]);
    check_level("warn", &["our warn", "their warn"]);
    check_level("info", &["our info", "our warn", "their warn"]);
    check_level(
        "debug",
        &["our debug", "our info", "our warn", "their warn"],
    );
    check_level(
        "info,pegboard_hub=debug",
        &["our debug", "our info", "our warn", "their warn"],
    );
    check_level("hyper=debug", &["their debug", "their warn"]);
    let wrong = LogSettings {
        level: Some("loud".into()),
        ..LogSettings::default()
    };
    assert!(
        wrong
            .targets()
            .unwrap_err()
            .contains("`loud` is not a log level")
    );
}

#[test]
fn the_environment_comes_before_the_configuration() {
    let settings = LogSettings {
        level: Some("info".into()),
        format: LogFormat::Auto,
    };
    let read = |name: &str| match name {
        "PEGBOARD_LOG" => Some("debug".to_owned()),
        "PEGBOARD_LOG_FORM" => Some("json".to_owned()),
        _ => None,
    };
    let settings = settings.with_environment(&read);
    assert_eq!(settings.level.as_deref(), Some("debug"));
    assert_eq!(settings.format, LogFormat::Json);
}

#[test]
fn r_obs_03_no_secret_is_in_a_log_line() {
    let secret = "canary-secret-value";
    for format in [LineFormat::Json, LineFormat::Human { colours: true }] {
        let text = logged("trace", format, &[Secret::new(secret)], || {
            tracing::warn!(target: "pegboard", value = secret, other = ?secret, "message {secret}");
            tracing::warn!(target: "pegboard", long = %format!("{}{secret}", "x".repeat(2045)), "end");
            tracing::info!(target: "pegboard", "password=hunter2hunter2 Bearer abcdefghijkl");
            let error = format!("failed with {secret}");
            log_event(&event(EventKind::ServerFailed {
                server: server(),
                reason: "X".into(),
                error,
            }));
        });
        assert_eq!(text.lines().count(), 4);
        assert!(
            !text.contains("canary") && !text.contains("hunter2") && !text.contains("abcdefghijkl"),
            "{text}"
        );
    }
}

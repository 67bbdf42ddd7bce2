//! A hostile server in a sandbox. The kernel of the machine decides what can be tested; what it lacks is skipped with a
//! reason.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why it is skipped"
)]

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{
    Limits, NoSecrets, Reason, Sandbox, SandboxMode, SandboxNetwork, ServerSpec, Template,
    Transport,
};
use pegboard_testkit::{Script, processes_with_marker, wait_until, with_env};
use pegboard_upstream::{
    CallOptions, ClientInfo, Connect, ConnectHint, Connector, ConnectorConfig, NoLogs, Upstream,
    sandbox_support,
};
use serde_json::json;
use serde_json::value::RawValue;

const BUDGET: Duration = Duration::from_secs(20);

/// A home folder outside the system's temporary folder, which confined servers may write.
struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let machine = Self { root };
        for (file, text) in [
            ("home/.ssh/id", "private key"),
            ("home/.config/gh/hosts", "private token"),
            ("home/notes", "plain text"),
            ("state/token", "pegboard's token"),
            ("config/config.toml", "pegboard's config"),
            ("project/file", "project text"),
        ] {
            let path = machine.path(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn spec(&self, sandbox: Sandbox) -> ServerSpec {
        let script = Script::new()
            .tools(["attack"])
            .with(|script| script.call.attacks = true);
        let mut spec = script.stdio_spec("hostile");
        spec.sandbox = sandbox;
        if let Transport::Stdio { cwd, .. } = &mut spec.transport {
            *cwd = Some(Template::literal(self.shown("project")));
        }
        spec
    }

    async fn start(&self, sandbox: Sandbox) -> Server {
        self.start_spec(self.spec(sandbox)).await
    }

    async fn start_spec(&self, spec: ServerSpec) -> Server {
        let mut environment: BTreeMap<String, String> = std::env::vars().collect();
        environment.insert("HOME".to_owned(), self.shown("home"));
        let connector = Connector::new(ConnectorConfig {
            limits: Limits::default(),
            secrets: Arc::new(NoSecrets),
            environment,
            env_allow: Vec::new(),
            work_dirs: Some(self.path("state/work")),
            protected: vec![self.path("state"), self.path("config")],
            trial: None,
            logs: Arc::new(NoLogs),
            client: ClientInfo {
                name: "pegboard-test".to_owned(),
                version: "1".to_owned(),
            },
        });
        let upstream = connector
            .connect(&spec, &ConnectHint::default(), BUDGET)
            .await;
        let upstream = upstream.unwrap_or_else(|error| panic!("{error}"));
        Server { upstream }
    }
}

struct Server {
    upstream: Arc<dyn Upstream>,
}

impl Server {
    async fn attack(&self, kind: &str, target: &str) -> String {
        let arguments = json!({"attack": kind, "target": target}).to_string();
        let arguments = RawValue::from_string(arguments).unwrap();
        let options = CallOptions::with_timeout(BUDGET);
        let outcome = self
            .upstream
            .call("attack", &arguments, options)
            .await
            .unwrap();
        let value: serde_json::Value = serde_json::from_str(outcome.result.get()).unwrap();
        value["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn check<'a>(
        &'a self,
        kind: &'a str,
        target: String,
        expected: &'a str,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let outcome = self.attack(kind, &target).await;
            assert!(
                outcome.starts_with(expected),
                "{caller}: {kind} {target}: expected {expected}, got {outcome}"
            );
        }
    }
}

/// Whether the kernel has this version of Landlock. Prints why a test is skipped.
fn has_landlock(version: u32) -> bool {
    let support = sandbox_support();
    let has = support.seccomp && support.landlock.is_some_and(|found| found >= version);
    if !has {
        eprintln!("skipped: needs Landlock {version} and seccomp, found {support:?}");
    }
    has
}

fn of(mode: SandboxMode) -> Sandbox {
    Sandbox::of_mode(mode)
}

#[tokio::test]
async fn by_default_secrets_and_pegboards_files_are_out_of_reach() {
    if !has_landlock(1) {
        return;
    }
    let machine = Machine::new();
    let server = machine.start(of(SandboxMode::Default)).await;
    for secret in [
        "home/.ssh/id",
        "home/.config/gh/hosts",
        "state/token",
        "config/config.toml",
    ] {
        server.check("read", machine.shown(secret), "refused").await;
        server
            .check("write", machine.shown(secret), "refused")
            .await;
    }
    server
        .check("read", machine.shown("home/notes"), "ok plain text")
        .await;
    server.check("read", "/etc/passwd".to_owned(), "ok").await;
    for outside in ["home/notes", "home/new", "home/.bashrc"] {
        server
            .check("write", machine.shown(outside), "refused")
            .await;
    }
    server
        .check("write", machine.shown("project/new"), "ok")
        .await;
    let temp = server.attack("variable", "TMPDIR").await;
    let temp = temp.strip_prefix("ok ").unwrap();
    assert!(temp.starts_with(&machine.shown("state/work")), "{temp}");
    server.check("write", format!("{temp}/x"), "ok").await;
    server.check("write", "/dev/null".to_owned(), "ok").await;
    assert_eq!(
        std::fs::read_to_string(machine.path("home/notes")).unwrap(),
        "plain text"
    );
}

#[tokio::test]
async fn sockets_and_processes_of_others_are_out_of_reach() {
    if !has_landlock(6) {
        return;
    }
    let machine = Machine::new();
    let socket = machine.path("home/socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let us = std::process::id();
    let confined = machine.start(of(SandboxMode::Default)).await;
    confined
        .check("unix", machine.shown("home/socket"), "refused")
        .await;
    confined.check("signal", us.to_string(), "refused").await;
    confined
        .check("read", format!("/proc/{us}/environ"), "refused")
        .await;
    let free = machine.start(of(SandboxMode::Off)).await;
    free.check("unix", machine.shown("home/socket"), "ok").await;
    free.check("signal", us.to_string(), "ok").await;
    let sockets = Sandbox {
        unix_sockets: true,
        ..of(SandboxMode::Default)
    };
    let sockets = machine.start(sockets).await;
    sockets
        .check("unix", machine.shown("home/socket"), "ok")
        .await;
}

#[tokio::test]
async fn strictly_only_named_paths_are_reached() {
    if !has_landlock(3) {
        return;
    }
    let machine = Machine::new();
    let sandbox = Sandbox {
        read: vec![machine.path("home/notes")],
        write: vec![machine.path("project")],
        ..of(SandboxMode::Strict)
    };
    let server = machine.start(sandbox).await;
    server
        .check("read", machine.shown("home/notes"), "ok")
        .await;
    server
        .check("write", machine.shown("home/notes"), "refused")
        .await;
    server
        .check("write", machine.shown("project/new"), "ok")
        .await;
    for outside in ["home/.ssh/id", "state/token", "home/.config/gh/hosts"] {
        server
            .check("read", machine.shown(outside), "refused")
            .await;
    }
    let nothing = machine.start(of(SandboxMode::Strict)).await;
    nothing
        .check("read", machine.shown("project/file"), "refused")
        .await;
    nothing
        .check("read", machine.shown("home/notes"), "refused")
        .await;
}

#[tokio::test]
async fn a_projects_server_cannot_grant_itself_the_users_files_or_move_its_home() {
    if !has_landlock(1) {
        return;
    }
    let machine = Machine::new();
    std::os::unix::fs::symlink(machine.path("home/.ssh"), machine.path("project/keys")).unwrap();
    let sandbox = Sandbox {
        read: vec![machine.path("project/keys"), machine.path("home/.ssh")],
        write: vec![machine.path("home")],
        within: Some(machine.path("project")),
        ..of(SandboxMode::Default)
    };
    let mut spec = with_env(machine.spec(sandbox), "HOME", &machine.shown("project"));
    if let Transport::Stdio { cwd, .. } = &mut spec.transport {
        *cwd = Some(Template::literal(machine.shown("home")));
    }
    let server = machine.start_spec(spec).await;
    server
        .check("read", machine.shown("project/keys/id"), "refused")
        .await;
    server
        .check("read", machine.shown("home/.ssh/id"), "refused")
        .await;
    server
        .check("write", machine.shown("home/notes"), "refused")
        .await;
}

#[tokio::test]
async fn without_network_nothing_is_reached() {
    if !has_landlock(1) {
        return;
    }
    let machine = Machine::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let free = machine.start(of(SandboxMode::Default)).await;
    free.check("tcp", address.clone(), "ok").await;
    free.check("udp", address.clone(), "ok").await;
    let sandbox = Sandbox {
        network: SandboxNetwork::Off,
        ..of(SandboxMode::Default)
    };
    let server = machine.start(sandbox).await;
    server.check("tcp", address.clone(), "refused").await;
    server.check("udp", address, "refused").await;
}

#[tokio::test]
async fn only_named_hosts_are_reached_and_only_through_the_proxy() {
    if !has_landlock(4) {
        return;
    }
    let machine = Machine::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sandbox = Sandbox {
        network: SandboxNetwork::Hosts(vec![format!("localhost:{port}")]),
        ..of(SandboxMode::Strict)
    };
    let server = machine.start(sandbox).await;
    server
        .check("tcp", format!("127.0.0.1:{port}"), "refused")
        .await;
    server
        .check("udp", format!("127.0.0.1:{port}"), "refused")
        .await;
    server
        .check("proxy", format!("localhost:{port}"), "ok HTTP/1.1 200")
        .await;
    server
        .check("proxy", format!("127.0.0.1:{port}"), "ok HTTP/1.1 403")
        .await;
    server
        .check("proxy", "example.com:443".to_owned(), "ok HTTP/1.1 403")
        .await;
}

#[tokio::test]
async fn a_server_that_exceeds_its_limits_is_stopped_with_all_its_processes() {
    let machine = Machine::new();
    let limits = Sandbox {
        memory: Some(128 * 1024 * 1024),
        processes: Some(6),
        ..of(SandboxMode::Default)
    };
    for (kind, amount) in [("memory", "400"), ("processes", "12")] {
        let marker = format!("pegboard-sandbox-test-{}-{kind}-end", std::process::id());
        let spec = with_env(
            machine.spec(limits.clone()),
            "PEGBOARD_TEST_MARKER",
            &marker,
        );
        let server = machine.start_spec(spec).await;
        server.check(kind, "1".to_owned(), "ok").await;
        assert!(!processes_with_marker(&marker).is_empty());
        // It may be stopped before it responds.
        let arguments = json!({"attack": kind, "target": amount}).to_string();
        let arguments = RawValue::from_string(arguments).unwrap();
        let options = CallOptions::with_timeout(BUDGET);
        let _ = server.upstream.call("attack", &arguments, options).await;
        let ended = tokio::time::timeout(BUDGET, server.upstream.ended()).await;
        let error = ended.expect("it is stopped");
        assert_eq!(error.reason, Reason::SandboxLimit, "{error}");
        wait_until("none of its processes is left", BUDGET, || {
            processes_with_marker(&marker).is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn a_confined_server_lives_as_long_as_its_connection() {
    let machine = Machine::new();
    let marker = format!("pegboard-sandbox-test-{}-life-end", std::process::id());
    let spec = machine.spec(of(SandboxMode::Default));
    let spec = with_env(spec, "PEGBOARD_TEST_MARKER", &marker);
    let server = machine.start_spec(spec).await;
    // The thread that started it must not end before it: the server would die with it.
    for _ in 0..50 {
        server
            .check("write", machine.shown("project/x"), "ok")
            .await;
    }
    assert_eq!(processes_with_marker(&marker).len(), 1);
    server.upstream.close().await;
    wait_until("the process has ended", BUDGET, || {
        processes_with_marker(&marker).is_empty()
    })
    .await;
}

//! Real authorization servers: `oidc-provider`, the Python SDK's and FastMCP's.
//!
//! They are started by the programs in `tests/oauth_servers`; without the test environment, these tests are skipped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use pegboard_testkit::oauth::send;
use serde_json::Value;

use crate::machine::Machine;

/// A running partner. It ends when its standard input is closed.
struct Partner {
    child: Child,
    stdin: Option<ChildStdin>,
    facts: Value,
}

impl Partner {
    #[expect(clippy::disallowed_methods, reason = "starts a test server")]
    fn start(program: &str, interpreter: &str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let environment = std::env::var_os("PEGBOARD_TEST_ENV");
        let environment = environment.map_or_else(|| root.join(".test-env"), PathBuf::from);
        let interpreter = environment.join(interpreter);
        if !interpreter.exists() {
            println!("skipped: {} is not installed", interpreter.display());
            return None;
        }
        let mut child = Command::new(interpreter)
            .arg(root.join("tests/oauth_servers").join(program))
            .arg("600")
            .env("PEGBOARD_TEST_ENV", &environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Some(Self {
            facts: serde_json::from_str(&line).unwrap_or_else(|flaw| panic!("{flaw}: {line}")),
            stdin: child.stdin.take(),
            child,
        })
    }

    fn control(&self, what: &str) {
        let control = self.facts["control"].as_str().unwrap();
        let done = send("POST", &format!("{control}/{what}"), &[], "");
        assert!(done.status < 300, "{what}: {} {}", done.status, done.body);
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Login, call, expiry, rotation, revocation, re-registration, logout.
fn check(program: &str, interpreter: &str) {
    let Some(partner) = Partner::start(program, interpreter) else {
        return;
    };
    let machine = Machine::with(Default::default());
    machine.configure(partner.facts["mcp"].as_str().unwrap(), "");
    let call = || machine.run(&["call", "notes__read_note", "text=hi"]);
    assert_eq!(
        machine.run(&["refresh", "notes"]).exit,
        4,
        "{program}: a login is needed"
    );
    machine.login(&[]).ok();
    assert!(call().ok().stdout.contains("hi"), "{program}");
    for _ in 0..3 {
        // Each time the refresh token of the time before is used.
        partner.control("expire");
        call().ok();
    }
    partner.control("expire");
    let calls: Vec<_> = (0..8)
        .map(|_| {
            machine
                .command(&["call", "notes__read_note", "text=hi"])
                .spawn()
                .unwrap()
        })
        .collect();
    for one in calls {
        crate::machine::Done::of(one.wait_with_output().unwrap()).ok();
    }
    partner.control("revoke");
    let lost = call();
    assert_eq!(lost.exit, 4, "{program}: {}", lost.stderr);
    assert!(
        lost.stderr.contains("LOGIN_LOST"),
        "{program}: {}",
        lost.stderr
    );
    machine.login(&[]).ok();
    call().ok();
    partner.control("forget-clients");
    assert_eq!(call().exit, 4, "{program}: the client is gone");
    // The dead client shows in the browser only, or at the token endpoint; the next login registers again.
    let first = machine.login(&[]);
    if first.exit != 0 {
        machine.login(&[]).ok();
    }
    call().ok();
    machine.run(&["logout", "notes"]).ok();
    assert_eq!(call().exit, 4, "{program}");
}

#[test]
fn r_auth_01_oidc_provider() {
    check("oidc_provider.mjs", "conformance/node_modules/.bin/node");
}

#[test]
fn r_auth_01_the_python_sdk() {
    check("python_sdk.py", "python/bin/python");
}

#[test]
fn r_auth_01_fastmcp() {
    check("fastmcp_server.py", "fastmcp/bin/python");
}

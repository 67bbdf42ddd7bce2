//! Real authorization servers: `oidc-provider`, the Python SDK's and FastMCP's. Without the test environment these tests
//! are skipped.

use std::time::Duration;

use pegboard_testkit::oauth::{Partner, PartnerServer};

use crate::machine::{Done, Machine};

/// Longer than a test, so that tokens expire only on demand.
const LIFETIME: Duration = Duration::from_secs(600);
const CALL: &[&str] = &["call", "notes__read_note", "text=hi"];

/// Ends the access token and lets eight processes call at once.
fn call_at_expiry(server: &PartnerServer, machine: &Machine) {
    server.expire_access_tokens();
    let calls: Vec<_> = (0..8)
        .map(|_| machine.command(CALL).spawn().unwrap())
        .collect();
    for one in calls {
        Done::of(one.wait_with_output().unwrap()).ok();
    }
}

/// Login, call, expiry, rotation, revocation, re-registration, logout.
fn check(partner: Partner) {
    let Some(server) = PartnerServer::start(partner, LIFETIME) else {
        return;
    };
    let machine = Machine::with(Default::default());
    machine.configure(server.mcp_url(), "");
    let call = || machine.run(CALL);
    let before = machine.run(&["refresh", "notes"]);
    assert_eq!(before.exit, 4, "a login is needed: {}", before.stderr);
    machine.login_in_browser().ok();
    assert!(call().ok().stdout.contains("hi"));
    for _ in 0..3 {
        // Each time the refresh token of the time before is used.
        server.expire_access_tokens();
        call().ok();
    }
    call_at_expiry(&server, &machine);
    server.revoke_grants();
    let lost = call();
    assert_eq!(lost.exit, 4, "{}", lost.stderr);
    assert!(lost.stderr.contains("LOGIN_LOST"), "{}", lost.stderr);
    machine.login_in_browser().ok();
    call().ok();
    server.revoke_grants();
    server.forget_clients();
    assert_eq!(call().exit, 4, "the client is gone");
    machine.login_in_browser().ok();
    call().ok();
    machine.run(&["logout", "notes"]).ok();
    assert_eq!(call().exit, 4);
}

#[test]
fn r_auth_01_r_auth_03_oidc_provider() {
    check(Partner::OidcProvider);
}

#[test]
fn r_auth_01_r_auth_03_the_python_sdk() {
    check(Partner::PythonSdk);
}

#[test]
fn r_auth_01_r_auth_03_fastmcp() {
    check(Partner::FastMcp);
}

/// `oidc-provider` revokes the login if a refresh token is used twice. `PEGBOARD_LOGIN_RUNS` sets the number of runs.
#[test]
fn r_auth_03_eight_processes_at_expiry_keep_a_login_that_reuse_revokes() {
    let Some(server) = PartnerServer::start(Partner::OidcProvider, LIFETIME) else {
        return;
    };
    let machine = Machine::with(Default::default());
    machine.configure(server.mcp_url(), "");
    machine.login_in_browser().ok();
    for _ in 0..crate::processes::runs() {
        call_at_expiry(&server, &machine);
    }
}

#[test]
fn r_auth_01_oidc_provider_grants_more_rights_after_another_login() {
    let Some(server) = PartnerServer::start(Partner::OidcProvider, LIFETIME) else {
        return;
    };
    let machine = Machine::with(Default::default());
    machine.configure(server.mcp_url(), "");
    let write = || machine.run(&["call", "notes__write_note", "text=hi"]);
    machine.login_in_browser().ok();
    let refused = write();
    assert_eq!(refused.exit, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("RIGHTS_NEEDED"),
        "{}",
        refused.stderr
    );
    machine.login_in_browser().ok();
    write().ok();
    // The former rights are kept.
    machine.run(CALL).ok();
}

//! Several processes, kills between the request and the write.

use std::time::Duration;

use pegboard_testkit::oauth::{Behaviour, Fault, FaultRule, Route};

use crate::machine::{Done, Machine, eventually, kill_now};

/// Processes that call at the same time.
const PROCESSES: usize = 8;

/// How often the race is run: `PEGBOARD_LOGIN_RUNS`, or a few times.
pub(crate) fn runs() -> usize {
    let runs = std::env::var("PEGBOARD_LOGIN_RUNS").ok();
    runs.and_then(|runs| runs.parse().ok()).unwrap_or(3)
}

#[test]
fn r_auth_03_eight_processes_at_expiry_keep_the_login() {
    // A refresh token that is used twice revokes the grant.
    let machine = Machine::with(Behaviour::default());
    machine.login(&[]).ok();
    for run in 1..=runs() {
        machine.server.expire_access_tokens();
        let calls: Vec<_> = (0..PROCESSES)
            .map(|_| machine.command(&["call", "notes__count"]).spawn().unwrap())
            .collect();
        for call in calls {
            let done = Done::of(call.wait_with_output().unwrap());
            assert_eq!(done.exit, 0, "run {run}: {}\n{}", done.stdout, done.stderr);
        }
        assert_eq!(
            machine.server.grants_asked("refresh_token"),
            run,
            "one refresh per expiry"
        );
    }
    assert_eq!(machine.state(), "logged_in");
}

#[test]
fn r_auth_03_a_kill_between_request_and_answer_leaves_a_usable_store() {
    // The authorization server accepts the old token for a while, as most do.
    let mut behaviour = Behaviour::default();
    behaviour.tokens.grace = Duration::from_secs(600);
    let machine = Machine::with(behaviour);
    machine.login(&[]).ok();
    machine.server.expire_access_tokens();
    machine
        .server
        .change(|all| all.faults = vec![FaultRule::times(1, Route::Token, Fault::Silence)]);
    let mut calling = machine.command(&["call", "notes__count"]).spawn().unwrap();
    eventually("the refresh arrives", || {
        machine.server.grants_asked("refresh_token") == 1
    });
    kill_now(&mut calling);
    // The lock is free, the old token is still there, and the next process renews it.
    machine.run(&["call", "notes__count"]).ok();
    assert_eq!(machine.server.grants_asked("refresh_token"), 2);
    assert_eq!(machine.state(), "logged_in");
}

#[test]
fn r_auth_03_a_kill_that_loses_the_new_token_ends_in_a_clear_state() {
    // A strict authorization server ends the grant when the old token comes again.
    let machine = Machine::with(Behaviour::default());
    machine.login(&[]).ok();
    machine.server.expire_access_tokens();
    machine
        .server
        .change(|all| all.faults = vec![FaultRule::always(Route::Token, Fault::LostAnswer)]);
    let mut calling = machine.command(&["call", "notes__count"]).spawn().unwrap();
    eventually("the refresh arrives", || {
        machine.server.grants_asked("refresh_token") >= 1
    });
    kill_now(&mut calling);
    machine.server.change(|all| all.faults.clear());
    let done = machine.run(&["call", "notes__count"]);
    assert_eq!(done.exit, 4, "{}", done.stderr);
    assert!(done.stderr.contains("LOGIN_LOST"), "{}", done.stderr);
    assert_eq!(machine.state(), "expired");
    machine.login(&[]).ok();
    machine.run(&["call", "notes__count"]).ok();
}

//! Nothing outlives the program, however it ends.

use pegboard_testkit::script::{Grandchild, Moment};
use pegboard_testkit::{Script, starts_in, wait_until_sync};

use crate::support::{Home, PATIENCE, Running};

/// A server that stands still at its list, so that it runs when the signal comes.
fn busy(home: &Home, change: impl FnOnce(&mut Script)) {
    let script = Script::new()
        .hang(Moment::List)
        .with(change)
        .count_in(home.path("count"));
    home.add_script("busy", &script, "");
}

fn started(home: &Home, args: &[&str]) -> Running {
    let run = home.start(args);
    wait_until_sync("the server runs", PATIENCE, || {
        !starts_in(&home.path("count")).is_empty()
    });
    run
}

#[test]
fn r_sec_04_a_signal_ends_the_program_and_its_servers() {
    for (command, signal) in [
        (&["up"][..], "-TERM"),
        (&["up"], "-INT"),
        (&["up"], "-HUP"),
        (&["refresh", "--all"], "-INT"),
        (&["refresh", "--all"], "-TERM"),
        (&["tools"], "-TERM"),
    ] {
        let home = Home::new();
        busy(&home, |script| {
            script.process.ignore_eof = true;
            script.process.grandchild = Some(Grandchild::OwnSession);
        });
        let mut run = started(&home, command);
        run.signal(signal);
        let status = run.wait();
        assert!(
            status.code().is_some(),
            "{command:?} ended by {signal} itself: {status}"
        );
        home.assert_nothing_runs();
    }
}

#[test]
fn r_sec_04_a_killed_program_leaves_no_child() {
    for command in [&["up"][..], &["refresh", "--all"]] {
        let home = Home::new();
        busy(&home, |script| {
            script.process.ignore_eof = true;
            script.process.ignore_term = true;
        });
        let mut run = started(&home, command);
        run.signal("-KILL");
        run.wait();
        home.assert_nothing_runs();
    }
}

#[test]
fn r_sec_04_what_a_killed_program_could_not_take_along_goes_at_the_next_start() {
    let home = Home::new();
    busy(&home, |script| {
        script.process.grandchild = Some(Grandchild::OwnSession)
    });
    let mut run = started(&home, &["up"]);
    wait_until_sync("the grandchild runs", PATIENCE, || {
        home.processes().len() >= 3
    });
    run.signal("-KILL");
    run.wait();
    home.write("config/config.toml", "");
    home.run(&["doctor"]).ok();
    home.assert_nothing_runs();
}

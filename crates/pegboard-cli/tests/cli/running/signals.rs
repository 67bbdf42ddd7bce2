//! No child process survives the program, however it ends.

use pegboard_testkit::script::{Grandchild, Moment};
use pegboard_testkit::{Script, processes_with_marker, starts_in, wait_until_sync};

use super::serving::open_session;
use crate::support::{Home, Running, TIMEOUT, kill};

/// Adds a server that hangs at a step, so that it is running when the signal arrives.
fn busy(home: &Home, moment: Moment, change: impl FnOnce(&mut Script)) {
    let script = Script::new()
        .hang(moment)
        .with(change)
        .count_in(home.path("count"));
    home.add_script("busy", &script, "");
}

fn started(home: &Home, args: &[&str]) -> Running {
    let run = home.start(args);
    if args == ["up"] {
        // No server is started before a client connects.
        open_session(home, &run);
    }
    wait_until_sync("the server runs", TIMEOUT, || {
        !starts_in(&home.path("count")).is_empty()
    });
    run
}

/// Returns the number of child processes; the program itself may be hidden.
fn below(home: &Home, run: &Running) -> usize {
    let all = home.processes().into_iter();
    all.filter(|pid| *pid != run.pid()).count()
}

/// Ends a program by a signal while its server, with a grandchild in another session, is busy.
fn check(args: &[&str], moment: Moment, signal: &str) {
    let home = Home::new();
    busy(&home, moment, |script| {
        script.process.grandchild = Some(Grandchild::OwnSession)
    });
    let mut run = started(&home, args);
    wait_until_sync("the grandchild runs", TIMEOUT, || below(&home, &run) >= 2);
    run.signal(signal);
    let status = run.wait();
    assert!(
        status.code().is_some(),
        "{args:?} did not end by itself: {status}"
    );
    home.assert_nothing_runs();
}

#[test]
fn r_sec_04_a_signal_ends_the_program_and_everything_it_started() {
    std::thread::scope(|scope| {
        for (args, moment, signal) in [
            (&["up"][..], Moment::List, "-TERM"),
            (&["up"], Moment::Start, "-INT"),
            (&["up"], Moment::List, "-HUP"),
            (&["refresh", "--all"], Moment::List, "-INT"),
            (&["refresh", "--all"], Moment::Start, "-TERM"),
            (&["tools"], Moment::Start, "-TERM"),
        ] {
            scope.spawn(move || check(args, moment, signal));
        }
    });
}

#[test]
fn r_sec_04_a_killed_program_leaves_no_child() {
    for command in [&["up"][..], &["refresh", "--all"]] {
        let home = Home::new();
        busy(&home, Moment::List, |script| {
            script.process.ignore_eof = true;
            script.process.ignore_term = true;
            script.process.grandchild = Some(Grandchild::OwnSession);
        });
        let mut run = started(&home, command);
        wait_until_sync("the grandchild runs", TIMEOUT, || below(&home, &run) >= 2);
        run.signal("-KILL");
        run.wait();
        home.assert_nothing_runs();
    }
}

#[test]
fn r_sec_04_orphans_of_a_killed_program_are_ended_at_the_next_start() {
    let home = Home::new();
    busy(&home, Moment::List, |script| {
        script.process.grandchild = Some(Grandchild::OwnSession)
    });
    let mut run = started(&home, &["up"]);
    wait_until_sync("the grandchild runs", TIMEOUT, || below(&home, &run) >= 2);
    // Without its watcher, nothing ends the server.
    let watcher = processes_with_marker(&format!("watch-children\0{}.", run.pid()));
    assert_eq!(watcher.len(), 1, "one watcher for the program");
    watcher.into_iter().for_each(|pid| kill("-KILL", pid));
    run.signal("-KILL");
    run.wait();
    home.write("config/config.toml", "");
    home.run(&["doctor"]).ok();
    home.assert_nothing_runs();
}

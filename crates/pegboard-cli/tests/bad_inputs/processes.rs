//! Starting servers, and their processes.

use pegboard_testkit::Script;
use pegboard_testkit::script::{Grandchild, Moment};

use crate::scripted::{discover, fails, gives};
use crate::support::Home;
use crate::table::Row;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "B01",
        input: "a command that does not exist",
        required: "SPAWN_NOT_FOUND with the folders that were searched",
        run: &[missing_command],
        tests: &[(
            "testkit/tests/hostile_upstream/children.rs",
            "r_sec_01_b01_a_command_that_is_not_there_is_named_with_the_path",
        )],
        pending: None,
    },
    Row {
        id: "B02",
        input: "a file that may not be executed",
        required: "SPAWN_DENIED",
        run: &[not_executable],
        tests: &[],
        pending: None,
    },
    Row {
        id: "B05",
        input: "a server that ignores the end of its input and SIGTERM",
        required: "it is killed with its group, and nothing is left",
        run: &[stubborn],
        tests: &[(
            "upstream/tests/processes.rs",
            "r_sec_04_closing_leaves_no_process_however_stubborn",
        )],
        pending: None,
    },
    Row {
        id: "B06",
        input: "a grandchild in a session of its own that holds the pipes open",
        required: "it is killed, and nothing waits for its pipes",
        run: &[grandchildren],
        tests: &[(
            "pegboard-cli/tests/cli/running/escapes.rs",
            "r_sec_04_processes_that_leave_group_session_and_environment_end_with_the_program",
        )],
        pending: None,
    },
    Row {
        id: "B07",
        input: "a server that forks 500 processes",
        required: "SERVER_LIMIT stops it, and the gateway keeps running",
        run: &[],
        tests: &[],
        pending: Some("limits on processes and memory of a server are not built yet"),
    },
    Row {
        id: "B10",
        input: "a server that ends at once, again and again",
        required: "starts are paused with jitter, up to a minute; a circuit opens after five failures",
        run: &[],
        tests: &[
            (
                "hub/src/slots/failure_history.rs",
                "pauses_double_up_to_a_minute",
            ),
            (
                "hub/src/slots/slot.rs",
                "a_server_that_keeps_failing_is_left_alone_for_a_while",
            ),
            (
                "hub/tests/calling.rs",
                "a_server_that_keeps_failing_is_left_alone",
            ),
        ],
        pending: Some(
            "there is no circuit breaker besides the backoff, and processor time is not measured",
        ),
    },
    Row {
        id: "B11",
        input: "1 GiB on stderr",
        required: "the newest part is kept, memory is bounded, and stdout works",
        run: &[flood_on_stderr],
        tests: &[
            (
                "testkit/tests/hostile_memory.rs",
                "r_sec_01_b11_a_flood_on_stderr_is_kept_in_a_ring",
            ),
            (
                "store/src/logs.rs",
                "r_sec_01_a_log_stays_small_and_keeps_its_end",
            ),
        ],
        pending: None,
    },
    Row {
        id: "B12",
        input: "a server that writes its environment, tokens included, to stderr",
        required: "the values are masked in logs, errors and traces",
        run: &[environment_on_stderr],
        tests: &[(
            "testkit/tests/hostile_upstream/children.rs",
            "r_obs_03_b12_secrets_in_an_environment_dump_are_gone_from_stderr_and_errors",
        )],
        pending: None,
    },
    Row {
        id: "B14",
        input: "a server that looks for another server's secret in its environment",
        required: "it is not there",
        run: &[foreign_secrets],
        tests: &[(
            "pegboard-cli/tests/cli/secrets/environment.rs",
            "r_sec_04_a_server_cannot_read_the_environment_of_pegboard",
        )],
        pending: None,
    },
    Row {
        id: "B15",
        input: "a start that fails for lack of processes, files or memory",
        required: "SPAWN_RESOURCE, which may be retried; other servers are unaffected",
        run: &[],
        tests: &[
            (
                "upstream/src/spawn.rs",
                "r_sec_01_b15_a_lack_of_processes_files_or_memory_may_be_retried",
            ),
            (
                "hub/tests/panics.rs",
                "r_sec_01_b15_a_server_that_the_system_cannot_start_leaves_others_alone",
            ),
        ],
        pending: None,
    },
    Row {
        id: "B16",
        input: "a server that stops reading its input",
        required: "the call times out; other servers are unaffected",
        run: &[],
        tests: &[
            (
                "testkit/tests/hostile_upstream/calls.rs",
                "r_sec_01_b16_a_server_that_stops_reading_times_out_alone",
            ),
            (
                "upstream/src/stdio_rpc.rs",
                "r_sec_01_a_server_that_stops_reading_causes_a_timeout_and_no_hang",
            ),
        ],
        pending: None,
    },
];

/// Returns the error of a refresh.
fn error_of(home: &Home, server: &str) -> (String, String) {
    let run = home.run(&["refresh", server, "--json"]).exits(3);
    let error = run.json()["servers"][0]["error"].clone();
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message") + " " + &text("remedy"))
}

fn missing_command() {
    let home = Home::new();
    home.add("gone", "no-such-program-here", &[], "");
    let (reason, message) = error_of(&home, "gone");
    assert_eq!(reason, "SPAWN_NOT_FOUND");
    let path = std::env::var("PATH").expect("a path");
    let first = path.split(':').next().expect("a folder");
    assert!(message.contains(first), "{message}");
}

fn not_executable() {
    let home = Home::new();
    let file = home.write("plain", "text").display().to_string();
    home.add("denied", &file, &[], "");
    assert_eq!(error_of(&home, "denied").0, "SPAWN_DENIED");
}

fn stubborn() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.process.ignore_term = true;
        script.process.ignore_eof = true;
    });
    gives(&script, 1);
}

fn grandchildren() {
    for grandchild in [Grandchild::SameGroup, Grandchild::OwnSession] {
        let script = Script::new().tools(["a"]).with(|script| {
            script.process.grandchild = Some(grandchild);
        });
        gives(&script, 1);
    }
}

fn flood_on_stderr() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.process.stderr_bytes = 1 << 30;
    });
    let home = Home::new();
    home.add_script("loud", &script, "");
    home.run(&["refresh", "loud"]).ok();
    let log = std::fs::metadata(home.state().join("logs/loud.log")).expect("a log");
    assert!(log.len() < 1 << 20, "{} bytes", log.len());
}

fn environment_on_stderr() {
    let script = Script::new()
        .tools(["a"])
        .crash(Moment::List, 1)
        .with(|script| script.process.stderr_env = true);
    let home = Home::new();
    home.add_script(
        "dumps",
        &script,
        "env = { API_TOKEN = \"planted-token-value\" }",
    );
    let (_, message) = error_of(&home, "dumps");
    let log = home.run(&["logs", "dumps"]).ok().stdout;
    assert!(log.contains("API_TOKEN"), "the dump is in the log: {log}");
    for text in [message, log] {
        assert!(!text.contains("planted-token-value"), "{text}");
    }
}

fn foreign_secrets() {
    let mut home = Home::new();
    home.set("SHARED_SECRET", "planted-shared-value");
    home.set("OTHERS_SECRET", "planted-others-value");
    let script = Script::new()
        .tools(["a"])
        .with(|script| script.process.stderr_env = true);
    home.add(
        "owner",
        "true",
        &[],
        "env = { THEIRS = \"${OTHERS_SECRET}\" }",
    );
    home.add_script("curious", &script, "");
    home.run(&["refresh", "curious"]).ok();
    let log = home.run(&["logs", "curious"]).ok().stdout;
    assert!(log.contains("PATH"), "the dump is in the log: {log}");
    for name in ["SHARED_SECRET", "OTHERS_SECRET", "THEIRS", "planted-"] {
        assert!(!log.contains(name), "{name}: {log}");
    }
    // After a crash, other servers still work.
    fails(&Script::new().crash(Moment::Start, 1), &["SERVER_EXITED"]);
    assert!(discover(&Script::new().tools(["b"])).tools.is_some());
}

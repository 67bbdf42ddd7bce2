//! Named pipes instead of state files do not block any command.

use std::fs;
use std::path::Path;

use crate::support::Home;

fn put_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).expect("a pipe");
}

#[test]
fn r_store_05_no_command_waits_for_a_pipe_in_the_place_of_a_state_file() {
    for (file, args, code) in [
        ("hash.key", &["list"][..], 1),
        ("logs/example.log", &["logs", "example"], 1),
        ("secrets.json", &["list"], 0),
        ("trust.json", &["list"], 0),
        ("inbox.lock", &["activity"], 0),
        ("running", &["dashboard"], 3),
        ("token", &["token"], 1),
    ] {
        let home = Home::with_example();
        put_pipe(&home.state().join(file));
        let run = home.run(args);
        assert_eq!(run.code, code, "{file}: {run:?}");
        if code == 1 {
            let names_it = run.stderr.contains("regular file") || run.stderr.contains("not a file");
            assert!(names_it, "{file}: {run:?}");
        }
        // Standard error of a server is dropped instead of blocking.
        if file.starts_with("logs") {
            home.run(&["refresh", "example"]).ok();
        }
    }
    let home = Home::with_example();
    put_pipe(&home.state().join("secrets.json"));
    let run = home.run_with_input(&["secret", "set", "name"], "value\n");
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("regular file"), "{run:?}");
    let run = home.run(&["secret", "list"]);
    assert!(
        run.code != 0 && run.stderr.contains("regular file"),
        "{run:?}"
    );
    let doctor = home.run(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let secrets = checks.iter().find(|check| check["check"] == "secrets");
    assert_eq!(secrets.unwrap()["ok"], false, "{doctor}");
    fs::remove_file(home.state().join("secrets.json")).unwrap();
    put_pipe(&home.state().join(".secrets.json.lock"));
    let run = home.run_with_input(&["secret", "set", "name"], "value\n");
    assert_ne!(run.code, 0, "{run:?}");
}

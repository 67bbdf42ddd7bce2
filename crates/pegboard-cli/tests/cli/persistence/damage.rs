//! A damaged store is set aside, named, and rebuilt.

use crate::support::{EXAMPLE_TOOLS, Home};

#[track_caller]
fn check(how: &str, damage: impl Fn(Vec<u8>) -> Vec<u8>) {
    let home = Home::with_example();
    let store = home.path("state/pegboard.db");
    for log in ["state/pegboard.db-wal", "state/pegboard.db-shm"] {
        // With its log, SQLite could repair the file.
        let _ = std::fs::remove_file(home.path(log));
    }
    let bytes = std::fs::read(&store).expect("the store is there");
    std::fs::write(&store, damage(bytes)).expect("the store is damaged");

    let run = home.run(&["tools", "--json"]).ok();
    assert_eq!(
        run.json()["total"],
        EXAMPLE_TOOLS,
        "{how}: known again after a new discovery"
    );
    let folder = std::fs::read_dir(home.state())
        .expect("the state folder")
        .flatten();
    let names = folder.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let aside: Vec<_> = names
        .filter(|name| name.starts_with("pegboard.db.") && run.stderr.contains(name))
        .collect();
    assert!(
        !aside.is_empty(),
        "{how}: the old file is kept and named:\n{}",
        run.stderr
    );

    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("hi\n", ""),
        "{how}: reported once"
    );
    home.run(&["doctor"]).ok();
}

#[test]
fn r_store_05_a_damaged_store_is_set_aside_named_and_rebuilt() {
    check("garbage", |bytes| b"garbage ".repeat(bytes.len() / 8));
    check("cut in half", |bytes| bytes[..bytes.len() / 2].to_vec());
    check("pages overwritten", |mut bytes| {
        let length = bytes.len();
        bytes[4096..length].fill(0xa5);
        bytes
    });
}

//! `pegboard logs`: times, several servers, following.

use serde_json::Value;

use crate::support::Home;

/// Adds a server that writes two lines, at its first start or at each one. A discovery may start it twice.
fn add_noisy(home: &Home, name: &str, is_once: bool) {
    let condition = match is_once {
        true => format!(
            "mkdir '{}'",
            home.path(&format!("{name}.started")).display()
        ),
        false => "true".to_owned(),
    };
    let text = format!(
        "if {condition} 2>/dev/null; then echo '{name} one' >&2; echo '{name} two' >&2; fi; exit 4\n"
    );
    let script = home.write(&format!("{name}.sh"), &text);
    home.add(name, "sh", &[&script.display().to_string()], "");
}

#[test]
fn r_cli_04_lines_of_several_servers_are_merged_with_times_and_names() {
    let mut home = Home::new();
    home.set("TZ", "UTC");
    for name in ["a", "long_name"] {
        add_noisy(&home, name, true);
        home.run(&["refresh", name]).exits(3);
    }
    let text = home.run(&["logs", "long_name", "a"]).ok().stdout;
    let lines: Vec<&str> = text.lines().collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.get(21..30)).collect();
    assert_eq!(
        names,
        ["a        ", "a        ", "long_name", "long_name"],
        "{text}"
    );
    assert!(
        lines[0].ends_with("  a one") && lines[3].ends_with("  long_name two"),
        "{text}"
    );
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("20") && line.as_bytes()[13] == b':')
    );
    assert_eq!(
        home.run(&["logs"]).ok().stdout,
        text,
        "all servers by default"
    );

    let json = home.run(&["logs", "-n", "3", "--json"]).ok().json();
    let rows = json["lines"].as_array().expect("a list");
    let texts: Vec<_> = rows.iter().map(|row| row["text"].as_str()).collect();
    assert_eq!(
        texts,
        [Some("a two"), Some("long_name one"), Some("long_name two")]
    );
    assert!(
        rows.iter()
            .all(|row| row["at"].is_u64() && row["server"].is_string())
    );

    let recent = home.run(&["logs", "--since", "1h", "a"]).ok().stdout;
    assert_eq!(recent.lines().count(), 2, "{recent}");
    let none = home.run(&["logs", "--since", "0s", "a"]).ok();
    assert_eq!(none.stdout, "");
    home.run(&["logs", "--since", "soon"]).exits(2);
}

#[test]
fn r_cli_04_a_log_without_times_is_shown_and_not_recent() {
    let home = Home::new();
    add_noisy(&home, "a", true);
    home.run(&["list"]).ok();
    home.write("state/logs/a.log", "an old line\n");
    let text = home.run(&["logs", "a"]).ok().stdout;
    assert_eq!(text.trim(), "an old line");
    assert_eq!(home.run(&["logs", "--since", "1h", "a"]).ok().stdout, "");
}

#[test]
fn r_cli_04_one_unreadable_log_does_not_hide_the_others() {
    let home = Home::new();
    add_noisy(&home, "a", true);
    add_noisy(&home, "b", true);
    home.run(&["refresh", "a"]).exits(3);
    let target = home.write("elsewhere", "not a log\n");
    std::os::unix::fs::symlink(target, home.state().join("logs/b.log")).expect("a link");
    let run = home.run(&["logs"]).ok();
    assert!(
        run.stdout.contains("a two") && !run.stdout.contains("not a log"),
        "{run:?}"
    );
    assert!(run.stderr.contains("symbolic link"), "{run:?}");
    home.run(&["logs", "b"]).exits(1);
}

#[test]
fn r_cli_04_following_prints_new_lines_and_an_interrupt_is_no_failure() {
    let home = Home::new();
    add_noisy(&home, "a", false);
    add_noisy(&home, "b", false);
    home.run(&["refresh", "a"]).exits(3);
    let mut follower = home.start(&["logs", "-f", "--json", "a", "b"]);
    follower.wait_for("a two");
    home.run(&["refresh", "b"]).exits(3);
    follower.wait_for("b two");
    // The log is deleted with its server and starts again.
    std::fs::remove_file(home.state().join("logs/a.log")).expect("a log");
    let before = follower.output().matches("a two").count();
    home.run(&["refresh", "--force", "a"]).exits(3);
    pegboard_testkit::wait_until_sync("new lines", crate::support::TIMEOUT, || {
        follower.output().matches("a two").count() > before
    });
    follower.signal("-INT");
    assert_eq!(follower.wait().code(), Some(0));
    for line in follower.output().lines() {
        let line: Value = serde_json::from_str(line).expect("one JSON document per line");
        assert!(line["server"].is_string(), "{line}");
    }
}

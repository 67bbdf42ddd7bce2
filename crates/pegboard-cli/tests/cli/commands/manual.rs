//! Man pages and the version.

use crate::support::Home;

#[test]
fn r_dist_03_every_visible_command_has_a_man_page_with_examples() {
    let home = Home::new();
    let folder = home.path("man/man1");
    home.run(&["man", &folder.display().to_string()]).ok();
    let help = home.run(&["--help"]).ok().stdout;
    let commands = super::snapshots::commands(&help);
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands {
        let path = folder.join(format!("pegboard-{command}.1"));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no page {path:?}"));
        let title = format!(
            ".TH pegboard-{command} 1 \"\" \"pegboard {}\"",
            env!("CARGO_PKG_VERSION")
        );
        assert!(page.contains(&title), "{page}");
        assert!(
            page.contains(".SH EXAMPLES\nExample"),
            "`{command}` has no example"
        );
    }
    let main = std::fs::read_to_string(folder.join("pegboard.1")).expect("the main page");
    assert!(
        main.contains("example\\-server") && !main.contains("pegboard\\-man"),
        "{main}"
    );
    let page = std::fs::read_to_string(folder.join("pegboard-policy-set.1"));
    assert!(
        page.expect("a page of a subcommand")
            .contains("in\\-project")
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let home = Home::new();
    let file = home.write("file", "");
    let run = home.run(&["man", &file.display().to_string()]).exits(2);
    assert!(
        run.stderr.contains("CONFIG_IO") && run.stderr.contains("/file"),
        "{}",
        run.stderr
    );
}

#[test]
fn r_dist_03_the_version_names_the_commit_and_the_build_profile() {
    let home = Home::new();
    let version = home.run(&["--version"]).ok().stdout;
    let start = format!("pegboard {} (", env!("CARGO_PKG_VERSION"));
    let rest = version.trim_end().strip_prefix(&start).expect(&version);
    let (commit, profile) = rest
        .strip_suffix(')')
        .and_then(|rest| rest.split_once(", "))
        .expect(&version);
    let is_commit = commit.len() == 12 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown", "{version}");
    assert!(!profile.is_empty() && profile != "unknown", "{version}");
}

//! Hostile and very large files: no panics, bounded memory, short run time.

use std::fmt::Write as _;
use std::time::Instant;

use pegboard_model::{Limits, Reason};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::fixture::{Fixture, names, short};

const FILES: [&str; 3] = ["config.toml", "config.yaml", "config.json"];

const SOUND: [&str; 3] = [
    "[settings]\nttl = '1m'\n[servers.a]\ncommand = 'x'\nargs = ['1', \"2\"]\nenv = { A = '${B:-c}' }\n[servers.a.tools.t]\nsummary = 's'\n[[list]]\nx = 1\n[servers.b]\nurl = \"https://h/\"\nheaders.X = '''y'''\n",
    "settings: { ttl: 1m }\nservers:\n  a: &a\n    command: x\n    args: [1, \"2\"]\n    env:\n      A: ${B:-c}\n    description: |\n      text\n  b:\n    <<: *a\n    enabled: no\n",
    "{ \"settings\": { \"ttl\": \"1m\" }, // c\n \"mcpServers\": { \"a\": { \"command\": [\"x\", 1, null], \"env\": { \"A\": \"\\u00e9\" } }, \"b\": { \"url\": \"https://h/\", } } }",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(which in 0usize..3, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let fixture = Fixture::with(FILES[which], "");
        std::fs::write(fixture.paths().config_dir.join(FILES[which]), bytes).unwrap();
        let loaded = fixture.load();
        prop_assert!(loaded.problems.iter().all(|problem| !problem.to_string().is_empty()));
    }

    #[test]
    fn random_structure_never_panics(which in 0usize..3, text in "[\\[\\]{}\"'=:,.#&*<|>!%@`\\\\ \t\r\n\\-a-c0-9é\u{feff}]{0,120}") {
        let loaded = Fixture::with(FILES[which], &text).load();
        prop_assert!(loaded.problems.iter().all(|problem| !problem.to_string().is_empty()));
    }

    #[test]
    fn mutated_files_never_panic(
        which in 0usize..3,
        changes in prop::collection::vec((0.0f64..1.0, 0usize..6, prop::collection::vec(any::<u8>(), 0..4)), 1..6),
    ) {
        let mut bytes = SOUND[which].as_bytes().to_vec();
        for (at, length, instead) in changes {
            let at = (at * bytes.len() as f64) as usize;
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, instead);
        }
        let fixture = Fixture::with(FILES[which], "");
        std::fs::write(fixture.paths().config_dir.join(FILES[which]), bytes).unwrap();
        let loaded = fixture.load();
        prop_assert!(loaded.problems.iter().all(|problem| !problem.to_string().is_empty()));
    }
}

#[test]
fn the_unmutated_files_are_valid() {
    for (file, text) in FILES.iter().zip(SOUND) {
        assert!(
            !Fixture::with(file, text).load().servers.is_empty(),
            "{file}"
        );
    }
}

#[track_caller]
fn check_refused(file: &str, text: &str, reason: Reason) {
    let started = Instant::now();
    let loaded = Fixture::with(file, text).load();
    assert_eq!(
        loaded.problems.first().map(|problem| problem.reason),
        Some(reason),
        "{file} {}",
        &text[..60.min(text.len())]
    );
    assert!(loaded.servers.is_empty());
    assert!(
        started.elapsed().as_secs() < 20,
        "{file}: {:?}",
        started.elapsed()
    );
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    const DEEP: usize = 100_000;
    check_refused(
        "config.json",
        &format!("{{\"a\":{}", "[".repeat(DEEP)),
        Reason::ConfigParse,
    );
    check_refused(
        "config.json",
        &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        Reason::ConfigTooLarge,
    );
    check_refused(
        "config.toml",
        &format!("a = {}", "[".repeat(DEEP)),
        Reason::ConfigParse,
    );
    check_refused(
        "config.toml",
        &format!("a = {}", "{a=".repeat(DEEP)),
        Reason::ConfigParse,
    );
    check_refused(
        "config.toml",
        &format!("{}a = 1", "a.".repeat(DEEP)),
        Reason::ConfigTooLarge,
    );
    check_refused(
        "config.toml",
        &format!("[{}a]", "a.".repeat(DEEP)),
        Reason::ConfigTooLarge,
    );
    check_refused("config.yaml", &"[".repeat(DEEP), Reason::ConfigParse);
    check_refused(
        "config.yaml",
        &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        Reason::ConfigTooLarge,
    );
    check_refused("config.yaml", &"- ".repeat(5_000), Reason::ConfigTooLarge);
}

#[test]
fn yaml_alias_bombs_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let copies = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{copies}]").unwrap();
    }
    check_refused("config.yaml", &text, Reason::ConfigTooLarge);
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1_000_000),
        vec!["*a"; 10_000].join(", ")
    );
    check_refused("config.yaml", &long, Reason::ConfigTooLarge);
    check_refused("config.yaml", "a: &a [*a]\n", Reason::ConfigParse);
}

#[test]
fn files_and_values_have_limits() {
    let mut fixture = Fixture::with(
        "config.toml",
        &format!("# {}\n[servers.a]\ncommand='x'\n", "x".repeat(2000)),
    );
    fixture.limits = Limits {
        config_bytes: 1000,
        ..Limits::default()
    };
    assert_eq!(short(&fixture.load()), ["error CONFIG_TOO_LARGE -:-"]);

    let mut fixture = Fixture::with(
        "config.toml",
        "[servers.a]\ncommand='${BIG}'\n[servers.b]\ncommand='x'\n",
    )
    .var("BIG", &"x".repeat(1 << 20));
    assert_eq!(short(&fixture.load()), ["error CONFIG_TOO_LARGE a:2"]);
    assert_eq!(names(&fixture.load()), ["b"]);

    fixture = Fixture::with(
        "config.toml",
        "[servers.a]\ncommand='x'\n[servers.b]\ncommand='x'\n[servers.c]\ncommand='x'\n",
    );
    fixture.limits = Limits {
        servers: 2,
        ..Limits::default()
    };
    assert_eq!(names(&fixture.load()), ["a", "b"]);
    assert_eq!(short(&fixture.load()), ["error CONFIG_TOO_LARGE -:5"]);
}

#[test]
fn a_folder_or_a_file_in_another_encoding_is_reported() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.paths().config_dir.join("config.toml")).unwrap();
    assert_eq!(short(&fixture.load()), ["error CONFIG_IO -:-"]);
    let fixture = Fixture::with("config.toml", "");
    std::fs::write(
        fixture.paths().config_dir.join("config.toml"),
        b"a = 1\nb = '\xff'",
    )
    .unwrap();
    assert_eq!(short(&fixture.load()), ["error CONFIG_PARSE -:2"]);
}

fn many(servers: usize) -> String {
    (0..servers).fold(String::new(), |mut text, at| {
        writeln!(text, "[servers.server_{at}]\ncommand = \"node\"\nargs = [\"/srv/server.js\", \"--port\", \"{at}\"]\nenv = {{ KEY = \"${{HOME}}\" }}\n").unwrap();
        text
    })
}

#[test]
fn five_thousand_servers_are_read_quickly() {
    let fixture = Fixture::with("config.toml", &many(5_000)).var("HOME", "/home");
    let started = Instant::now();
    let loaded = fixture.load();
    let took = started.elapsed();
    assert_eq!((loaded.servers.len(), loaded.problems.len()), (5_000, 0));
    // Unoptimized and on a busy machine. The optimized parser takes a few tens of milliseconds.
    assert!(took.as_millis() < 5_000, "{took:?}");
}

#[test]
fn five_thousand_problems_are_reported_quickly() {
    let fixture = Fixture::with("config.toml", &many(5_000));
    let started = Instant::now();
    let loaded = fixture.load();
    assert_eq!((loaded.servers.len(), loaded.broken.len()), (0, 5_000));
    assert!(
        started.elapsed().as_millis() < 10_000,
        "{:?}",
        started.elapsed()
    );
}

/// A project file with `servers` on one long line.
fn long_line(entries: impl Iterator<Item = String>) -> Fixture {
    let fixture = Fixture::new();
    let entries: Vec<String> = entries.collect();
    fixture.project(
        ".mcp.json",
        &format!("{{\"mcpServers\":{{{}}}}}", entries.join(",")),
    )
}

#[test]
fn r_cfg_04_very_many_servers_duplicates_or_keys_of_one_line_end_in_few_problems() {
    let server = |name: String| format!(r#""{name}":{{"command":"npx","args":["x"]}}"#);
    let limits = Limits::default();
    let many = long_line((0..20_000).map(|at| server(format!("s{at}")))).load();
    let twice = long_line((0..20_000).map(|_| server("same".into()))).load();
    let keys = (0..50_000).map(|at| format!(r#""k{at}":1"#));
    let unknown = long_line(std::iter::once(format!(
        r#""one":{{"command":"x",{}}}"#,
        keys.collect::<Vec<_>>().join(",")
    )))
    .load();
    for (what, loaded) in [("many", &many), ("twice", &twice), ("unknown", &unknown)] {
        let problems = &loaded.problems;
        assert!(
            problems.len() <= limits.config_problems + 1,
            "{what}: {}",
            problems.len()
        );
        let longest = problems
            .iter()
            .map(|problem| problem.to_string().len())
            .max();
        assert!(longest < Some(2_000), "{what}: {longest:?}");
    }
    assert_eq!(many.servers.len(), limits.servers);
    assert!(many.has_errors());
    assert!(twice.servers.is_empty() && twice.broken_problem("same").is_some());
    assert_eq!(unknown.servers.len(), 1);
    let more = &unknown.problems.last().unwrap().message;
    assert!(more.contains("49900 more problems"), "{more}");
}

#[test]
fn r_cfg_04_a_server_whose_problem_is_not_shown_is_still_broken_for_a_reason() {
    let loaded = long_line((0..1_000).map(|at| format!(r#""s{at}":{{}}"#))).load();
    assert_eq!(loaded.broken.len(), 1_000);
    for name in loaded.broken.keys() {
        let problem = loaded.broken_problem(name).unwrap();
        assert_eq!(problem.severity, pegboard_config::Severity::Error, "{name}");
    }
}

#[test]
fn r_cfg_04_the_number_of_values_in_a_file_is_limited() {
    let zeros = vec!["0"; 200_000].join(",");
    let fixture = Fixture::new().project(".mcp.json", &format!("{{\"x\":[{zeros}]}}"));
    assert_eq!(short(&fixture.load()), ["error CONFIG_TOO_LARGE -:1"]);
}

#[cfg(unix)]
#[test]
fn r_cfg_04_a_pipe_in_place_of_a_file_is_reported_and_never_waited_for() {
    let fixture = Fixture::new();
    let folder = fixture.env.working_dir.clone();
    std::fs::create_dir_all(folder.join(".pegboard")).unwrap();
    let pipe = |path: &std::path::Path| {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    };
    pipe(&folder.join(".mcp.json"));
    let loaded = fixture.load();
    assert_eq!(short(&loaded), ["error CONFIG_IO -:-"]);
    assert!(loaded.problems[0].message.contains("not a regular file"));
}

//! Config files and startup.

use std::os::unix::fs::PermissionsExt;

use pegboard_model::ServerName;
use pegboard_testkit::{Script, starts_in};
use serde_json::{Value, json};

use crate::support::{Home, toml_server};
use crate::table::Row;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "A02",
        input: "JSON with a comma too many, comments, a byte order mark or Windows line ends",
        required: "it is read, or refused with its place; never taken for an empty configuration",
        run: &[slips_in_json],
        tests: &[(
            "config/tests/config/duplicates.rs",
            "r_cfg_04_a_json_syntax_error_is_reported_with_its_place_and_a_fix",
        )],
        pending: None,
    },
    Row {
        id: "A04",
        input: "a server that is defined twice",
        required: "CONFIG_DUPLICATE with both lines; neither definition counts",
        run: &[a_server_twice],
        tests: &[(
            "config/tests/config/duplicates.rs",
            "a_duplicate_server_is_ignored_in_every_format",
        )],
        pending: None,
    },
    Row {
        id: "A05",
        input: "server names with separators, spaces, control characters, dots, capitals, or 300 characters",
        required: "no illegal name is used, the fault is reported, and other servers load",
        run: &[illegal_names],
        tests: &[(
            "config/tests/config/duplicates.rs",
            "r_cfg_05_bad_names_are_reported_with_the_corrected_form",
        )],
        pending: None,
    },
    Row {
        id: "A07",
        input: "a server with a reserved name",
        required: "CONFIG_NAME_RESERVED; other servers load",
        run: &[reserved_names],
        tests: &[],
        pending: None,
    },
    Row {
        id: "A11",
        input: "references to a missing variable, to one that holds a reference, and to a value of 1 MiB",
        required: "CONFIG_SECRET_MISSING; nothing is expanded twice; no value is printed",
        run: &[references],
        tests: &[
            (
                "config/src/template.rs",
                "r_cfg_08_references_are_resolved_once",
            ),
            (
                "config/tests/config/robust.rs",
                "files_and_values_have_limits",
            ),
        ],
        pending: None,
    },
    Row {
        id: "A12",
        input: "a config file that others can write, or that another user owns",
        required: "CONFIG_PERMISSION as a warning; refused in strict mode",
        run: &[writable_by_others],
        tests: &[(
            "config/tests/config/layers.rs",
            "r_sec_07_the_users_own_file_is_not_read_when_another_user_owns_it",
        )],
        pending: None,
    },
    Row {
        id: "A14",
        input: "a cloned project that brings a server",
        required: "it is not started until the user trusts exactly this definition",
        run: &[a_projects_server],
        tests: &[(
            "pegboard-cli/tests/cli/layers/trust.rs",
            "trust_is_limited_to_one_project",
        )],
        pending: None,
    },
    Row {
        id: "A15",
        input: "a trusted server whose command, arguments, variables, folder or address change",
        required: "CONFIG_CHANGED; it is not started until it is trusted again",
        run: &[a_changed_definition],
        tests: &[],
        pending: None,
    },
    Row {
        id: "A18",
        input: "5,000 configured servers",
        required: "they are listed without a start and with little memory",
        run: &[five_thousand_servers],
        tests: &[(
            "config/tests/config/robust.rs",
            "five_thousand_servers_are_read_quickly",
        )],
        pending: None,
    },
    Row {
        id: "A19",
        input: "package runners without a version",
        required: "SUPPLY_UNPINNED as advice that blocks nothing",
        run: &[unpinned_packages],
        tests: &[(
            "config/src/package_runners.rs",
            "unpinned_packages_are_distinguished_from_pinned_ones",
        )],
        pending: None,
    },
];

fn names(home: &Home) -> Vec<String> {
    let listed = home.run(&["list", "--json"]).ok().json();
    let servers = listed["servers"].as_array().expect("a list").iter();
    servers
        .map(|server| server["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Returns the output of `config check`.
fn checked(home: &Home, args: &[&str]) -> String {
    let run = home.run(&[&["config", "check"], args].concat());
    run.stdout + &run.stderr
}

fn slips_in_json() {
    let sound = r#"{"servers": {"good": {"command": "true"}}}"#;
    for (text, at) in [
        (sound.replace("}}}", "},}}"), "1:"),
        (sound.replace("{\"good", "/* mine */ {\"good"), "1:"),
        (format!("// mine\n{sound}"), "1:"),
        (format!("\u{feff}{sound}"), "1:"),
        (sound.replace(' ', "\r\n"), "1:"),
        (sound.replace("\"true\"", "'true'"), "1:"),
        (sound.replace("}}}", "}}"), "1:"),
    ] {
        let home = Home::new();
        home.write("config/config.json", &text);
        let is_read = home.run(&["list", "--json"]).stdout.contains("\"good\"");
        let printed = checked(&home, &[]);
        let place = format!("config.json:{at}");
        let is_refused = printed.contains("CONFIG_PARSE")
            && printed.contains(&place)
            && printed.contains("help:");
        assert!(is_read || is_refused, "{text:?}: {printed}");
    }
}

fn a_server_twice() {
    let twice = "{\"servers\": {\n\"github\": {\"command\": \"a\"},\n\"github\": {\"command\": \"b\"},\n\"good\": {\"command\": \"c\"}}}";
    let home = Home::new();
    home.write("config/config.json", twice);
    assert_eq!(names(&home), ["good"]);
    let printed = checked(&home, &[]);
    assert!(printed.contains("CONFIG_DUPLICATE"), "{printed}");
    for line in ["2", "3"] {
        assert!(printed.contains(line), "line {line}: {printed}");
    }
}

fn illegal_names() {
    let long = "x".repeat(300);
    for bad in ["a__b", "a/b", "a b", "a\u{0}b", "..", "Big", "", &long] {
        let home = Home::new();
        let file = json!({"servers": {bad: {"command": "x"}, "good": {"command": "y"}}});
        home.write("config/config.json", &file.to_string());
        let names = names(&home);
        assert!(names.contains(&"good".to_owned()), "{bad:?}: {names:?}");
        for name in &names {
            assert!(
                ServerName::parse(name).is_ok(),
                "{bad:?} is listed as {name}"
            );
        }
        // A name may be corrected if that is harmless; every other one is reported.
        let printed = checked(&home, &[]);
        assert!(
            printed.contains("CONFIG_NAME") || names.len() == 2,
            "{bad:?}: {printed}"
        );
    }
}

fn reserved_names() {
    for reserved in ["gateway", "mcp", "system", "static", "native", "pegboard"] {
        let home = Home::new();
        home.add(reserved, "x", &[], "");
        home.add("good", "y", &[], "");
        assert_eq!(names(&home), ["good"], "{reserved}");
        let printed = checked(&home, &[]);
        assert!(
            printed.contains("CONFIG_NAME_RESERVED"),
            "{reserved}: {printed}"
        );
    }
}

fn references() {
    let mut home = Home::new();
    let file = home.path("received").display().to_string();
    home.set("INNER", "planted-inner-value");
    home.set("OUTER", "${INNER}-planted-outer");
    home.set("HUGE", &"planted-huge-".repeat(10_000));
    let script = format!("printf %s \"$VALUE\" > '{file}'");
    home.add(
        "nested",
        "sh",
        &["-c", &script],
        "env = { VALUE = \"${OUTER}\" }",
    );
    home.add(
        "missing",
        "sh",
        &["-c", "true"],
        "env = { VALUE = \"${NOT_SET_ANYWHERE}\" }",
    );
    home.add(
        "huge",
        "sh",
        &["-c", "true"],
        "env = { VALUE = \"${HUGE}\" }",
    );
    let printed = checked(&home, &[]);
    assert!(
        printed.contains("CONFIG_SECRET_MISSING") && printed.contains("NOT_SET_ANYWHERE"),
        "{printed}"
    );
    let shown = home.run(&["show", "nested"]).stdout + &printed;
    let refreshed = home.run(&["refresh", "--all"]);
    let shown = shown + &refreshed.stdout + &refreshed.stderr;
    assert!(!shown.contains("planted-"), "{shown}");
    let received = std::fs::read_to_string(&file).expect("the server was started");
    assert_eq!(received, "${INNER}-planted-outer", "expanded once");
}

fn writable_by_others() {
    for mode in [0o666, 0o660] {
        let home = Home::new();
        home.add("mine", "true", &[], "");
        let file = home.config_file();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("the mode");
        assert_eq!(names(&home), ["mine"], "a warning by default");
        assert!(checked(&home, &[]).contains("CONFIG_PERMISSION"));
        let strict = home.run(&["--strict", "list", "--json"]).ok().json();
        assert_eq!(strict["total"], 0, "{strict}");
    }
}

/// Writes the project's file with one scripted server.
fn project(home: &Home, change: impl FnOnce(&mut Value)) {
    let script = Script::new().tools(["work"]).count_in(home.path("count"));
    let (command, args) = script.stdio_command();
    let mut server = json!({"command": command, "args": args, "env": {"A": "1"}});
    change(&mut server);
    let file = json!({"mcpServers": {"theirs": server}});
    home.write("project/.mcp.json", &file.to_string());
    // It counts its starts in a file outside the project.
    let config = format!("[settings]\nproject_sandbox = \"off\"\n{}", home.config());
    home.write("config/config.toml", &config);
}

fn starts(home: &Home) -> usize {
    starts_in(&home.path("count")).len()
}

fn a_projects_server() {
    let home = Home::with_example();
    project(&home, |_| {});
    for args in [
        &["tools"][..],
        &["search", "work"],
        &["describe", "theirs/work"],
        &["call", "theirs/work"],
        &["refresh", "theirs"],
        &["doctor", "theirs"],
        &["up", "--once"],
    ] {
        home.run(args);
        assert_eq!(starts(&home), 0, "{args:?}");
    }
    let refused = home.run(&["call", "theirs/work", "--json"]).exits(6);
    assert_eq!(refused.error()["reason"], "SERVER_PENDING");
    home.run(&["trust", "theirs", "--yes"]).ok();
    home.run(&["call", "theirs/work"]).ok();
    assert!(starts(&home) > 0);
}

fn a_changed_definition() {
    let changes: [fn(&mut Value); 5] = [
        |server| server["command"] = json!("/usr/bin/env"),
        |server| {
            server["args"]
                .as_array_mut()
                .expect("arguments")
                .push(json!("--more"))
        },
        |server| server["env"]["LD_PRELOAD"] = json!("/tmp/x.so"),
        |server| server["cwd"] = json!("/"),
        |server| *server = json!({"url": "https://example.com/mcp"}),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let home = Home::new();
        project(&home, |_| {});
        home.run(&["trust", "theirs", "--yes"]).ok();
        home.run(&["call", "theirs/work"]).ok();
        let before = starts(&home);
        project(&home, change);
        for args in [
            &["call", "theirs/work", "--json"][..],
            &["refresh", "theirs", "--json"],
        ] {
            let refused = home.run(args).exits(6);
            let printed = refused.stdout.clone() + &refused.stderr;
            assert!(
                printed.contains("CONFIG_CHANGED"),
                "change {number}: {printed}"
            );
        }
        assert_eq!(starts(&home), before, "change {number}");
    }
}

fn five_thousand_servers() {
    let home = Home::new();
    let started = home.path("started").display().to_string();
    let script = format!("echo x >> '{started}'");
    let servers =
        (0..5_000).map(|number| toml_server(&format!("s{number}"), "sh", &["-c", &script], ""));
    home.write("config/config.toml", &servers.collect::<String>());
    let listed = home.run(&["list", "--json"]).ok().json();
    assert_eq!(listed["total"], 5_000);
    assert!(!home.path("started").exists(), "a server was started");
    home.assert_nothing_runs();
}

fn unpinned_packages() {
    for args in [
        &["npx", "-y", "some-package"][..],
        &["npx", "-y", "some-package@latest"],
        &["uvx", "some-package"],
    ] {
        let home = Home::new();
        home.add("runner", args[0], &args[1..], "");
        let run = home.run(&["config", "check"]).ok();
        let printed = run.stdout + &run.stderr;
        assert!(printed.contains("SUPPLY_UNPINNED"), "{args:?}: {printed}");
        assert_eq!(names(&home), ["runner"], "it blocks nothing");
    }
    let home = Home::new();
    home.add("runner", "npx", &["-y", "some-package@1.2.3"], "");
    assert!(!checked(&home, &[]).contains("SUPPLY_UNPINNED"));
}

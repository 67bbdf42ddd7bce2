//! `add`: writes the definition, discovers the server, prints the result.

use pegboard_testkit::{Script, starts_in};

use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD};

#[test]
fn r_disc_07_add_discovers_at_once_and_prints_the_result() {
    let home = Home::new();
    let run = home
        .run(&["add", "example", "--", PEGBOARD, "example-server"])
        .ok();
    assert!(
        run.stdout.starts_with("✓ example  16 tools ("),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("    + add_numbers\n"), "{}", run.stdout);
    assert!(
        run.stderr.contains("wrote server `example` to "),
        "{}",
        run.stderr
    );
    let row = home.run(&["list", "--json"]).ok().json()["servers"][0].clone();
    assert_eq!(row["tools"], EXAMPLE_TOOLS);
}

#[test]
fn r_cli_01_the_separator_before_the_command_can_be_omitted() {
    let home = Home::new();
    // Options behind the program belong to it.
    home.run(&["add", "ex", PEGBOARD, "--quiet", "example-server"])
        .ok();
    let row = home.run(&["list", "--json"]).ok().json()["servers"][0].clone();
    assert_eq!(row["tools"], EXAMPLE_TOOLS);
    assert!(
        row["command"]
            .as_str()
            .unwrap()
            .ends_with("--quiet example-server"),
        "{row}"
    );
    let other = home.run(&["add", "x", "example.test/mcp", "--baerer", "t"]);
    assert!(other.exits(2).stderr.contains("--baerer"));
}

#[test]
fn r_disc_04_a_server_that_fails_at_once_stays_configured_with_its_reason() {
    let home = Home::new();
    let run = home
        .run(&["add", "gone", "--json", "--", "no-such-program-anywhere"])
        .exits(3);
    assert_eq!(run.json()["status"], "failed");
    assert_eq!(run.json()["error"]["reason"], "SPAWN_NOT_FOUND");
    let row = home.run(&["list", "--json"]).ok().json()["servers"][0].clone();
    assert_eq!(row["status"], "failed");
    assert!(
        row["last_error"]
            .as_str()
            .is_some_and(|error| error.contains("no-such-program"))
    );
}

#[test]
fn every_option_of_add_lands_in_the_file_as_it_was_written() {
    let home = Home::new();
    let args = [
        "add",
        "a",
        "--no-discover",
        "-e",
        "TOKEN=${secret:a}",
        "-e",
        "MODE=fast=yes",
        "--cwd",
        "/tmp",
        "--description",
        "What it is for",
        "--category",
        "tests",
        "--",
        "prog",
        "-x",
        "--y=z",
        "a b",
    ];
    home.run(&args).ok();
    let header = "Authorization: Bearer ${TOKEN:-none}";
    home.run(&[
        "add",
        "b",
        "--no-discover",
        "-H",
        header,
        "https://example.com/mcp",
    ])
    .ok();
    insta::assert_snapshot!(home.config(), @r#"
    [servers.a]
    command = "prog"
    args = ["-x", "--y=z", "a b"]
    cwd = "/tmp"
    env = { TOKEN = "${secret:a}", MODE = "fast=yes" }
    description = "What it is for"
    category = "tests"

    [servers.b]
    url = "https://example.com/mcp"
    headers = { Authorization = "Bearer ${TOKEN:-none}" }
    "#);
}

#[test]
fn invalid_servers_are_refused_before_the_file_changes() {
    let home = Home::with_example();
    let before = home.config();
    for (args, expected) in [
        (&["bad__name", "--", "x"][..], "rename it to `bad_name`"),
        (&["pegboard", "--", "x"], "CONFIG_NAME_RESERVED"),
        (
            &["x", "npx -y bar --token canary"],
            "Write `pegboard add x -- npx -y bar --token ***`.",
        ),
        (&["x", "ls"], "Write `pegboard add x -- ls`."),
        (&["x", "--", "npx -y bar"], "whole command line"),
        (&["example", "--", "x"], "--replace"),
        (&["x"], "pegboard add [OPTIONS] <NAME> -- <COMMAND>..."),
        (
            &["x", "https://example.com", "--", "y"],
            "cannot be used with",
        ),
        (
            &["x", "ftp://example.com"],
            "must start with `http://` or `https://`",
        ),
        (
            &["x", "-e", "A=b", "https://example.com"],
            "cannot be used with",
        ),
        (&["x", "-H", "A: b", "--", "y"], "cannot be used with"),
        (&["x", "-e", "NO_VALUE", "--", "y"], "-e KEY=VALUE"),
    ] {
        let run = home.run(&[&["add"], args].concat()).exits(2);
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
    assert_eq!(home.config(), before);
}

#[test]
fn add_replaces_a_server_only_with_the_flag() {
    let home = Home::new();
    let count = home.path("count");
    home.add("s", "old-program", &[], "");
    let script = Script::new().tools(["new"]).count_in(&count);
    let (command, args) = script.stdio_command();
    let mut words = vec!["add", "s", "--replace", "--", &command];
    words.extend(args.iter().map(String::as_str));
    let run = home.run(&words).ok();
    assert!(run.stdout.contains("+ new"), "{}", run.stdout);
    assert!(!home.config().contains("old-program"));
    assert_eq!(starts_in(&count).len(), 1);
}

#[test]
fn a_program_given_by_a_relative_path_is_meant_from_where_add_is_typed() {
    let home = Home::new();
    let folder = home.path("project");
    std::os::unix::fs::symlink(PEGBOARD, folder.join("server")).unwrap();
    home.run(&["add", "here", "--", "./server", "example-server"])
        .ok();
    let text = std::fs::read_to_string(home.config_file()).unwrap();
    let absolute = folder.join("server");
    assert!(text.contains(absolute.to_str().unwrap()), "{text}");
    let run = home.run(&["add", "gone", "--", "./nothing"]).exits(3);
    assert!(run.stdout.contains("project/nothing"), "{}", run.stdout);
}

#[test]
fn r_cfg_05_add_corrects_names_like_those_in_other_clients_files() {
    let home = Home::new();
    for (given, name) in [
        ("sequential-thinking", "sequential_thinking"),
        ("gitServer", "git_server"),
        ("io.github.user/weather", "io_github_user_weather"),
    ] {
        let run = home
            .run(&["add", given, "--no-discover", "--", "server"])
            .ok();
        let expected = format!("`{given}` is not a valid name; using `{name}`");
        assert!(run.stderr.contains(&expected), "{}", run.stderr);
        assert!(home.config().contains(&format!("[servers.{name}]")));
    }
    let long = "a-name-that-is-longer-than-the-limit-of-names";
    home.run(&["add", long, "--no-discover", "--", "server"])
        .ok();
    let servers = home.run(&["list", "--json"]).ok().json()["servers"].clone();
    let names = servers.as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names[0].starts_with("a_name_that_is_"), "{names:?}");
}

/// Runs `add --store-secrets` for an HTTP server with a token.
fn add_with_token(home: &Home, name: &str, token: &str, more: &[&str]) -> crate::support::Run {
    let header = format!("Authorization: Bearer {token}");
    let args = [
        "add",
        name,
        "--store-secrets",
        "--no-discover",
        "-H",
        &header,
    ];
    let url = ["https://example.com/mcp"];
    home.run(&[&args[..], more, &url[..]].concat())
}

fn stored(home: &Home, name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(home.state().join("secrets.json")).expect("the secrets");
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    file["secrets"][name]["value"].clone()
}

#[test]
fn r_cfg_08_add_keeps_the_secret_of_a_server_that_it_does_not_replace() {
    let home = Home::new();
    add_with_token(&home, "x", "tok_aaaaaaaa1", &[]).ok();
    let run = add_with_token(&home, "x", "tok_bbbbbbbb2", &[]).exits(2);
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
    assert!(!run.stderr.contains("stored"), "{}", run.stderr);
    assert_eq!(stored(&home, "x_token"), "tok_aaaaaaaa1");
    // The replaced server's own secret gets the new value.
    add_with_token(&home, "x", "tok_bbbbbbbb2", &["--replace"]).ok();
    assert_eq!(stored(&home, "x_token"), "tok_bbbbbbbb2");
    assert!(stored(&home, "x_token_2").is_null());
}

#[test]
fn r_cfg_08_add_does_not_overwrite_the_secret_of_another_server() {
    let home = Home::new();
    home.run_with_input(&["secret", "set", "github_token"], "tok_other0001")
        .ok();
    let env = "env = { TOKEN = \"${secret:github_token}\" }";
    home.add("other", "program", &[], env);
    add_with_token(&home, "github", "tok_new000002", &[]).ok();
    assert_eq!(stored(&home, "github_token"), "tok_other0001");
    assert_eq!(stored(&home, "github_token_2"), "tok_new000002");
    assert!(home.config().contains("Bearer ${secret:github_token_2}"));
}

#[test]
fn r_cfg_08_add_restores_the_secret_if_the_file_cannot_be_written() {
    let home = Home::new();
    add_with_token(&home, "x", "tok_aaaaaaaa1", &[]).ok();
    let header = "Authorization: Bearer tok_bbbbbbbb2";
    let args = ["add", "x", "--store-secrets", "--no-discover", "--replace"];
    let url = ["-H", header, "ftp://example.com"];
    let run = home.run(&[&args[..], &url[..]].concat()).exits(2);
    assert!(!run.stderr.contains("stored"), "{}", run.stderr);
    assert_eq!(stored(&home, "x_token"), "tok_aaaaaaaa1");
}

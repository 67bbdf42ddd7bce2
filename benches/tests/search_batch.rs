//! The `search-batch` program: queries over a catalog in a file.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const CORPUS: &[(&str, &str, &str)] = &[
    (
        "mail",
        "send_message",
        "Sends an e-mail with a subject and a body to one or more people.",
    ),
    ("mail", "list_folders", "Lists the folders of the mailbox."),
    (
        "paint",
        "resize",
        "Changes the width and height of a picture.",
    ),
    ("sky", "forecast", "Returns tomorrow's weather for a place."),
];

fn corpus() -> String {
    let lines = CORPUS.iter().map(|(server, name, description)| {
        let id = format!("{server}:{name}");
        json!({"id": id, "server": server, "name": name, "description": description}).to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn run(catalog: &str, method: &str, queries: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalog.jsonl");
    std::fs::write(&path, catalog).expect("written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_search-batch"))
        .args(["--batch", "--method", method, "--catalog"])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = program.stdin.take().expect("piped");
    // A program that rejects its catalog may exit before it reads.
    let _ = stdin.write_all(queries.as_bytes());
    drop(stdin);
    program.wait_with_output().expect("finished")
}

#[test]
fn a_catalog_is_searched_query_by_query() {
    let queries = concat!(
        "{\"id\": \"q1\", \"query\": \"write a letter to a person\", \"k\": 2}\n",
        "\n",
        "{\"id\": 7, \"query\": \"will it rain\"}\n",
    );
    for method in ["full", "words", "bm25", "substring"] {
        let output = run(&corpus(), method, queries);
        assert!(output.status.success(), "{method}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = text.lines();
        let responses: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(responses.len(), 2, "{method}");
        let ids = (&responses[0]["id"], &responses[1]["id"]);
        assert_eq!(ids, (&json!("q1"), &json!(7)));
        let ranked = responses[0]["ranked"].as_array().expect("ids");
        assert!(ranked.len() <= 2, "{method}: {ranked:?}");
        if method == "full" {
            assert_eq!(ranked[0], "mail:send_message");
            assert_eq!(responses[1]["ranked"][0], "sky:forecast");
        }
    }
}

#[track_caller]
fn check_error(catalog: &str, queries: &str, part: &str) {
    let output = run(catalog, "words", queries);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(text.contains(part), "{text}");
}

#[test]
fn invalid_input_is_reported_with_its_place() {
    let broken = "{\"id\": \"a\", \"name\": \"x\"}\n{\"id\": 3}\n";
    check_error(broken, "", "line 2");
    check_error(&corpus(), "hello\n", "`hello`");
    let missing = Command::new(env!("CARGO_BIN_EXE_search-batch"))
        .args(["--batch", "--catalog", "nowhere.jsonl"])
        .output()
        .expect("started");
    let text = String::from_utf8(missing.stderr).expect("UTF-8");
    assert!(text.contains("nowhere.jsonl"), "{text}");
}

//! `pegboard search`: by name, words and meaning, with explanations, and over a file.

use serde_json::{Value, json};

use crate::support::Home;

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
    ("sky", "forecast", "Tells tomorrow's weather for a place."),
];

fn corpus(home: &Home) -> String {
    let lines = CORPUS.iter().map(|(server, name, description)| {
        let id = format!("{server}:{name}");
        json!({"id": id, "server": server, "name": name, "description": description}).to_string()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let path = home.write("corpus.jsonl", &text);
    path.to_str().expect("a plain path").to_owned()
}

fn hits(document: &Value) -> Vec<&str> {
    let hits = document["hits"].as_array().expect("hits");
    hits.iter().filter_map(|hit| hit["name"].as_str()).collect()
}

#[test]
fn r_find_01_exact_names_come_first_and_typos_are_found() {
    let home = Home::with_example();
    for query in [
        "add_numbers",
        "example__add_numbers",
        "example add numbers",
        "ADD-NUMBERS",
        "add_nubmers",
    ] {
        let found = home.run(&["search", "--json", query]).ok().json();
        assert_eq!(hits(&found)[0], "example__add_numbers", "{query}");
    }
}

#[cfg(feature = "meaning")]
#[test]
fn r_find_02_a_tool_is_found_by_what_it_means() {
    let home = Home::with_example();
    let query = ["what is the sum of these two values"];
    let found = home
        .run(&[&["search", "--json"], &query[..]].concat())
        .ok()
        .json();
    assert_eq!(found["by_meaning"], "all");
    assert_eq!(hits(&found)[0], "example__add_numbers");
    let words = home
        .run(&[&["search", "--json", "--words"], &query[..]].concat())
        .ok()
        .json();
    assert_eq!(words["by_meaning"], "none");
}

#[test]
fn r_find_03_a_search_explains_itself() {
    let home = Home::with_example();
    let found = home
        .run(&[
            "search",
            "--json",
            "--explain",
            "--limit",
            "3",
            "add",
            "some",
            "numbers",
        ])
        .ok()
        .json();
    for hit in found["hits"].as_array().expect("hits") {
        let why = &hit["why"];
        let part = |name: &str| why[name].as_f64().expect(name);
        let parts = ["words", "coverage", "server", "meaning", "memory"];
        let rest: f64 = parts.into_iter().map(part).sum();
        let name = why["name"]["part"].as_f64().unwrap_or(0.0);
        let score = hit["score"].as_f64().expect("a score");
        let sum = name + rest;
        assert!((score - sum).abs() < 1e-3, "{score} is not {sum}: {why}");
    }
    let shown = home.run(&["search", "--explain", "add", "numbers"]).ok();
    assert!(
        shown.stdout.contains("example__add_numbers"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("words "), "{}", shown.stdout);
    assert!(shown.stdout.contains("in name"), "{}", shown.stdout);
}

#[test]
fn a_server_that_is_named_gives_all_its_tools() {
    let home = Home::with_example();
    let found = home
        .run(&[
            "search", "--json", "--limit", "100", "all", "tools", "of", "example",
        ])
        .ok()
        .json();
    assert_eq!(hits(&found).len(), crate::support::EXAMPLE_TOOLS);
}

#[test]
fn a_file_of_tools_is_searched_query_by_query() {
    let home = Home::new();
    let corpus = corpus(&home);
    let queries = concat!(
        "{\"id\": \"q1\", \"query\": \"write a letter to somebody\", \"k\": 2}\n",
        "\n",
        "{\"id\": 7, \"query\": \"will it rain\"}\n",
    );
    for method in ["full", "words", "bm25", "substring"] {
        let run = home
            .run_with_input(
                &[
                    "search",
                    "--batch",
                    "--catalog",
                    &corpus,
                    "--method",
                    method,
                ],
                queries,
            )
            .ok();
        let answers: Vec<Value> = run
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(answers.len(), 2, "{method}");
        assert_eq!(
            (&answers[0]["id"], &answers[1]["id"]),
            (&json!("q1"), &json!(7))
        );
        let ranked = answers[0]["ranked"].as_array().expect("ids");
        assert!(ranked.len() <= 2, "{method}: {ranked:?}");
        #[cfg(feature = "meaning")]
        if method == "full" {
            assert_eq!(ranked[0], "mail:send_message");
            assert_eq!(answers[1]["ranked"][0], "sky:forecast");
        }
    }
}

#[test]
fn invalid_batch_input_is_reported_with_its_position() {
    let home = Home::new();
    let corpus = corpus(&home);
    let missing = home.run(&["search", "--batch", "--catalog", "nowhere.jsonl"]);
    assert_ne!(missing.code, 0);
    assert!(
        missing.stderr.contains("nowhere.jsonl"),
        "{}",
        missing.stderr
    );
    let broken = home.write(
        "broken.jsonl",
        "{\"id\": \"a\", \"name\": \"x\"}\n{\"id\": 3}\n",
    );
    let broken = home.run(&[
        "search",
        "--batch",
        "--catalog",
        broken.to_str().expect("a path"),
    ]);
    assert_ne!(broken.code, 0);
    assert!(broken.stderr.contains("line 2"), "{}", broken.stderr);
    let query = home.run_with_input(
        &[
            "search",
            "--batch",
            "--catalog",
            &corpus,
            "--method",
            "words",
        ],
        "hello\n",
    );
    assert_ne!(query.code, 0);
    assert!(query.stderr.contains("`hello`"), "{}", query.stderr);
    home.run(&["search"]).exits(2);
    home.run(&["search", "--batch"]).exits(2);
}

#[test]
fn remembered_searches_can_be_forgotten() {
    let home = Home::with_example();
    let run = home.run(&["search", "--forget"]).ok();
    assert!(
        run.stdout.starts_with("Deleted 0 past searches"),
        "{}",
        run.stdout
    );
    let json = home.run(&["search", "--forget", "--json"]).ok().json();
    assert_eq!(json["forgotten"], 0);
}

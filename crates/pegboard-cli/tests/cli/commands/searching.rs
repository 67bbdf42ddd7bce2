//! `pegboard search`: by name, words and meaning, with explanations.

use serde_json::Value;

use crate::support::Home;

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
        let parts = ["words", "coverage", "server", "meaning", "memory", "action"];
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
fn a_search_without_words_is_rejected() {
    Home::new().run(&["search"]).exits(2);
}

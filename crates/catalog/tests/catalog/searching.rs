use pegboard_catalog::{Catalog, StaticTool};
use serde_json::json;

use crate::fixture::{configured, spec};

fn catalog() -> Catalog {
    let github = [
        json!({"name": "create_issue", "description": "Open a new issue in a repository."}),
        json!({"name": "create_issue_comment", "description": "Say something."}),
        json!({"name": "list_issues", "description": "All issues. Filter them by label or Zürich."}),
        json!({"name": "getUser", "description": "Returns a user."}),
    ];
    let mail = [json!({"name": "send", "description": "Send an e-mail to a user about an issue."})];
    let catalog = Catalog::default()
        .with_server(configured(spec("github"), &github))
        .0;
    catalog.with_server(configured(spec("mail"), &mail)).0
}

#[track_caller]
fn check(words: &str, expected: &[&str]) {
    let catalog = catalog();
    let found: Vec<String> = catalog
        .search(words, 3)
        .iter()
        .map(|hit| hit.tool.exposed().to_string())
        .collect();
    assert_eq!(found, expected, "{words:?}");
}

#[test]
fn r_ctx_04_words_are_found_in_names_and_descriptions_whatever_their_case() {
    check("LABEL", &["github__list_issues"]);
    check("zürich", &["github__list_issues"]);
    check("user", &["github__getUser", "mail__send"]);
    check("get user", &["github__getUser", "mail__send"]);
    check("nothing at all like it", &["github__list_issues"]);
    check("", &[]);
    check("?!", &[]);
    check("xylophone", &[]);
}

#[test]
fn r_ctx_04_exact_names_come_first_then_those_that_start_alike() {
    check(
        "create_issue",
        &[
            "github__create_issue",
            "github__create_issue_comment",
            "github__list_issues",
        ],
    );
    check(
        "create issue",
        &[
            "github__create_issue",
            "github__create_issue_comment",
            "github__list_issues",
        ],
    );
    check(
        "github__create_issue",
        &[
            "github__create_issue",
            "github__create_issue_comment",
            "github__list_issues",
        ],
    );
    check("the send", &["mail__send"]);
}

#[test]
fn static_tools_and_overrides_are_searched_too() {
    let mut spec = spec("github");
    let words = pegboard_model::ToolOverride {
        description: Some("Aardvark".into()),
        ..Default::default()
    };
    spec.tools.insert("a".into(), words);
    let catalog = Catalog::default()
        .with_server(configured(spec, &[json!({"name": "a"})]))
        .0;
    let catalog = catalog
        .with_static(StaticTool::new("clock", "Returns the aardvark.", json!({})).unwrap())
        .unwrap();
    assert_eq!(catalog.search("aardvark", 10).len(), 2);
    assert_eq!(catalog.search("aardvark", 1).len(), 1);
}

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

#[test]
fn r_find_01_an_alias_and_a_keyword_of_the_user_find_a_tool() {
    let mut jira = spec("jira");
    let own = pegboard_model::ToolOverride {
        aliases: vec!["my open tickets".into()],
        ..Default::default()
    };
    jira.tools.insert("search".into(), own);
    jira.keywords = vec!["helpdesk".into()];
    let tools = [json!({"name": "search"}), json!({"name": "open"})];
    let other = [json!({"name": "open_tickets", "description": "Opens tickets."})];
    let catalog = Catalog::default().with_server(configured(jira, &tools)).0;
    let catalog = catalog.with_server(configured(spec("other"), &other)).0;
    let first = |query: &str| {
        catalog
            .search(query, 1)
            .first()
            .map(|hit| hit.tool.exposed().to_string())
    };
    assert_eq!(
        first("show my open tickets").as_deref(),
        Some("jira__search")
    );
    assert_eq!(
        first("open tickets").as_deref(),
        Some("other__open_tickets")
    );
    assert_eq!(catalog.search("helpdesk", 5).len(), 2);
}

#[test]
fn the_same_tool_of_several_servers_shares_a_line() {
    let mut catalog = Catalog::default();
    let tools = [
        (
            "github",
            "create_issue",
            "Create a new issue in a repository.",
        ),
        (
            "gitlab",
            "create-issue",
            "Creates a new issue in a project repository.",
        ),
        ("shop", "create_issue", "Report that goods arrived damaged."),
    ];
    for (server, name, description) in tools {
        let tool = json!({"name": name, "description": description});
        catalog = catalog.with_server(configured(spec(server), &[tool])).0;
    }
    let hits = catalog.search("create a new issue in a repository", 10);
    let lines = pegboard_catalog::lines(hits, 5);
    let shown = lines.iter().map(|line| {
        let twins = line.twins.iter().map(|tool| tool.exposed().to_string());
        (
            line.hit.tool.exposed().to_string(),
            twins.collect::<Vec<_>>(),
        )
    });
    let shown: Vec<_> = shown.collect();
    let twins = shown.iter().map(|(_, twins)| twins.len()).sum::<usize>();
    assert_eq!((shown.len(), twins), (2, 1), "{shown:?}");
    assert!(shown.iter().any(|(first, _)| first == "shop__create_issue"));
}

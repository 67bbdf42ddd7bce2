use insta::assert_snapshot;
use pegboard_catalog::{Catalog, LexicalSearch, ServerEntry};
use pegboard_metatools::{Detail, MAX_BATCH, MAX_HITS, search_text};
use pegboard_model::{DiscoveryStatus, ServerRecord};
use serde_json::json;
use std::sync::Arc;

use super::{catalog_of, ordinary, small, tokens};
use crate::fixture::{configured, name, spec};

#[test]
fn r_find_03_hits_are_lines_with_the_arguments_of_a_call() {
    assert_snapshot!(search_text(&small(), &LexicalSearch, &["create issue"], 2, Detail::Signature), @r#"
    2 of 3 tools for "create issue" (limit=3 shows more):
    github__create_issue(owner, title, labels?, state?) — Open a new issue in a repository.
    github__close_issue(number) — Close an issue.
    "#);
    assert_snapshot!(search_text(&small(), &LexicalSearch, &["create issue"], 5, Detail::Brief), @r#"
    3 of 3 tools for "create issue":
    github__create_issue — Open a new issue in a repository.
    github__close_issue — Close an issue.
    mail__send — Send an e-mail to a person about an issue.
    "#);
    assert_snapshot!(search_text(&small(), &LexicalSearch, &["create issue"], 1, Detail::Full), @r#"
    1 of 3 tools for "create issue" (limit=3 shows more):
    github__create_issue(owner: string, labels?: string[], title: string, state?: string) — Open a new issue in a repository. Returns its number.
    "#);
}

#[test]
fn r_find_03_a_query_that_names_a_server_gets_its_tools() {
    for query in [
        "github",
        "all github tools",
        "GitHub",
        "list the tools of the github server",
    ] {
        let text = search_text(&small(), &LexicalSearch, &[query], 2, Detail::Brief);
        assert_eq!(
            text.lines().next(),
            Some("2 of 3 tools of server github (limit=3 shows more):"),
            "{query}"
        );
    }
    let other = search_text(
        &small(),
        &LexicalSearch,
        &["github issue"],
        2,
        Detail::Brief,
    );
    assert!(other.starts_with("2 of 4 tools for"), "{other}");
}

#[test]
fn r_find_03_several_queries_are_answered_in_groups_without_repeating_a_tool() {
    assert_snapshot!(search_text(&small(), &LexicalSearch, &["create issue", "issue", "zebra", ""], 2, Detail::Brief), @r#"
    2 of 3 tools for "create issue" (limit=3 shows more):
    github__create_issue — Open a new issue in a repository.
    github__close_issue — Close an issue.
    2 of 3 tools for "issue" (limit=3 shows more):
    and from above: github__close_issue, github__create_issue
    No tool matches "zebra". There are tools of github (3), mail (1); list_available_tools shows them.
    "#);
    let many = ["code"; MAX_BATCH + 1];
    assert!(
        search_text(&small(), &LexicalSearch, &many, 2, Detail::Brief)
            .ends_with("Only the first 5 queries were answered.")
    );
    assert!(
        search_text(&small(), &LexicalSearch, &[" "], 2, Detail::Brief)
            .starts_with("Say what the tool should do")
    );
}

#[test]
fn r_find_03_an_exact_name_in_full_gives_the_whole_definition() {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string", "description": "w ".repeat(2000)}}});
    let description = format!("{}\r\nThe end.", "Long. ".repeat(500));
    let tools = [
        json!({"name": "say", "description": description, "inputSchema": schema, "outputSchema": {"type": "object"}}),
    ];
    let catalog = Catalog::default()
        .with_server(configured(spec("voice"), &tools))
        .0;
    let text = search_text(&catalog, &LexicalSearch, &["voice__say"], 5, Detail::Full);
    assert!(
        text.starts_with("voice__say\nLong. Long."),
        "{}",
        &text[..40]
    );
    assert!(text.contains(&"Long. ".repeat(500)) && text.contains("The end."));
    assert!(text.contains(&format!(
        "Input schema: {schema}\nOutput schema: {{\"type\":\"object\"}}"
    )));
    let short = search_text(
        &catalog,
        &LexicalSearch,
        &["voice__say"],
        5,
        Detail::Signature,
    );
    assert_eq!(
        short,
        "1 of 1 tool for \"voice__say\":\nvoice__say(text?) — Long."
    );
}

#[test]
fn r_ctx_04_an_empty_result_suggests_names_and_lists_missing_servers() {
    let waiting = |server: &str, status: DiscoveryStatus| {
        let mut record = ServerRecord::undiscovered(name(server), spec(server).hash);
        record.status = status;
        ServerEntry::new(Arc::new(spec(server)), Arc::new(record))
    };
    let catalog = small()
        .with_server(waiting("slack", DiscoveryStatus::Discovering))
        .0;
    let catalog = catalog
        .with_server(waiting("jira", DiscoveryStatus::Failed))
        .0;
    assert_snapshot!(search_text(&catalog, &LexicalSearch, &["serchcode"], 5, Detail::Signature), @r#"
    1 of 1 tool for "serchcode":
    github__search_code() — Search for code. (read-only)
    still being discovered: slack (ask again)
    not available: jira
    "#);
    assert_snapshot!(search_text(&catalog, &LexicalSearch, &["jira"], 5, Detail::Signature), @r"
    No tool of server jira is known.
    still being discovered: slack (ask again)
    not available: jira
    ");
    assert_snapshot!(search_text(&catalog, &LexicalSearch, &["code"], 5, Detail::Signature), @r#"
    1 of 1 tool for "code":
    github__search_code() — Search for code. (read-only)
    still being discovered: slack (ask again)
    not available: jira
    "#);
    // A server without tools may have the name of what is searched.
    let named = small()
        .with_server(waiting("code", DiscoveryStatus::Failed))
        .0;
    let text = search_text(&named, &LexicalSearch, &["code"], 5, Detail::Signature);
    assert!(
        text.starts_with("No tool of server code is known.\n"),
        "{text}"
    );
    assert!(text.contains("github__search_code"), "{text}");
    assert_snapshot!(search_text(&catalog, &LexicalSearch, &["code"], 1, Detail::Signature), @r#"
    1 of 1 tool for "code":
    github__search_code() — Search for code. (read-only)
    still being discovered: slack (ask again)
    "#);
}

#[test]
fn r_find_03_responses_are_bounded() {
    let catalog = catalog_of(20, 54, ordinary);
    let text = search_text(
        &catalog,
        &LexicalSearch,
        &["create an issue"],
        5,
        Detail::Signature,
    );
    assert!(tokens(&text) < 200, "{}", tokens(&text));
    let all = search_text(
        &catalog,
        &LexicalSearch,
        &["issue"],
        usize::MAX,
        Detail::Brief,
    );
    // The 20 servers have the same tools, which share lines.
    assert!(all.lines().count() <= MAX_HITS + 1, "{all}");
    assert!(
        all.contains(" of 120 tools for \"issue\""),
        "{}",
        &all[..60]
    );
    assert!(all.contains("(also "), "{}", &all[..300]);
    assert!(
        search_text(&catalog, &LexicalSearch, &["issue"], 0, Detail::Brief)
            .starts_with("1 of 120 tools")
    );
}

#[test]
fn r_find_03_signatures_list_required_arguments_first_and_count_the_rest() {
    let mut properties = serde_json::Map::new();
    for number in 0..20 {
        properties.insert(format!("a{number}"), json!({}));
    }
    let tools = [
        json!({"name": "wide", "description": "Wide.", "inputSchema": {"type": "object", "properties": properties, "required": ["a19"]}}),
        json!({"name": "composed", "description": "Composed.", "inputSchema": {"type": "object",
            "allOf": [{"properties": {"x": {"type": "string"}}, "required": ["x"]}]}}),
    ];
    let catalog = Catalog::default()
        .with_server(configured(spec("s"), &tools))
        .0;
    assert_snapshot!(search_text(&catalog, &LexicalSearch, &["s"], 5, Detail::Signature), @r"
    2 of 2 tools of server s:
    s__composed(x) — Composed.
    s__wide(a19, a0?, a1?, a2?, a3?, a4?, a5?, a6?, a7?, a8?, a9?, a10?, +8) — Wide.
    ");
}

#[test]
fn r_find_03_a_query_that_matches_nothing_well_says_so() {
    let text = search_text(
        &small(),
        &LexicalSearch,
        &["wash the car of a person"],
        2,
        Detail::Brief,
    );
    assert!(
        text.starts_with("No good match for \"wash the car of a person\"; nearest:\n"),
        "{text}"
    );
}

#[test]
fn r_find_03_a_request_of_several_steps_gets_tools_for_each() {
    let text = search_text(
        &small(),
        &LexicalSearch,
        &["close the issue on github and send an e-mail to a person"],
        1,
        Detail::Brief,
    );
    for name in ["github__close_issue", "mail__send"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

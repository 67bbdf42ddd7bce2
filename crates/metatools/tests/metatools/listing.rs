use insta::assert_snapshot;
use pegboard_catalog::{Catalog, StaticTool};
use pegboard_metatools::{ListRequest, describe_text, list_json, list_text};
use pegboard_model::{DiscoveryStatus, Policy, ServerRecord};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{catalog_of, ordinary, small, tokens};
use crate::fixture::{configured, name, spec};

const ALL: ListRequest<'static> = ListRequest {
    category: None,
    include_disabled: false,
};

fn of(category: &str) -> ListRequest<'_> {
    ListRequest {
        category: Some(category),
        ..ALL
    }
}

#[test]
fn r_ctx_02_few_tools_are_listed_with_summaries() {
    assert_snapshot!(list_text(&small(), &ALL), @r#"
    4 tools:
    github__close_issue: Close an issue.
    github__create_issue: Open a new issue in a repository.
    github__search_code: Search for code.
    mail__send: Send an e-mail to a person about an issue.
    Narrow down: list_available_tools(category="github") or search_tools.
    "#);
    assert_snapshot!(list_text(&small(), &of("mail")), @r"
    1 tool:
    mail__send: Send an e-mail to a person about an issue.
    ");
}

#[test]
fn r_ctx_02_more_tools_are_named_by_server() {
    let catalog = catalog_of(3, 14, ordinary);
    assert_snapshot!(list_text(&catalog, &ALL));
}

#[test]
fn r_ctx_02_many_tools_are_counted_by_category_then_by_server() {
    assert_snapshot!("by_category", list_text(&catalog_of(4, 54, ordinary), &ALL));
    assert_snapshot!("by_server", list_text(&catalog_of(20, 54, ordinary), &ALL));
    assert_snapshot!("largest", list_text(&catalog_of(112, 22, ordinary), &ALL));
}

#[test]
fn r_ctx_02_a_category_is_listed_by_the_same_rules() {
    let catalog = catalog_of(20, 54, ordinary);
    assert_snapshot!("one_server", list_text(&catalog, &of("server_7")));
    let issues = list_text(&catalog, &of("server_7/issue"));
    assert!(
        issues.starts_with("6 tools:\nserver_7__create_issue: "),
        "{issues}"
    );
    assert_eq!(issues, list_text(&catalog, &of("Server_7/issue (6)")));
    assert_snapshot!(list_text(&catalog, &of("server_7/isue")), @r#"No category or server is called "server_7/isue". Did you mean server_7/issue, server_17/issue, server_0/issue, server_1/issue, server_2/issue, server_3/issue, server_4/issue, server_5/issue? list_available_tools() shows all."#);
    assert_snapshot!(list_text(&small(), &of("xyz")), @r#"No category or server is called "xyz". There are github (3), mail (1). list_available_tools() shows all."#);
}

#[test]
fn r_ctx_02_an_empty_list_names_the_servers_being_discovered() {
    assert_snapshot!(list_text(&Catalog::default(), &ALL), @"No tools are known yet. Servers are discovered when they are first needed.");
    let waiting = (0..40).map(|number| {
        let spec = spec(&format!("s{number}"));
        let record = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
        pegboard_catalog::ServerEntry::new(Arc::new(spec), Arc::new(record))
            .with_discovering(number != 1)
    });
    let mut failed = ServerRecord::undiscovered(name("broken"), spec("broken").hash);
    failed.status = DiscoveryStatus::Failed;
    let failed = pegboard_catalog::ServerEntry::new(Arc::new(spec("broken")), Arc::new(failed));
    let catalog: Catalog = waiting.chain([failed]).collect();
    assert_snapshot!(list_text(&catalog, &ALL), @r"
    No tools are known yet. Servers are discovered when they are first needed.
    still being discovered: s0, s1, s10, s11, s12 and 35 more (ask again)
    not available: broken
    ");
}

#[test]
fn r_ctx_02_disabled_tools_are_listed_on_request_and_marked() {
    let mut hidden = spec("mail");
    hidden.policies.insert("send".to_owned(), Policy::Disable);
    let tools = [
        json!({"name": "send", "description": "Send it."}),
        json!({"name": "read", "description": "Read it."}),
    ];
    let host = StaticTool::new("echo", "Say it again.", json!({})).unwrap();
    let catalog = Catalog::default()
        .with_server(configured(hidden, &tools))
        .0
        .with_static(host)
        .unwrap();
    assert_snapshot!(list_text(&catalog, &ALL), @r#"
    2 tools:
    echo: Say it again.
    mail__read: Read it.
    Narrow down: list_available_tools(category="mail") or search_tools.
    "#);
    let all = ListRequest {
        include_disabled: true,
        ..ALL
    };
    assert!(list_text(&catalog, &all).contains("mail__send: Send it. (disabled)"));
    let document: Value = serde_json::from_str(&list_json(&catalog, &all)).unwrap();
    assert_eq!(
        document["tools"][2],
        json!({"name": "mail__send", "summary": "Send it.", "category": "mail", "enabled": false})
    );
}

#[test]
fn r_ctx_02_json_has_the_promised_shape_while_everything_fits() {
    let document: Value = serde_json::from_str(&list_json(&small(), &ALL)).unwrap();
    let tool = |name: &str, summary: &str, category: &str| json!({"name": name, "summary": summary, "category": category, "enabled": true});
    let expected = json!({
        "tools": [
            tool("github__close_issue", "Close an issue.", "github"),
            tool("github__create_issue", "Open a new issue in a repository.", "github"),
            tool("github__search_code", "Search for code.", "github"),
            tool("mail__send", "Send an e-mail to a person about an issue.", "mail"),
        ],
        "total": 4,
        "categories": ["github", "mail"],
    });
    assert_eq!(document, expected);
    let nothing: Value = serde_json::from_str(&list_json(&Catalog::default(), &ALL)).unwrap();
    assert_eq!(nothing, json!({"tools": [], "total": 0, "categories": []}));
}

#[test]
fn r_ctx_02_json_of_many_tools_says_what_is_left_out_and_how_to_get_it() {
    let catalog = catalog_of(112, 22, ordinary);
    let document: Value = serde_json::from_str(&list_json(&catalog, &ALL)).unwrap();
    let shown = document["tools"].as_array().unwrap().len();
    assert!(shown > 0);
    assert_eq!(document["shown"], shown);
    assert_eq!(document["total"], 112 * 22);
    let more = document["more"].as_str().unwrap();
    assert_eq!(
        more,
        format!(
            "{} more: list_available_tools(category=\"server_0\", format=\"json\") or search_tools",
            112 * 22 - shown
        )
    );
    let categories = document["categories"].as_array().unwrap();
    assert_eq!(
        document["more_categories"].as_u64().unwrap() as usize + categories.len(),
        112
    );
    assert_eq!(categories[0], "server_0", "a name stays a name");
    let counts = document["counts"].as_array().unwrap();
    assert_eq!(counts.len(), categories.len());
    assert!(counts.iter().all(|count| *count == 22), "{counts:?}");
}

#[test]
fn r_ctx_02_lists_stay_under_500_tokens_at_any_size() {
    for (servers, tools) in [
        (1, 1),
        (1, 12),
        (1, 60),
        (1, 600),
        (3, 14),
        (30, 1),
        (112, 22),
        (1, 10_000),
        (5_000, 1),
    ] {
        let catalog = catalog_of(servers, tools, ordinary);
        let categories = [
            None,
            Some("server_0"),
            Some("server_0/issue"),
            Some("nonsense"),
        ];
        for category in categories {
            let request = ListRequest { category, ..ALL };
            for text in [list_text(&catalog, &request), list_json(&catalog, &request)] {
                let count = tokens(&text);
                assert!(
                    count < 500,
                    "{servers} × {tools}, {category:?}: {count} tokens\n{text}"
                );
            }
        }
        let total = format!("{}", servers * tools);
        assert!(
            list_text(&catalog, &ALL).contains(&total),
            "the total is always shown"
        );
    }
}

/// The fastest of several runs, so that a busy machine does not count.
fn fastest(work: impl Fn()) -> std::time::Duration {
    let run = |_| {
        let started = std::time::Instant::now();
        work();
        started.elapsed()
    };
    (0..10).map(run).min().unwrap()
}

#[test]
fn r_ctx_02_r_ctx_03_lists_and_descriptions_take_less_than_100_ms() {
    let limit = std::time::Duration::from_millis(100);
    let catalog = catalog_of(112, 22, ordinary);
    let list = fastest(|| assert!(!list_text(&catalog, &ALL).is_empty()));
    let json = fastest(|| assert!(!list_json(&catalog, &ALL).is_empty()));
    let name = catalog.tools().last().unwrap().exposed().to_string();
    let description = fastest(|| {
        let view = catalog.find(&name).unwrap();
        assert!(!describe_text(&view, true).is_empty());
    });
    for (what, took) in [("list", list), ("JSON", json), ("description", description)] {
        assert!(took < limit, "{what}: {took:?}");
    }
}

#[test]
fn r_sec_01_texts_show_the_note_on_look_alike_names() {
    let tools = ["wipe", "Wipe"].map(|name| json!({"name": name}));
    let catalog = Catalog::default()
        .with_server(configured(spec("s"), &tools))
        .0;
    let view = catalog.find("s/wipe").unwrap();
    let note = view.note().unwrap();
    assert!(describe_text(&view, false).contains(&format!("Note: {note}")));
    let text = list_text(&catalog, &ALL);
    assert!(text.contains(&format!("(note: {note})")), "{text}");
    let json = list_json(&catalog, &ALL);
    assert!(json.contains("\"note\":\"the name"), "{json}");
}

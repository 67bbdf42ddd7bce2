use std::sync::Arc;

use pegboard_catalog::{Catalog, Conflict, ServerEntry, StaticTool};
use pegboard_model::{
    ConfigHash, DiscoveryStatus, Policy, Reason, ServerRecord, Timestamp, ToolOverride, TrustState,
};
use serde_json::json;

use crate::fixture::{catalog, configured, entry, exposed, name, record, spec};

fn echo(tool: &str) -> StaticTool {
    StaticTool::new(tool, "Says it again. Loudly.", json!({"type": "object"})).unwrap()
}

#[test]
fn r_reg_01_static_and_mcp_tools_are_one_sorted_registry() {
    let catalog = catalog(&["github: list_issues create_issue", "a: x", "a1: x"]);
    let catalog = catalog
        .with_static(echo("echo"))
        .unwrap()
        .with_static(echo("zoo"))
        .unwrap();
    let expected = [
        "a1__x",
        "a__x",
        "echo",
        "github__create_issue",
        "github__list_issues",
        "zoo",
    ];
    assert_eq!(exposed(&catalog), expected);
    let github = catalog.server(&name("github")).unwrap();
    assert_eq!(github.visible_tools().count(), 2);
    let servers: Vec<&str> = catalog
        .servers()
        .map(|entry| entry.name().as_str())
        .collect();
    assert_eq!(servers, ["a", "a1", "github"]);
    let (without, left) = catalog.without_server(&name("github"));
    assert_eq!((left, exposed(&without).len()), (2, 4));
    assert_eq!(
        exposed(&catalog).len(),
        6,
        "the former snapshot is untouched"
    );
}

#[test]
fn r_reg_01_a_static_name_is_registered_once_and_must_be_legal() {
    let catalog = Catalog::default().with_static(echo("echo")).unwrap();
    assert_eq!(
        catalog.with_static(echo("echo")).unwrap_err().reason,
        Reason::NameReserved
    );
    for bad in ["", "a b", "ü", &"x".repeat(65)] {
        let error = StaticTool::new(bad, "", json!({})).unwrap_err();
        assert_eq!(error.reason, Reason::ToolNameInvalid, "{bad:?}");
    }
    assert_eq!(
        StaticTool::new("a", "", json!(7)).unwrap_err().reason,
        Reason::SchemaInvalid
    );
}

#[test]
fn r_reg_03_a_static_tool_wins_and_the_catalog_says_so() {
    let catalog = catalog(&["github: search issues", "gitlab: search"]);
    let catalog = catalog.with_static(echo("github__search")).unwrap();
    assert_eq!(
        exposed(&catalog),
        ["github__issues", "github__search", "gitlab__search"]
    );
    let found = catalog.find("github__search").unwrap();
    assert!(found.server().is_none(), "the static one");
    assert_eq!(
        catalog.find("github/search").unwrap_err().reason,
        Reason::NameReserved
    );
    let conflict = Conflict {
        name: "github__search".into(),
        server: name("github"),
        tool: "search".into(),
    };
    assert_eq!(catalog.conflicts(), [conflict]);
    assert_eq!(catalog.statistics().conflicts, 1);
}

#[test]
fn r_reg_03_the_same_name_on_two_servers_is_kept_twice() {
    let catalog = catalog(&["a: search", "b: search"]);
    assert_eq!(exposed(&catalog), ["a__search", "b__search"]);
    for (written, server) in [("a__search", "a"), ("b/search", "b")] {
        let found = catalog.find(written).unwrap();
        assert_eq!(found.server(), Some(&name(server)), "{written}");
    }
    let ambiguous = catalog.find("search").unwrap_err();
    assert_eq!(ambiguous.reason, Reason::ToolAmbiguous);
    assert_eq!(ambiguous.nearest, ["a__search", "b__search"]);
}

#[test]
fn r_reg_03_only_equal_exposed_names_conflict() {
    let catalog = catalog(&["rube: search"]);
    let catalog = catalog.with_static(echo("search")).unwrap();
    assert_eq!(exposed(&catalog), ["rube__search", "search"]);
    assert_eq!(catalog.conflicts(), []);
    let bare = catalog.find("search").unwrap();
    assert!(
        bare.server().is_none(),
        "the bare name is the static tool's"
    );
    for written in ["rube__search", "rube/search"] {
        let found = catalog.find(written).unwrap();
        assert_eq!(found.server(), Some(&name("rube")), "{written}");
    }
    let twice = catalog.with_static(echo("search")).unwrap_err();
    assert_eq!(twice.reason, Reason::NameReserved);
}

#[test]
fn r_obs_01_offered_tools_are_counted_by_where_they_come_from() {
    let catalog = catalog(&["github: search issues", "gitlab: search"]);
    let catalog = catalog.with_static(echo("github__search")).unwrap();
    let catalog = catalog.with_static(echo("own")).unwrap();
    let counts = catalog.offered_counts();
    assert_eq!((counts.static_tools, counts.mcp_tools), (2, 2));
    let github = catalog.server(&name("github")).unwrap();
    assert_eq!(catalog.offered_by(github), 1, "one of two is hidden");
    assert_eq!(catalog.without_server(&name("github")).1, 1);
    let all = catalog.tools().count();
    assert_eq!(counts.static_tools + counts.mcp_tools, all);
}

#[test]
fn r_store_01_disabled_tools_are_known_but_not_listed() {
    let mut off = spec("off");
    off.enabled = false;
    let mut waiting = spec("waiting");
    waiting.trust_state = TrustState::Pending;
    let mut mixed = spec("mixed");
    mixed.policies.insert("delete_*".into(), Policy::Disable);
    mixed.policies.insert("drop".into(), Policy::Deny);
    let tools = [
        json!({"name": "delete_all"}),
        json!({"name": "drop"}),
        json!({"name": "read"}),
    ];
    let mut catalog = Catalog::default();
    for spec in [off, waiting, mixed] {
        catalog = catalog.with_server(configured(spec, &tools)).0;
    }
    assert_eq!(exposed(&catalog), ["mixed__drop", "mixed__read"]);
    assert_eq!(catalog.all_tools().count(), 9);
    assert_eq!(catalog.find("mixed/drop").unwrap().policy(), Policy::Deny);
    let counts = catalog.statistics();
    assert_eq!((counts.tools, counts.disabled), (2, 7));
    assert_eq!(
        (
            counts.servers.total,
            counts.servers.disabled,
            counts.servers.pending
        ),
        (3, 1, 1)
    );
}

#[test]
fn r_reg_01_undiscovered_and_changed_servers_need_discovery() {
    let never = ServerRecord::undiscovered(name("never"), ConfigHash([1; 32]));
    let mut changed = record("changed", &[json!({"name": "x"})]);
    changed.config = ConfigHash([9; 32]);
    let mut failed = record("failed", &[json!({"name": "x"})]);
    failed.status = DiscoveryStatus::Failed;
    let mut off = spec("off");
    off.enabled = false;
    let catalog = [
        ServerEntry::new(Arc::new(spec("never")), Arc::new(never.clone())),
        ServerEntry::new(Arc::new(spec("changed")), Arc::new(changed)),
        ServerEntry::new(Arc::new(spec("failed")), Arc::new(failed)).with_stale(true),
        ServerEntry::new(Arc::new(off), Arc::new(never)),
        entry("fresh", &["x"]),
        entry("busy", &["x"]).with_discovering(true),
    ]
    .into_iter()
    .fold(Catalog::default(), |catalog, entry| {
        catalog.with_server(entry).0
    });
    assert_eq!(catalog.needs_discovery(), [name("changed"), name("never")]);
    let stale = |server: &str| catalog.is_stale(&name(server));
    assert!(stale("failed") && stale("changed") && !stale("fresh") && !stale("unknown"));
    let busy = catalog.server(&name("busy")).unwrap();
    assert_eq!(busy.status(), DiscoveryStatus::Discovering);
    assert!(
        catalog.find("failed/x").unwrap().stale(),
        "tools of a failed server stay"
    );
    let servers = catalog.statistics().servers;
    assert_eq!(
        (
            servers.never,
            servers.discovering,
            servers.success,
            servers.failed
        ),
        (2, 1, 2, 1)
    );
}

#[test]
fn r_store_04_get_set_invalidate_clear_and_stats() {
    let empty = Catalog::default();
    let (one, delta) = empty.with_server(entry("a", &["x", "y"]));
    assert_eq!(delta.added, ["x", "y"]);
    let two = one.with_server(entry("b", &["z"]).with_stale(true)).0;
    assert!(two.server(&name("b")).is_some());
    let stats = two.cache_statistics(Timestamp(4_000), 7, 2);
    assert_eq!(
        (stats.tools, stats.expired, stats.hits, stats.misses),
        (3, 1, 7, 2)
    );
    assert_eq!(
        (stats.servers[0].age_ms, stats.servers[1].expired),
        (3_000, true)
    );
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["servers"][0]["server"], "a");
    assert_eq!(
        serde_json::from_value::<pegboard_catalog::CacheStatistics>(json).unwrap(),
        stats
    );
    assert!(serde_json::to_value(two.statistics()).unwrap()["servers"]["total"] == 2);
    let two = two.with_static(echo("echo")).unwrap();
    assert_eq!(exposed(&two.only(|_| false)), ["echo"]);
    assert_eq!(two.without_server(&name("none")).1, 0);
}

#[test]
fn r_reg_09_every_text_of_a_tool_can_be_overridden() {
    let mut spec = spec("github");
    spec.category = Some("code".into());
    let words = ToolOverride {
        summary: Some("x".repeat(100)),
        description: Some("My own words.".into()),
        category: Some("special".into()),
        aliases: Vec::new(),
        related: Some(vec!["other".into()]),
        deprecated: Some("use `b`".into()),
        examples: vec![pegboard_model::ToolExample {
            description: None,
            arguments: json!({"k": 1}),
            expected_output: None,
        }],
        enabled: Some(true),
    };
    spec.tools.insert("a".into(), words);
    let tools = [
        json!({"name": "a", "description": "Server words."}),
        json!({"name": "b"}),
    ];
    let catalog = Catalog::default().with_server(configured(spec, &tools)).0;
    let (a, b) = (catalog.find("a").unwrap(), catalog.find("b").unwrap());
    assert_eq!((a.category(), b.category()), ("special", "code"));
    assert_eq!(a.summary().chars().count(), 80);
    assert_eq!(a.description(), "My own words.");
    assert_eq!((a.deprecated(), b.deprecated()), (Some("use `b`"), None));
    let described = pegboard_catalog::describe(&a);
    assert_eq!(
        (described.related, described.examples[0].arguments.clone()),
        (vec!["other".into()], json!({"k": 1}))
    );
    assert_eq!(
        a.definition(),
        tools[0].to_string(),
        "the original stays as it is"
    );
}

#[test]
fn r_disc_09_a_tool_without_a_description_is_shown_by_name() {
    let catalog = catalog(&["github: close_issue"]);
    let view = catalog.find("close_issue").unwrap();
    assert_eq!(view.description(), "github tool: close_issue");
    assert_eq!(view.summary(), "github tool: close_issue");
    assert_eq!(view.definition(), r#"{"name":"close_issue"}"#);
    assert_eq!(
        catalog
            .with_server(entry("empty", &[]))
            .0
            .statistics()
            .servers
            .success,
        2
    );
}

#[test]
fn a_snapshot_shares_its_entries_with_the_former_one() {
    let before = catalog(&["a: x", "b: y"]);
    let after = before.with_server(entry("b", &["z"])).0;
    let held = |catalog: &Catalog, server: &str| catalog.server(&name(server)).unwrap().clone();
    assert!(Arc::ptr_eq(&held(&before, "a"), &held(&after, "a")));
    assert!(!Arc::ptr_eq(&held(&before, "b"), &held(&after, "b")));
}

#[test]
fn r_reg_04_a_catalog_made_at_once_is_the_same_as_one_made_step_by_step() {
    let entries = || {
        [
            entry("b", &["x"]),
            entry("a1", &["y"]),
            entry("a", &["z"]),
            entry("b", &["w"]),
        ]
    };
    let stepwise = entries()
        .into_iter()
        .fold(Catalog::default(), |catalog, e| catalog.with_server(e).0);
    let at_once: Catalog = entries().into_iter().collect();
    assert_eq!(exposed(&at_once), ["a1__y", "a__z", "b__w"]);
    assert_eq!(exposed(&at_once), exposed(&stepwise));
    assert!(at_once.server(&name("a1")).is_some());
}

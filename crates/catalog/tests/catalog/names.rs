use pegboard_catalog::Catalog;
use pegboard_model::{Policy, Reason, TrustState};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::{catalog, configured, entry, name, spec};

#[track_caller]
fn check(catalog: &Catalog, written: &str, expected: Result<&str, Reason>) {
    let got = catalog
        .find(written)
        .map(|view| view.exposed().as_str())
        .map_err(|error| error.reason);
    assert_eq!(got, expected, "{written:?}");
}

#[test]
fn r_reg_06_a_name_resolves_to_the_server_and_its_own_name() {
    let catalog = catalog(&[
        "github: close_issue search fs/read a__b",
        "node: __node_version",
        "gitlab: search",
    ]);
    check(&catalog, "github__close_issue", Ok("github__close_issue"));
    check(&catalog, "github/close_issue", Ok("github__close_issue"));
    check(&catalog, " close_issue ", Ok("github__close_issue"));
    check(&catalog, "github__a__b", Ok("github__a__b"));
    check(&catalog, "node____node_version", Ok("node____node_version"));
    let view = catalog.find("github/fs/read").unwrap();
    assert_eq!(
        (view.server(), view.name()),
        (Some(&name("github")), "fs/read")
    );
    let alias = view.exposed().to_string();
    assert_eq!(catalog.find(&alias).unwrap().name(), "fs/read");
}

#[test]
fn r_sec_05_a_qualified_name_never_means_another_servers_tool() {
    let catalog = catalog(&["evil: github__get_issue github/get_issue fs/read a__b __c"]);
    for written in [
        "github__get_issue",
        "github/get_issue",
        " github__get_issue ",
        "fs/read",
        "a__b",
        "A b/get_issue",
    ] {
        check(&catalog, written, Err(Reason::ServerUnknown));
    }
    let error = catalog.find("a__b").unwrap_err();
    assert_eq!(error.nearest, ["evil__a__b"], "the full name is suggested");
    check(&catalog, "evil__a__b", Ok("evil__a__b"));
    check(&catalog, "evil/a__b", Ok("evil__a__b"));
    // The same when the server is there but outside of a profile.
    let both = crate::fixture::catalog(&["evil: github__get_issue", "github: get_issue"]);
    check(&both, "github__get_issue", Ok("github__get_issue"));
    assert_eq!(
        both.find("github__get_issue").unwrap().server(),
        Some(&name("github"))
    );
    let narrowed = both.only(|server| server.as_str() == "evil");
    check(&narrowed, "github__get_issue", Err(Reason::ServerUnknown));
}

#[test]
fn r_sec_05_names_of_meta_tools_never_mean_a_servers_tool() {
    let reserved = [
        "read_result",
        "call_tool",
        "call_readonly_tool",
        "search_tools",
        "list_available_tools",
        "get_tool_description",
    ];
    let line = format!("evil: {}", reserved.join(" "));
    let catalog = catalog(&[&line]);
    for written in reserved {
        check(&catalog, written, Err(Reason::NameReserved));
        check(&catalog, &format!(" {written} "), Err(Reason::NameReserved));
        let full = format!("evil__{written}");
        assert_eq!(catalog.find(written).unwrap_err().nearest, [full.as_str()]);
        check(&catalog, &full, Ok(&full));
    }
}

#[test]
fn r_reg_02_invalid_names_are_rejected() {
    let catalog = catalog(&["github: x"]);
    for invalid in ["", "  ", "__x", "github__", "/x", "github/"] {
        check(&catalog, invalid, Err(Reason::ToolNameInvalid));
    }
}

#[test]
fn r_reg_01_an_unknown_name_gets_suggestions() {
    let catalog = catalog(&["github: close_issue list_issues search", "gitlab: search"]);
    let nearest = |written: &str, reason: Reason| {
        let error = catalog.find(written).unwrap_err();
        assert_eq!(error.reason, reason, "{written}");
        error.into_details().nearest
    };
    assert_eq!(
        nearest("clos_isue", Reason::ToolUnknown)[0],
        "github__close_issue"
    );
    assert_eq!(
        nearest("github__list_issue", Reason::ToolUnknown)[0],
        "github__list_issues"
    );
    assert_eq!(nearest("githb/search", Reason::ServerUnknown)[0], "github");
    assert_eq!(
        nearest("Git-Hub/search", Reason::ServerUnknown)[0],
        "github"
    );
    assert_eq!(
        nearest("search", Reason::ToolAmbiguous),
        ["github__search", "gitlab__search"]
    );
    assert!(nearest("qqqqqqqqqqqqqqqqqqqq", Reason::ToolUnknown).is_empty());
    assert!(catalog.suggest_tools("e").len() <= 5);
    let hostile = catalog.find("\u{1b}[2J").unwrap_err();
    assert!(!hostile.message.contains('\u{1b}'), "{}", hostile.message);
}

#[test]
fn r_reg_06_the_error_says_why_a_known_tool_is_not_offered() {
    let mut off = spec("off");
    off.enabled = false;
    let mut pending = spec("pending");
    pending.trust_state = TrustState::Pending;
    let mut changed = spec("changed");
    changed.trust_state = TrustState::Changed;
    let mut partly = spec("partly");
    partly.policies.insert("x_*".into(), Policy::Disable);
    let catalog = [(off, "a"), (pending, "b"), (changed, "c"), (partly, "x_d")]
        .into_iter()
        .fold(Catalog::default(), |catalog, (spec, tool)| {
            catalog
                .with_server(configured(spec, &[json!({"name": tool})]))
                .0
        });
    check(&catalog, "off/a", Err(Reason::ServerDisabled));
    check(&catalog, "a", Err(Reason::ServerDisabled));
    check(&catalog, "off/unknown", Err(Reason::ServerDisabled));
    check(&catalog, "pending__b", Err(Reason::ServerPending));
    check(&catalog, "changed/c", Err(Reason::ConfigChanged));
    check(&catalog, "partly/x_d", Err(Reason::ToolDisabled));
    check(&catalog, "x_d", Err(Reason::ToolDisabled));
    let error = catalog.find("x_d").unwrap_err();
    assert!(
        error.message.contains("policies.\"x_*\""),
        "{}",
        error.message
    );
}

#[test]
fn a_tool_that_is_offered_once_is_found_by_its_bare_name() {
    let mut off = spec("off");
    off.enabled = false;
    let catalog = catalog(&["on: search"])
        .with_server(configured(off, &[json!({"name": "search"})]))
        .0;
    check(&catalog, "search", Ok("on__search"));
}

proptest! {
    #[test]
    fn r_reg_06_every_exposed_name_is_found_again(names in prop::collection::btree_set("(?s).{1,40}", 1..8)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let catalog = Catalog::default().with_server(entry("files", &names)).0;
        for view in catalog.tools() {
            let found = catalog.find(view.exposed().as_str()).unwrap();
            prop_assert_eq!(found.name(), view.name());
        }
        prop_assert_eq!(catalog.tools().count(), names.len());
    }

    #[test]
    fn r_reg_02_no_two_tools_of_any_servers_share_an_exposed_name(
        pairs in prop::collection::btree_set(("[ab](_[ab]){0,2}", "[ab_]{1,7}"), 2..12),
    ) {
        let mut servers = std::collections::BTreeMap::<&str, Vec<&str>>::new();
        for (server, tool) in &pairs {
            servers.entry(server).or_default().push(tool);
        }
        let catalog: Catalog = servers.iter().map(|(server, tools)| entry(server, tools)).collect();
        let exposed: std::collections::BTreeSet<_> =
            catalog.tools().map(|view| view.exposed().to_string()).collect();
        prop_assert_eq!(exposed.len(), pairs.len());
        for view in catalog.tools() {
            let found = catalog.find(view.exposed().as_str()).unwrap();
            prop_assert_eq!((found.server(), found.name()), (view.server(), view.name()));
        }
    }

    #[test]
    fn any_written_name_gets_an_answer(written in "(?s).{0,200}") {
        let catalog = catalog(&["github: close_issue search"]);
        if let Err(error) = catalog.find(&written) {
            prop_assert!(!error.message.chars().any(char::is_control));
            prop_assert!(error.nearest.len() <= 6);
        }
    }
}

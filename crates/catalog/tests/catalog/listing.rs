use pegboard_catalog::{Catalog, ListingFilter, StaticTool, describe, write_listing};
use pegboard_model::Policy;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{catalog, configured, entry, name, spec};

fn listing(catalog: &Catalog, filter: &ListingFilter) -> String {
    let mut out = Vec::new();
    write_listing(catalog, filter, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn r_reg_04_the_listing_holds_each_tool_with_its_raw_definition() {
    let mut spec = spec("github");
    spec.policies.insert("close_*".into(), Policy::Ask);
    let tool = json!({"zeta": 1, "name": "close_issue", "description": "Close \"it\".\n", "inputSchema": {"type": "object"}});
    let catalog = Catalog::default()
        .with_server(configured(spec, &[tool]).with_stale(true))
        .0;
    let text = listing(&catalog, &ListingFilter::default());
    let expected = concat!(
        r#"{"tools":[{"name":"github__close_issue","server":"github","tool":"close_issue","#,
        r#""summary":"Close \"it\".","category":"github","enabled":true,"policy":"ask","status":"success","#,
        r#""stale":true,"tokens":TOKENS,"#,
        r#""definition":{"zeta":1,"name":"close_issue","description":"Close \"it\".\n","inputSchema":{"type":"object"}}}],"#,
        r#""total":1,"servers":{"github":{"status":"success","stale":true,"enabled":true,"trust_state":"granted","tools":1}}}"#,
    );
    let tokens = catalog.tools().next().unwrap().tokens().to_string();
    assert_eq!(text, expected.replace("TOKENS", &tokens));
}

#[test]
fn r_sec_01_the_listing_escapes_hidden_characters_and_keeps_their_value() {
    let tool = json!({"name": "a\u{202e}b", "description": "\u{9b}31m\u{e0041}"});
    let catalog = Catalog::default()
        .with_server(configured(spec("s"), std::slice::from_ref(&tool)))
        .0;
    let text = listing(&catalog, &ListingFilter::default());
    assert!(
        !text.contains(['\u{202e}', '\u{9b}', '\u{e0041}']),
        "{text}"
    );
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["tools"][0]["definition"], tool);
    assert_eq!(read["tools"][0]["tool"], "a\u{202e}b");
}

#[test]
fn r_sec_01_look_alike_names_of_one_server_carry_a_note() {
    let names = ["wipe", "Wipe", "wi\u{440}\u{435}", "wipe ", "read"];
    let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let catalog = Catalog::default()
        .with_server(configured(spec("s"), &tools))
        .0
        .with_server(entry("other", &["wipe"]))
        .0;
    let read: Value = serde_json::from_str(&listing(&catalog, &ListingFilter::default())).unwrap();
    for tool in read["tools"].as_array().unwrap() {
        let is_alike = tool["server"] == "s" && tool["tool"] != "read";
        assert_eq!(tool.get("note").is_some(), is_alike, "{tool}");
    }
    let note = catalog.find("s/wipe").unwrap().note().unwrap();
    assert_eq!(
        note,
        "the name \"wipe\" looks like \"Wipe\", \"wipe \", \"wi\\u{440}\\u{435}\" of the same server; make sure which one is meant"
    );
    let view = catalog.find("s/wipe").unwrap();
    assert_eq!(describe(&view).note.as_deref(), Some(note));
}

#[test]
fn the_listing_can_be_narrowed() {
    let mut off = spec("off");
    off.enabled = false;
    let many = "big: create_issue list_issues a b c d e f g h i j k l";
    let catalog = catalog(&["github: x y", many])
        .with_server(configured(off, &[json!({"name": "z"})]))
        .0;
    let tool = StaticTool::new("echo", "", json!({}))
        .unwrap()
        .in_category("mine");
    let catalog = catalog.with_static(tool).unwrap();
    let names = |filter: ListingFilter| -> Vec<String> {
        let value: Value = serde_json::from_str(&listing(&catalog, &filter)).unwrap();
        let tools = value["tools"].as_array().unwrap().clone();
        assert_eq!(value["total"], tools.len());
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = ListingFilter::default;
    assert_eq!(names(all()).len(), 17);
    assert_eq!(
        names(ListingFilter {
            server: Some(name("github")),
            ..all()
        }),
        ["github__x", "github__y"]
    );
    assert_eq!(
        names(ListingFilter {
            include_disabled: true,
            ..all()
        })
        .len(),
        18
    );
    let category = |category: &str| {
        names(ListingFilter {
            category: Some(category.into()),
            ..all()
        })
    };
    assert_eq!(
        category("big/issues"),
        ["big__create_issue", "big__list_issues"]
    );
    assert_eq!(category("big").len(), 14);
    assert_eq!(category("mine"), ["echo"]);
    assert!(category("bi").is_empty());
}

proptest! {
    #[test]
    fn r_reg_04_the_listing_is_sorted_and_the_same_bytes_in_any_order(
        servers in prop::collection::btree_map(
            "[a-z0-9]{1,3}(_[a-z0-9]{1,2})?", prop::collection::btree_set("[a-zA-Z._ -]{1,12}", 0..6), 1..6),
        seed in any::<prop::sample::Index>(),
    ) {
        let servers: Vec<_> = servers.iter().filter(|(name, _)| pegboard_model::ServerName::parse(name).is_ok()).collect();
        prop_assume!(!servers.is_empty());
        let build = |order: &[usize]| order.iter().fold(Catalog::default(), |catalog, at| {
            let (server, tools) = servers[*at];
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            catalog.with_server(entry(server, &tools)).0
        });
        let order: Vec<usize> = (0..servers.len()).collect();
        let mut other = order.clone();
        other.reverse();
        other.rotate_left(seed.index(servers.len()));
        let (one, two) = (build(&order), build(&other));
        let all = ListingFilter::default();
        prop_assert_eq!(listing(&one, &all), listing(&two, &all));
        let names: Vec<_> = one.tools().map(|view| view.exposed()).collect();
        prop_assert!(names.is_sorted(), "{:?}", names);
        prop_assert!(serde_json::from_str::<Value>(&listing(&one, &all)).is_ok());
    }
}

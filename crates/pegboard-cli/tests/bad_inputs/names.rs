//! Names of tools.

use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_guard::admit;
use pegboard_model::{
    DiscoveryStatus, EXPOSED_NAME_MAX, ExposedName, Limits, Reason, ServerName, ServerRecord,
    Timestamp, ToolRef,
};
use pegboard_testkit::stdio_spec;
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::Home;
use crate::table::Row;

const NAMES: &str = "catalog/tests/catalog/names.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "E02",
        input: "names of 129 and 10,000 characters",
        required: "TOOL_REJECTED_NAME for that tool alone",
        run: &[long_names],
        tests: &[],
        pending: None,
    },
    Row {
        id: "E03",
        input: "names with spaces, slashes, quotes, emoji and control characters",
        required: "they get a safe alias that stays the same, and the server gets its own name",
        run: &[odd_names],
        tests: &[(
            "hub/tests/calling.rs",
            "r_reg_06_a_call_reaches_its_server_under_the_original_name",
        )],
        pending: None,
    },
    Row {
        id: "E04",
        input: "names that hold the separator",
        required: "the first separator ends the server's name, and the name leads back to its tool",
        run: &[separators],
        tests: &[(
            "model/src/names.rs",
            "r_reg_02_one_parser_splits_at_the_first_separator",
        )],
        pending: None,
    },
    Row {
        id: "E05",
        input: "names that are too long together with their server's",
        required: "they are shortened in the same way each time, and lead back to their tool",
        run: &[long_together],
        tests: &[],
        pending: None,
    },
    Row {
        id: "E06",
        input: "two tools of one server with the same name",
        required: "TOOL_DUPLICATE for the second, whatever the order of a list is",
        run: &[the_same_name_twice],
        tests: &[],
        pending: None,
    },
    Row {
        id: "E07",
        input: "names that differ only in case, form or look",
        required: "TOOL_NAME_CONFUSABLE and quarantine",
        run: &[],
        tests: &[(
            "catalog/tests/catalog/listing.rs",
            "r_sec_01_look_alike_names_of_one_server_carry_a_note",
        )],
        pending: Some("look-alikes of other servers are held; those of one server carry a note"),
    },
    Row {
        id: "E08",
        input: "a tool that is called like a meta tool or a static tool",
        required: "the meta tool and the static tool win",
        run: &[],
        tests: &[
            (
                NAMES,
                "r_sec_05_names_of_meta_tools_never_mean_a_servers_tool",
            ),
            (
                "catalog/tests/catalog/registry.rs",
                "r_reg_03_a_static_tool_wins_and_the_catalog_says_so",
            ),
            (
                "gateway/tests/core/meta_tools.rs",
                "r_sec_05_a_servers_tool_never_answers_in_place_of_a_meta_tool",
            ),
        ],
        pending: None,
    },
    Row {
        id: "E09",
        input: "server `a` with tool `b__c`, and server `a__b` with tool `c`",
        required: "the second server's name is illegal, and no two tools share a name",
        run: &[ambiguous_servers],
        tests: &[(
            NAMES,
            "r_reg_02_no_two_tools_of_any_servers_share_an_exposed_name",
        )],
        pending: None,
    },
    Row {
        id: "E10",
        input: "a tool that copies name and description of another server's trusted tool",
        required: "SHADOW_SUSPECTED and quarantine",
        run: &[],
        tests: &[
            (
                "guard/tests/scan.rs",
                "r_scan_01_e10_a_clone_of_another_servers_tool_is_flagged_and_a_second_instance_is_not",
            ),
            (
                "hub/tests/review.rs",
                "r_scan_01_a_clone_and_a_look_alike_of_another_servers_tool_are_held",
            ),
        ],
        pending: None,
    },
    Row {
        id: "E14",
        input: "a tool called `delete_…` that says it only reads",
        required: "the hint never loosens a policy; ANNOTATION_SUSPECT",
        run: &[],
        tests: &[
            (
                "guard/tests/policy.rs",
                "r_pol_01_annotations_rank_between_patterns_and_servers",
            ),
            (
                "hub/tests/dispatch.rs",
                "r_sec_08_a_granted_tool_that_drops_its_destructive_hint_asks_again",
            ),
        ],
        pending: Some("suspicious annotations are not reported yet"),
    },
];

fn server() -> ServerName {
    ServerName::parse("files").unwrap()
}

/// Returns the admitted names, and the reasons of the rejected ones.
fn admitted(names: &[&str]) -> (Vec<String>, Vec<Reason>) {
    let definition = |name: &&str| {
        let definition = json!({"name": name, "inputSchema": {"type": "object"}});
        RawValue::from_string(definition.to_string()).unwrap()
    };
    let list: Vec<_> = names.iter().map(definition).collect();
    let admission = admit(&server(), false, &list, &Limits::default());
    (
        admission
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect(),
        admission.rejections.iter().map(|one| one.reason).collect(),
    )
}

/// Creates a catalog with the server and these tools.
fn catalog(names: &[&str]) -> Catalog {
    let definition = |name: &&str| {
        let definition = json!({"name": name, "inputSchema": {"type": "object"}});
        RawValue::from_string(definition.to_string()).unwrap()
    };
    let list: Vec<_> = names.iter().map(definition).collect();
    let spec = stdio_spec("files", "true", ["x"]);
    let record = ServerRecord {
        status: DiscoveryStatus::Success,
        discovered_at: Some(Timestamp(1)),
        tools: admit(&spec.name, false, &list, &Limits::default())
            .tools
            .into(),
        ..ServerRecord::undiscovered(spec.name.clone(), spec.hash)
    };
    let entry = ServerEntry::new(spec.into(), record.into());
    Catalog::from_iter([entry])
}

fn long_names() {
    let (long, longer) = ("x".repeat(129), "x".repeat(10_000));
    let (names, reasons) = admitted(&["good", &long, &longer]);
    assert_eq!(names, ["good"]);
    assert_eq!(reasons, [Reason::ToolRejectedName; 2]);
}

fn odd_names() {
    let odd = ["a b", "fs/read", "say \"hi\"", "🙂", "bell\u{7}", "tab\t"];
    let catalog = catalog(&odd);
    assert_eq!(catalog.tools().count(), odd.len());
    for name in odd {
        let exposed = ExposedName::of(&server(), name);
        assert_eq!(exposed, ExposedName::of(&server(), name), "stable");
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        assert!(exposed.as_str().bytes().all(is_safe), "{exposed}");
        let found = catalog.find(exposed.as_str()).unwrap();
        assert_eq!(found.name(), name, "the name on the wire");
    }
}

fn separators() {
    let names = ["a__b", "__start", "end__", "a___b"];
    let catalog = catalog(&names);
    for name in names {
        let exposed = ExposedName::of(&server(), name);
        match ToolRef::parse(exposed.as_str()) {
            Some(ToolRef::Qualified { server: found, .. }) => assert_eq!(found, server()),
            other => panic!("{other:?}"),
        }
        assert_eq!(catalog.find(exposed.as_str()).unwrap().name(), name);
    }
}

fn long_together() {
    let one = format!("{}_one", "x".repeat(120));
    let other = format!("{}_two", "x".repeat(120));
    let catalog = catalog(&[&one, &other]);
    let exposed: Vec<String> = catalog
        .tools()
        .map(|tool| tool.exposed().to_string())
        .collect();
    assert_eq!(exposed.len(), 2, "they stay two");
    for name in &exposed {
        assert!(name.len() <= EXPOSED_NAME_MAX, "{name}");
    }
    for name in [&one, &other] {
        let exposed = ExposedName::of(&server(), name);
        assert_eq!(catalog.find(exposed.as_str()).unwrap().name(), name);
    }
}

fn the_same_name_twice() {
    let (names, reasons) = admitted(&["twice", "other", "twice"]);
    assert_eq!(names, ["other", "twice"]);
    assert_eq!(reasons, [Reason::ToolDuplicate]);
}

fn ambiguous_servers() {
    assert!(ServerName::parse("a__b").is_err());
    let home = Home::new();
    home.add("a", "true", &[], "");
    let config = format!("{}[servers.\"a__b\"]\ncommand = \"true\"\n", home.config());
    home.write("config/config.toml", &config);
    let listed = home.run(&["list", "--json"]).ok().json();
    let names: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert!(!names.contains(&json!("a__b")), "{names:?}");
}

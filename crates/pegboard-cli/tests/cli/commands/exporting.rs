//! `pegboard export`: every format, some servers, and what is lost.

use pegboard_formats::Format;
use pegboard_testkit::provider_rules::check_tools;
use serde_json::Value;

use crate::support::{EXAMPLE_TOOLS, Home};

#[test]
fn r_reg_07_every_format_is_written_as_its_provider_accepts_it() {
    let home = Home::with_example();
    for format in Format::all() {
        let run = home.run(&["export", "--format", format.name()]).ok();
        let document: Value = serde_json::from_str(&run.stdout).expect("one JSON document");
        let broken = check_tools(&document, format);
        assert!(broken.is_empty(), "{format}: {broken:?}");
        let json = home
            .run(&["export", "--json", "--format", format.name()])
            .ok()
            .json();
        assert_eq!(json["tools"], document, "{format}");
        assert_eq!(json["format"], format.name());
    }
}

#[test]
fn r_reg_07_only_the_named_servers_are_written() {
    let home = Home::with_example();
    home.add_example("other");
    let run = |servers: &[&str]| {
        let flags = ["export", "--format", "anthropic"];
        let run = home.run(&[&flags, servers].concat()).ok();
        let tools: Vec<Value> = serde_json::from_str(&run.stdout).expect("a list");
        tools
    };
    assert_eq!(run(&[]).len(), 2 * EXAMPLE_TOOLS);
    let some = run(&["other"]);
    assert_eq!(some.len(), EXAMPLE_TOOLS);
    let names = some.iter().filter_map(|tool| tool["name"].as_str());
    assert!(
        names.clone().all(|name| name.starts_with("other__")),
        "{some:?}"
    );
    home.run(&["export", "--format", "anthropic", "missing"])
        .exits(7);
    let wrong = home.run(&["export", "--format", "xml"]).exits(2);
    assert!(wrong.stderr.contains("xml"), "{}", wrong.stderr);
}

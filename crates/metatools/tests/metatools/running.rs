//! Parsing and running calls of the meta tools.

use std::time::Instant;

use pegboard_catalog::{Catalog, LexicalSearch, StaticTool};
use pegboard_metatools::{MetaCall, ResultStore};
use pegboard_model::{Limits, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::small;

/// Runs a call: the text of a lookup, or the name of the tool to call.
fn run(catalog: &Catalog, name: &str, arguments: Value) -> ToolResult<String> {
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    match MetaCall::parse(name, Some(&arguments), catalog)? {
        MetaCall::Lookup(lookup) => {
            let results = ResultStore::new(&Limits::default());
            lookup.run(catalog, &LexicalSearch, &results, Instant::now())
        }
        MetaCall::Tool(args) => Ok(format!("call {}", args.tool_name)),
    }
}

#[test]
fn lookups_run_directly_and_through_call_tool() {
    let catalog = small();
    for (name, arguments, expected) in [
        (
            "search_tools",
            json!({"query": "create issue", "limit": 1}),
            "github__create_issue",
        ),
        ("list_available_tools", json!({}), "4 tools"),
        (
            "get_tool_description",
            json!({"tool_name": "mail/send"}),
            "mail__send",
        ),
    ] {
        let direct = run(&catalog, name, arguments.clone()).unwrap();
        assert!(direct.contains(expected), "{direct}");
        let through = json!({"tool_name": name, "arguments": arguments});
        assert_eq!(
            run(&catalog, "call_readonly_tool", through).unwrap(),
            direct
        );
    }
    let error = run(&catalog, "read_result", json!({"id": "gone"})).unwrap_err();
    assert_eq!(error.reason.code(), "RESULT_GONE");
}

#[test]
fn other_names_are_left_to_the_caller() {
    let tool = StaticTool::new("search_tools", "Mine.", json!({"type": "object"})).unwrap();
    let catalog = small().with_static(tool).unwrap();
    for name in ["mail__send", "call_tool", "search_tools"] {
        let call = run(&catalog, "call_tool", json!({"tool_name": name}));
        assert_eq!(call.unwrap(), format!("call {name}"));
    }
}

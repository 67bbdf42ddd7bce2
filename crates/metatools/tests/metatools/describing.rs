use insta::assert_snapshot;
use pegboard_catalog::Catalog;
use pegboard_metatools::{describe_json, describe_text};
use pegboard_model::{Policy, ToolExample, ToolOverride};
use serde_json::{Value, json};

use super::{small, tokens};
use crate::fixture::{configured, spec};

#[track_caller]
fn described(tool: Value) -> String {
    let catalog = Catalog::default()
        .with_server(configured(spec("s"), &[tool]))
        .0;
    let view = catalog.tools().next().unwrap();
    describe_text(&view, true)
}

#[test]
fn r_ctx_03_a_description_lists_what_a_call_needs() {
    let catalog = small();
    assert_snapshot!(describe_text(&catalog.find("create_issue").unwrap(), true), @r#"
    github__create_issue
    Open a new issue in a repository. Returns its number.
    Parameters:
    - owner: string. Who has the repository.
    - labels?: string[]
    - title: string
    - state?: "open"|"closed" = "open"
    Example: {"owner":"octocat","title":"Example title"}
    Related: github__close_issue
    "#);
    let bare = describe_text(&catalog.find("create_issue").unwrap(), false);
    assert!(!bare.contains("Example:"), "{bare}");
    assert_snapshot!(describe_text(&catalog.find("search_code").unwrap(), true), @r"
    github__search_code
    Search for code.
    Hints: read-only
    No parameters.
    ");
}

#[test]
fn r_reg_09_overrides_policy_and_deprecation_are_shown() {
    let mut spec = spec("s");
    spec.policies.insert("old".to_owned(), Policy::Ask);
    spec.tools.insert(
        "old".to_owned(),
        ToolOverride {
            description: Some("The user's own words.".to_owned()),
            deprecated: Some("use s__new".to_owned()),
            related: Some(vec!["s__new".to_owned()]),
            examples: vec![ToolExample {
                description: Some("the usual".to_owned()),
                arguments: json!({"a": 1}),
                expected_output: Some(json!("done")),
            }],
            ..ToolOverride::default()
        },
    );
    let catalog = Catalog::default()
        .with_server(configured(spec, &[json!({"name": "old"})]))
        .0;
    assert_snapshot!(describe_text(&catalog.find("old").unwrap(), true), @r#"
    s__old
    The user's own words.
    Deprecated: use s__new
    Policy: the user is asked before each call.
    No parameters.
    Example: {"a":1} (the usual) gives done
    Related: s__new
    "#);
}

#[test]
fn r_ctx_03_nested_objects_and_references_are_shown_in_one_line() {
    let tool = json!({"name": "t", "description": "Do it.", "inputSchema": {"type": "object", "required": ["filter"],
        "$defs": {"range": {"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}, "required": ["from"]}},
        "properties": {
            "filter": {"type": "object", "properties": {"range": {"$ref": "#/$defs/range"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
            "mode": {"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}], "default": null},
            "kind": {"oneOf": [{"const": 1}, {"const": 2}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}]},
            "free": {"type": "object"}}}});
    assert_snapshot!(described(tool), @r#"
    s__t
    Do it.
    Parameters:
    - filter: {range?: {from: string, to?: string}, tags?: ("a"|"b")[]}
    - rows?: {id?: integer}[]
    - mode?: "x"|"y"
    - kind?: 1|2
    - either?: string|object
    - free?: object
    Example: {"filter":{}}
    "#);
}

#[test]
fn r_ctx_03_long_descriptions_are_shortened_at_a_sentence_and_name_the_rest() {
    let sentences: String = (0..200)
        .map(|number| format!("This is sentence number {number} of many. "))
        .collect();
    let text = described(json!({"name": "long", "description": sentences}));
    let (kept, mark) = text.split_once('…').unwrap();
    assert!(kept.ends_with(" of many."), "{kept}");
    let shown = kept.strip_prefix("s__long\n").unwrap();
    let left = sentences.trim().chars().count() - shown.chars().count();
    assert!(
        mark.starts_with(&format!(
            " ({left} more characters: search_tools(query=\"s__long\", detail=\"full\"))"
        )),
        "{mark}"
    );
    assert!(
        tokens(&text) < 400 && tokens(&text) > 250,
        "{}",
        tokens(&text)
    );
}

#[test]
fn r_ctx_03_many_parameters_are_shortened_and_required_ones_come_first() {
    let properties: serde_json::Map<String, Value> = (0..120)
        .map(|number| (format!("option_{number}"), json!({"type": "string", "description": "What this option does, in one or two long sentences."})))
        .collect();
    let text = described(
        json!({"name": "wide", "description": "Wide.", "inputSchema": {"type": "object", "required": ["option_119"], "properties": properties}}),
    );
    assert!(tokens(&text) < 400, "{}", tokens(&text));
    assert!(text.contains("Parameters:\n- option_119: string"), "{text}");
    assert!(
        text.contains(" more\n")
            && text
                .ends_with("Shortened; in full: search_tools(query=\"s__wide\", detail=\"full\")"),
        "{text}"
    );
}

#[test]
fn r_ctx_03_untrusted_text_cannot_hide_and_line_breaks_are_normalized() {
    let text = described(
        json!({"name": "t", "description": "One.\r\n\r\n\r\n        Two\u{202e}\u{200b}."}),
    );
    assert_eq!(text, "s__t\nOne.\n  Two\\u{202e}\\u{200b}.\nNo parameters.");
}

/// A tool with a large optional object next to required parameters, like the chart tools of spreadsheets.
fn chart() -> Value {
    let setting = json!({"enum": ["automatic", "always visible", "never visible", "inherited", "left", "right"]});
    let options: serde_json::Map<_, _> = (0..12)
        .map(|number| (format!("chart_option_number_{number}"), setting.clone()))
        .collect();
    json!({"name": "create_chart", "description": "Draw a chart from a range of cells.", "inputSchema": {
    "type": "object",
    "required": ["path", "chart_type"],
    "$defs": {"ChartOptions": {"type": "object", "properties": options}},
    "properties": {
        "options": {"$ref": "#/$defs/ChartOptions"},
        "path": {"type": "string", "description": "The workbook, relative to the folder of workbooks."},
        "chart_type": {"enum": ["column", "bar", "line", "pie"], "description": "Pie takes one series only."},
        "series": {"type": "array", "items": {"$ref": "#/$defs/ChartOptions"}, "description": "In place of a range."},
    }}})
}

#[test]
fn r_ctx_03_a_large_optional_object_leaves_the_texts_of_required_parameters() {
    let text = described(chart());
    assert!(tokens(&text) < 400, "{}: {text}", tokens(&text));
    for part in [
        "path: string. The workbook, relative to the folder of workbooks.",
        "Pie takes one series only.",
        "In place of a range.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn r_ctx_03_a_hundred_optional_texts_leave_those_of_required_parameters() {
    let mut tool = chart();
    let properties = tool["inputSchema"]["properties"].as_object_mut().unwrap();
    for number in 0..100 {
        let text = "What this option does, in a sentence or two that few readers need to see.";
        properties.insert(
            format!("option_{number}"),
            json!({"type": "string", "description": text}),
        );
    }
    let text = described(tool);
    assert!(tokens(&text) < 400, "{}: {text}", tokens(&text));
    assert!(text.contains("Pie takes one series only."), "{text}");
}

fn as_json(tool: Value) -> (Value, usize) {
    let entry = configured(spec("s"), &[tool]);
    let catalog = Catalog::default().with_server(entry).0;
    let text = describe_json(&catalog.tools().next().unwrap(), true);
    (serde_json::from_str(&text).unwrap(), tokens(&text))
}

#[test]
fn r_ctx_03_a_description_as_json_has_the_same_parts() {
    let catalog = small();
    let text = describe_json(&catalog.find("create_issue").unwrap(), true);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        document,
        json!({
            "name": "github__create_issue",
            "description": "Open a new issue in a repository. Returns its number.",
            "parameters": [
                {"name": "owner", "type": "string", "description": "Who has the repository.", "required": true},
                {"name": "labels", "type": "string[]", "required": false},
                {"name": "title", "type": "string", "required": true},
                {"name": "state", "type": "string", "required": false, "default": "open", "enum": ["open", "closed"]},
            ],
            "examples": [{"arguments": {"owner": "octocat", "title": "Example title"}}],
            "related": ["github__close_issue"],
            "read_only": false,
            "destructive": false,
            "enabled": true,
            "stale": false,
        })
    );
    let bare = describe_json(&catalog.find("create_issue").unwrap(), false);
    assert!(!bare.contains("octocat"), "{bare}");
}

#[test]
fn r_ctx_03_a_large_description_as_json_names_omitted_parts() {
    let (document, tokens) = as_json(chart());
    assert!(tokens < 400, "{tokens}");
    assert_eq!(document.get("shortened"), None, "{document}");
    let long = "A sentence of many words. ".repeat(400);
    let (document, tokens) = as_json(json!({"name": "long", "description": long}));
    assert!(tokens < 400, "{tokens}: {document}");
    let rest = "search_tools(query=\"s__long\", detail=\"full\")";
    assert_eq!(document["shortened"], rest, "{document}");
    let hidden = json!({"name": "t", "description": "Adds.\u{202e}\u{e0041}"});
    let (document, _) = as_json(hidden);
    assert_eq!(document["description"], "Adds.\\u{202e}\\u{e0041}");
}

//! The rules of admission.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

use pegboard_guard::{SUMMARY_MAX, admit, admit_with_known};
use pegboard_model::{ExposedName, Limits, Reason, ServerName};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn server() -> ServerName {
    ServerName::parse("files").unwrap()
}

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

/// The names of the admitted tools of a list, and the rejected ones with their reasons.
fn admitted_and_rejected(list: &[&str], over_http: bool) -> (Vec<String>, Vec<(String, Reason)>) {
    let list: Vec<_> = list.iter().map(|text| raw(*text)).collect();
    let admission = admit(&server(), over_http, &list, &Limits::default());
    let names = admission.tools.into_iter().map(|tool| tool.name).collect();
    (
        names,
        admission
            .rejections
            .into_iter()
            .map(|r| (r.tool, r.reason))
            .collect(),
    )
}

/// Checks one definition next to a valid tool, which must always be admitted.
#[track_caller]
fn check(definition: &str, expected: Result<(), Reason>) {
    let good = r#"{"name":"zz_good","inputSchema":{"type":"object"}}"#;
    let (names, rejections) = admitted_and_rejected(&[definition, good], false);
    let shown: String = definition.chars().take(200).collect();
    assert!(names.contains(&"zz_good".to_owned()), "{shown}");
    let got = rejections
        .first()
        .map_or(Ok(()), |(_, reason)| Err(*reason));
    assert_eq!(got, expected, "{shown}");
    assert_eq!(names.len(), if expected.is_ok() { 2 } else { 1 }, "{shown}");
}

fn with_schema(schema: &str) -> String {
    format!(r#"{{"name":"a","inputSchema":{schema}}}"#)
}

fn nested(levels: usize) -> String {
    format!(
        r#"{}{{}}{}"#,
        r#"{"not":"#.repeat(levels - 1),
        "}".repeat(levels - 1)
    )
}

#[test]
fn r_sec_01_names_are_checked() {
    for bad in [
        r#"{"description":"x"}"#,
        r#"{"name":null}"#,
        r#"{"name":7}"#,
        r#"{"name":""}"#,
        r#"{"name":"\ud800"}"#,
    ] {
        check(bad, Err(Reason::ToolRejectedName));
    }
    check(
        &format!(r#"{{"name":"{}"}}"#, "x".repeat(129)),
        Err(Reason::ToolRejectedName),
    );
    check(&format!(r#"{{"name":"{}"}}"#, "語".repeat(128)), Ok(()));
    for odd in [
        "a b",
        "fs/read",
        "fs.read",
        "🙂",
        "a\\u0000b",
        "__x",
        "\\\"",
    ] {
        check(&format!(r#"{{"name":"{odd}"}}"#), Ok(()));
    }
}

#[test]
fn r_sec_01_fields_of_the_wrong_type_reject_only_their_tool() {
    for bad in [
        "[]",
        "7",
        "null",
        r#""text""#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a","x":1,"\u0078":2}"#,
        r#"{"name":"a","annotations":{"readOnlyHint":true,"readOnlyHint":false}}"#,
        r#"{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"x":{"type":"string"}}}}"#,
        r#"{"name":"a","description":7}"#,
        r#"{"name":"a","title":["x"]}"#,
        r#"{"name":"a","annotations":"x"}"#,
        r#"{"name":"a","annotations":{"readOnlyHint":"yes"}}"#,
        r#"{"name":"a","icons":{}}"#,
        r#"{"name":"a","_meta":[]}"#,
        r#"{"name":"a","extra":"\ud800"}"#,
    ] {
        check(bad, Err(Reason::ToolMalformed));
    }
    for good in [
        r#"{"name":"a","title":null,"description":null,"annotations":null,"icons":null,"_meta":null}"#,
        r#"{"name":"a","annotations":{"readOnlyHint":null,"x":7},"icons":[],"unknown":[1,{"deep":[]}]}"#,
    ] {
        check(good, Ok(()));
    }
}

#[test]
fn r_store_03_schemas_are_checked() {
    for good in [
        "null",
        "{}",
        r#"{"type":"object"}"#,
        r#"{"type":["object","null"]}"#,
        r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}"#,
        r#"{"type":"object","properties":{"__proto__":{},"":{},"constructor":{}}}"#,
        r##"{"type":"object","properties":{"child":{"$ref":"#"}}}"##,
    ] {
        check(&with_schema(good), Ok(()));
    }
    for bad in [
        "true",
        "[]",
        r#""object""#,
        "7",
        r#"{"type":"string"}"#,
        r#"{"type":["string"]}"#,
        r#"{"type":7}"#,
    ] {
        check(&with_schema(bad), Err(Reason::SchemaInvalid));
    }
    check(r#"{"name":"a"}"#, Ok(()));
    check(r#"{"name":"a","outputSchema":{"type":"array"}}"#, Ok(()));
    check(
        r#"{"name":"a","outputSchema":true}"#,
        Err(Reason::SchemaInvalid),
    );
    check(
        &with_schema(r#"{"$ref":"https://example.com/x"}"#),
        Err(Reason::SchemaExternalRef),
    );
    check(
        &with_schema(r##"{"$ref":"#/$defs/none"}"##),
        Err(Reason::SchemaInvalid),
    );
    check(
        &with_schema(&format!(r##"{{"$ref":"#/{}"}}"##, "a/".repeat(50_000))),
        Err(Reason::SchemaInvalid),
    );
}

#[test]
fn r_sec_01_depth_is_limited_without_a_deep_stack() {
    check(&with_schema(&nested(32)), Ok(()));
    check(&with_schema(&nested(33)), Err(Reason::SchemaTooDeep));
    check(&with_schema(&nested(100)), Err(Reason::SchemaTooDeep));
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    check(
        &format!(r#"{{"name":"a","input\u0053chema":{}}}"#, nested(33)),
        Err(Reason::SchemaTooDeep),
    );
    check(
        &format!(r#"{{"name":"a","_meta":{{"x":{}}}}}"#, deep(120)),
        Ok(()),
    );
    check(
        &format!(r#"{{"name":"a","_meta":{{"x":{}}}}}"#, deep(127)),
        Err(Reason::ToolMalformed),
    );
    let limits = Limits {
        tool_bytes: usize::MAX,
        schema_bytes: usize::MAX,
        ..Limits::default()
    };
    for field in ["inputSchema", "outputSchema", "_meta", "name", "x"] {
        let definition = raw(format!(r#"{{"name":"a","{field}":{}}}"#, deep(100_000)));
        let admission = admit(&server(), false, &[definition], &limits);
        assert_eq!(admission.rejections.len(), 1, "{field}");
    }
}

#[test]
fn r_sec_01_sizes_are_limited() {
    let long = "x".repeat(300 * 1024);
    check(
        &format!(r#"{{"name":"a","description":"{long}"}}"#),
        Err(Reason::ToolTooLarge),
    );
    let description = "x".repeat(140 * 1024);
    check(
        &with_schema(&format!(r#"{{"description":"{description}"}}"#)),
        Err(Reason::SchemaTooLarge),
    );
    let values = vec!["1"; 10_001].join(",");
    check(
        &with_schema(&format!(r#"{{"enum":[{values}]}}"#)),
        Err(Reason::SchemaTooLarge),
    );
    check(
        &format!(r#"{{"name":"a","description":"{}"}}"#, "x".repeat(100_000)),
        Ok(()),
    );
}

#[test]
fn r_sec_01_of_duplicate_names_the_first_is_admitted() {
    let (names, rejections) = admitted_and_rejected(
        &[
            r#"{"name":"a","description":"one"}"#,
            r#"{"name":"a","description":"two"}"#,
            r#"{"name":"b"}"#,
        ],
        false,
    );
    assert_eq!(names, ["a", "b"]);
    assert_eq!(rejections, [("a".to_owned(), Reason::ToolDuplicate)]);
    let alias = ExposedName::of(&server(), "fs.read");
    let coincidence = alias.as_str().trim_start_matches("files__");
    let (names, rejections) = admitted_and_rejected(
        &[
            r#"{"name":"fs.read"}"#,
            &format!(r#"{{"name":"{coincidence}"}}"#),
        ],
        false,
    );
    assert_eq!(names, ["fs.read"]);
    assert_eq!(rejections[0].1, Reason::ToolDuplicate);
}

#[test]
fn r_sec_01_header_rules_hold_over_http_only() {
    let tool =
        with_schema(r#"{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#);
    assert_eq!(admitted_and_rejected(&[&tool], false).0, ["a"]);
    assert_eq!(
        admitted_and_rejected(&[&tool], true).1,
        [("a".to_owned(), Reason::SchemaHeader)]
    );
}

#[test]
fn rejections_name_the_tool_or_its_position_without_control_characters() {
    let (_, rejections) = admitted_and_rejected(&["7", r#"{"name":"\u001b[2J","title":7}"#], false);
    assert_eq!(rejections[0].0, "#1");
    assert_eq!(rejections[1].0, "\\u{1b}[2J");
}

#[test]
fn r_reg_09_a_definition_is_stored_byte_for_byte_with_its_annotations() {
    let definition = "{ \"zeta\": 1.50, \"name\":\"read\",\n\"description\":\"[DEPRECATED] Use `open`. Really.\", \"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false}}";
    let admission = admit(&server(), false, &[raw(definition)], &Limits::default());
    let tool = &admission.tools[0];
    assert_eq!(&*tool.definition, definition);
    assert_eq!(tool.exposed.as_str(), "files__read");
    assert_eq!(tool.summary, "[DEPRECATED] Use `open`.");
    assert!(tool.deprecated);
    assert_eq!(
        (tool.annotations.read_only, tool.annotations.destructive),
        (Some(true), Some(false))
    );
    assert_eq!(tool.annotations.open_world, None);
    assert!(tool.tokens > 20);
}

#[test]
fn r_reg_09_a_server_can_mark_a_tool_as_deprecated() {
    for (fields, expected) in [
        (r#""_meta":{"deprecated":true}"#, true),
        (r#""annotations":{"deprecated":true}"#, true),
        (r#""description":"Deprecated: use b""#, true),
        (r#""description":"⚠️ **deprecated**""#, true),
        (r#""description":"Deprecatedness report""#, false),
        (r#""description":"Lists deprecated APIs""#, false),
        (r#""_meta":{"deprecated":"no"}"#, false),
    ] {
        let list = [raw(format!(r#"{{"name":"a",{fields}}}"#))];
        assert_eq!(
            admit(&server(), false, &list, &Limits::default()).tools[0].deprecated,
            expected,
            "{fields}"
        );
    }
}

#[test]
fn r_disc_09_a_tool_without_a_description_has_a_summary() {
    for (fields, expected) in [
        ("", "files tool: a"),
        (r#","description":"  ""#, "files tool: a"),
        (r#","title":"Read a file""#, "Read a file"),
        (r#","annotations":{"title":"Read it"}"#, "Read it"),
    ] {
        let list = [raw(format!(r#"{{"name":"a"{fields}}}"#))];
        assert_eq!(
            admit(&server(), false, &list, &Limits::default()).tools[0].summary,
            expected
        );
    }
}

#[test]
fn r_reg_04_tools_are_sorted_by_name() {
    let (one, _) = admitted_and_rejected(
        &[r#"{"name":"b"}"#, r#"{"name":"a"}"#, r#"{"name":"C"}"#],
        false,
    );
    let (two, _) = admitted_and_rejected(
        &[r#"{"name":"C"}"#, r#"{"name":"b"}"#, r#"{"name":"a"}"#],
        false,
    );
    assert_eq!(one, ["C", "a", "b"]);
    assert_eq!(one, two);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(?s).{0,30}".prop_map(Value::from),
        Just(json!("object")),
        Just(json!("#/$defs/a")),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("$ref"),
        Just("$id"),
        Just("$defs"),
        Just("items"),
        Just("anyOf"),
        Just("enum"),
        Just("x-mcp-header"),
        Just("required"),
        Just("a"),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn r_sec_01_any_json_gets_a_result(value in any_json()) {
        let admission = admit(&server(), true, &[raw(value.to_string())], &Limits::default());
        prop_assert_eq!(admission.tools.len() + admission.rejections.len(), 1);
    }

    #[test]
    fn r_sec_01_a_tool_with_any_field_replaced_gets_a_result(
        field in prop_oneof![Just("name"), Just("title"), Just("description"), Just("inputSchema"),
            Just("outputSchema"), Just("annotations"), Just("icons"), Just("_meta")],
        value in any_json(),
    ) {
        let mut tool = json!({"name": "read", "description": "Read a file.", "inputSchema": {"type": "object",
            "properties": {"path": {"type": "string"}}, "$defs": {"a": {}}}, "annotations": {"readOnlyHint": true}});
        tool[field] = value;
        let text = tool.to_string();
        let admission = admit(&server(), true, &[raw(text.clone())], &Limits::default());
        prop_assert_eq!(admission.tools.len() + admission.rejections.len(), 1);
        for tool in admission.tools {
            prop_assert_eq!(&*tool.definition, text.as_str());
            prop_assert!(tool.summary.chars().count() <= SUMMARY_MAX);
            prop_assert!(!tool.summary.is_empty());
            let arguments = json!({"path": 7, "a": [1, {}]});
            let _result = pegboard_guard::check_arguments(&tool, &arguments);
        }
    }
}

#[test]
fn an_unchanged_definition_is_reused_and_any_other_is_checked() {
    let same = r#"{"name":"same","description":"Stays."}"#;
    let first = admit(&server(), false, &[raw(same)], &Limits::default());
    let mut known = first.tools;
    known[0].summary = "Known.".to_owned();
    let list = [
        raw(same),
        raw(r#"{"name":"new","description":"New."}"#),
        raw(r#"{"name":7}"#),
        raw(same),
    ];
    let again = admit_with_known(&server(), false, &list, &known, &Limits::default());
    let summaries: Vec<_> = again
        .tools
        .iter()
        .map(|tool| (&*tool.name, &*tool.summary))
        .collect();
    assert_eq!(summaries, [("new", "New."), ("same", "Known.")]);
    let reasons: Vec<_> = again.rejections.iter().map(|r| r.reason).collect();
    assert_eq!(reasons, [Reason::ToolRejectedName, Reason::ToolDuplicate]);
}

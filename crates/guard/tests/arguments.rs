//! Arguments are checked before the server is contacted.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

use pegboard_guard::{ARGUMENTS_BYTES_MAX, ArgumentValidator, admit, check_arguments, signature};
use pegboard_model::{Limits, Reason, ServerName, Tool};
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn tool(schema: &Value) -> Tool {
    let definition = json!({"name": "close_issue", "inputSchema": schema}).to_string();
    let list = [RawValue::from_string(definition).unwrap()];
    let server = ServerName::parse("github").unwrap();
    admit(&server, false, &list, &Limits::default())
        .tools
        .remove(0)
}

fn issue_tool() -> Tool {
    tool(&json!({
        "type": "object", "additionalProperties": false, "required": ["owner", "number"],
        "properties": {
            "owner": {"type": "string"},
            "number": {"type": "integer", "minimum": 1},
            "state": {"enum": ["open", "closed"]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "parent": {"anyOf": [{"$ref": "#/$defs/ref"}, {"type": "null"}]},
        },
        "$defs": {"ref": {"type": "object"}},
    }))
}

#[track_caller]
fn check(tool: &Tool, arguments: Value, field: Option<&str>) {
    let got = check_arguments(tool, &arguments);
    assert_eq!(
        got.as_ref().err().and_then(|e| e.field.as_deref()),
        field,
        "{arguments}: {got:?}"
    );
    if let Err(error) = got {
        assert_eq!(error.reason, Reason::ArgsInvalid);
        assert_eq!(error.tool.as_deref(), Some("github__close_issue"));
    }
}

#[test]
fn r_reg_05_wrong_arguments_name_the_field() {
    let tool = issue_tool();
    check(&tool, json!({"owner": "o", "number": 1}), None);
    check(
        &tool,
        json!({"owner": "o", "number": 1, "parent": null, "labels": ["a"]}),
        None,
    );
    check(&tool, json!({"owner": "o"}), Some("/number"));
    check(&tool, json!({"owner": 7, "number": 1}), Some("/owner"));
    check(&tool, json!({"owner": "o", "number": 0}), Some("/number"));
    check(
        &tool,
        json!({"owner": "o", "number": 1, "state": ["open"]}),
        Some("/state"),
    );
    check(
        &tool,
        json!({"owner": "o", "number": 1, "labels": ["a", 2]}),
        Some("/labels/1"),
    );
    check(
        &tool,
        json!({"owner": "o", "number": 1, "a/b": 1}),
        Some("/a~1b"),
    );
    for not_an_object in [json!(null), json!([1]), json!("x"), json!(7)] {
        check(&tool, not_an_object, Some(""));
    }
}

#[test]
fn several_errors_are_reported_together_with_the_signature() {
    let error = check_arguments(
        &issue_tool(),
        &json!({"owner": 7, "state": "secret-value", "x": 1}),
    )
    .unwrap_err();
    for part in [
        "`/owner` must be string, not integer",
        "`/number` is missing",
        "`/x` is unknown",
        "`/state` must be one of",
        "`close_issue(owner: string, number: integer, state?: string, labels?: string[], parent?: object)`",
    ] {
        assert!(error.message.contains(part), "{part} in {}", error.message);
    }
    assert!(
        !error.message.contains("secret-value"),
        "values are not repeated: {}",
        error.message
    );
    let many: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    let error = check_arguments(
        &tool(&json!({"type": "object", "required": many})),
        &json!({}),
    )
    .unwrap_err();
    assert_eq!(error.message.matches("is missing").count(), 5);
}

#[test]
fn both_drafts_are_validated_by_their_own_rules() {
    let tuple = |dialect: &str| {
        tool(&json!({"$schema": dialect, "type": "object",
            "properties": {"pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}}}))
    };
    let wrong = json!({"pair": [1, "x"]});
    check(
        &tuple("http://json-schema.org/draft-07/schema#"),
        wrong.clone(),
        Some("/pair/0"),
    );
    // In 2020-12 an array under `items` is not a schema, so nothing is checked.
    check(
        &tuple("https://json-schema.org/draft/2020-12/schema"),
        wrong,
        None,
    );
    let prefix = tool(
        &json!({"type": "object", "properties": {"pair": {"prefixItems": [{"type": "string"}]}}}),
    );
    check(&prefix, json!({"pair": [1]}), Some("/pair/0"));
    let unknown =
        tool(&json!({"$schema": "https://example.com/mine", "type": "object", "required": ["a"]}));
    check(&unknown, json!({}), Some("/a"));
}

#[test]
fn r_sec_01_an_unusable_schema_does_not_block_calls() {
    check(
        &tool(&json!({"type": "object", "properties": 7})),
        json!({"a": 1}),
        None,
    );
    check(
        &tool(&json!({"type": "object", "properties": {"a": {"pattern": "("}}})),
        json!({"a": "x"}),
        None,
    );
    check(
        &tool(&json!({"allOf": [{"$ref": "#"}]})),
        json!({"a": "x"}),
        None,
    );
}

#[test]
fn r_sec_01_external_references_are_never_followed() {
    for target in ["http://127.0.0.1:1/x", "file:///etc/hostname", "other.json"] {
        assert!(
            ArgumentValidator::new(&json!({"$ref": target}).to_string()).is_none(),
            "{target}"
        );
    }
}

#[test]
fn r_sec_01_hostile_schemas_are_processed_quickly() {
    let mut schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {"a20": {}}});
    for level in 0..20 {
        let next = json!({"$ref": format!("#/%24defs/a{}", level + 1)});
        schema["$defs"][format!("a{level}")] =
            json!({"allOf": [next, next], "anyOf": [next, next]});
    }
    check(&tool(&schema), json!({"x": 1}), None);
    let branches: Vec<Value> = (0..3_000).map(|n| json!({"const": n})).collect();
    check(
        &tool(&json!({"type": "object", "properties": {"x": {"anyOf": branches}}})),
        json!({"x": "y"}),
        Some("/x"),
    );
    let text = "a".repeat(50_000) + "!";
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(?=a)(a+)+$"] {
        let tool = tool(&json!({"type": "object", "properties": {"x": {"pattern": pattern}}}));
        let _result = check_arguments(&tool, &json!({"x": text}));
    }
}

#[test]
fn an_unsupported_pattern_disables_only_itself() {
    let tool = tool(
        &json!({"type": "object", "required": ["b"], "properties": {"a": {"type": "string", "pattern": "^(?!x)"}},
        "patternProperties": {"^(?=y)": {}}, "additionalProperties": false}),
    );
    check(&tool, json!({"a": "x", "b": 1, "yes": 1}), None);
    check(&tool, json!({"a": 7, "b": 1}), Some("/a"));
    check(&tool, json!({"a": "x"}), Some("/b"));
    assert!(ArgumentValidator::strict(tool.input_schema()).is_none());
}

#[test]
fn r_sec_01_g07_a_schema_full_of_patterns_is_cheap_and_the_rest_is_still_checked() {
    let costly = |number: usize| format!("\\pL{{20}}{number}");
    let mut properties: serde_json::Map<String, Value> = (0..1_500)
        .map(|number| (format!("p{number}"), json!({"pattern": costly(number)})))
        .collect();
    properties.insert("count".to_owned(), json!({"type": "integer"}));
    let schema = json!({"type": "object", "properties": properties});
    let begin = std::time::Instant::now();
    check(
        &tool(&schema),
        json!({"count": "x", "p1": "y"}),
        Some("/count"),
    );
    // Compiling all of them would take a minute and several gigabytes.
    assert!(begin.elapsed() < std::time::Duration::from_secs(15));
    assert!(
        ArgumentValidator::strict(&schema.to_string()).is_none(),
        "the pattern cannot be checked"
    );
}

#[test]
fn r_sec_01_g06_a_long_enum_is_checked_and_shown_truncated_with_its_count() {
    let choices: Vec<_> = (0..9_000).map(|number| number.to_string()).collect();
    let tool = tool(&json!({"properties": {"x": {"enum": choices}, "y": {"enum": ["a", "b"]}}}));
    check(&tool, json!({"x": "8999"}), None);
    let error = check_arguments(&tool, &json!({"x": "9000", "y": "c"})).unwrap_err();
    let (cut, whole) = ("… (9000 in all)", r#"must be one of ["a","b"]"#);
    assert!(
        error.message.contains(cut) && error.message.contains(whole),
        "{error}"
    );
    assert!(error.message.len() < 1_000, "{error}");
}

#[test]
fn r_sec_01_the_size_of_arguments_is_limited() {
    let tool = tool(&json!({"type": "object"}));
    check(
        &tool,
        json!({"x": "y".repeat(ARGUMENTS_BYTES_MAX)}),
        Some(""),
    );
    check(
        &tool,
        json!({"x": "y".repeat(ARGUMENTS_BYTES_MAX / 2)}),
        None,
    );
}

#[test]
fn signatures_show_every_argument_once() {
    assert_eq!(
        signature(&tool(&json!({"type": "object"}))),
        "close_issue()"
    );
    let cyclic = json!({"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}, "u": {"type": ["string", "null"]},
        "v": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}},
        "$defs": {"t": {"anyOf": [{"$ref": "#/$defs/t"}]}}});
    assert_eq!(
        signature(&tool(&cyclic)),
        "close_issue(t?: any, u?: string, v?: string|integer[])"
    );
}

#[track_caller]
fn check_message(schema: Value, arguments: Value, part: &str) {
    let error = check_arguments(&tool(&schema), &arguments).unwrap_err();
    assert!(error.message.contains(part), "{part} in {}", error.message);
    assert!(error.message.contains("Its signature is `close_issue("));
    assert!(error.message.len() < 4_000, "{}", error.message.len());
}

#[test]
fn r_reg_05_messages_let_the_caller_correct_the_call() {
    let strict = json!({"type": "object", "additionalProperties": false, "required": ["repo_name"],
        "properties": {"repo_name": {"type": "string"}, "limit": {"type": "integer"}}});
    check_message(
        strict.clone(),
        json!({"repoName": "x"}),
        "`/repoName` is unknown (did you mean `repo_name`?)",
    );
    check_message(
        strict.clone(),
        json!({"repo_name": "x", "zzz": 1}),
        "`/zzz` is unknown.",
    );
    check_message(
        strict,
        json!({"repo_name": "x", "limit": "5"}),
        "`/limit` must be integer, not string; pass the value itself, not a string that contains it",
    );
    let open = json!({"type": "object", "required": ["query"],
        "properties": {"query": {"type": "string"}, "tags": {"type": "array"}}});
    check_message(
        open.clone(),
        json!({"qurey": "x"}),
        "`/query` is missing; `qurey` is unknown",
    );
    check_message(open.clone(), json!({"tags": []}), "`/query` is missing.");
    check_message(
        open,
        json!({"query": "x", "tags": "[\"a\"]"}),
        "must be array, not string; pass the value itself",
    );
    let forms = json!({"type": "object", "properties":
        {"at": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 5}]}}});
    check_message(
        forms,
        json!({"at": true}),
        "`/at` matches none of the allowed types (integer|string)",
    );
}

#[test]
fn r_sec_01_hostile_names_do_not_make_a_message_long_or_deceptive() {
    let long = "x".repeat(50_000);
    let properties: serde_json::Map<String, Value> = (0..100)
        .map(|n| (format!("{long}{n}\u{202e}"), json!({"type": "string"})))
        .collect();
    let schema = json!({"type": "object", "additionalProperties": false,
        "required": [format!("{long}0\u{202e}")], "properties": properties});
    let error = check_arguments(
        &{
            let mut small = issue_tool();
            small.definition = json!({"name": "a", "inputSchema": schema})
                .to_string()
                .into();
            small
        },
        &json!({format!("{long}q"): 1}),
    )
    .unwrap_err();
    assert!(error.message.len() < 4_000, "{}", error.message.len());
    assert!(!error.message.contains('\u{202e}'));
    assert!(error.into_details().field.unwrap().len() < 1_000);
}

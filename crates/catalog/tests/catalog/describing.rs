use pegboard_catalog::{Catalog, StaticTool, describe, generate_example};
use pegboard_guard::ArgumentValidator;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{catalog, configured, spec};

#[test]
fn r_reg_09_a_description_contains_everything() {
    let tools = [
        json!({"name": "create_issue", "title": "New issue", "description": "Open an issue. At once.",
            "inputSchema": {"type": "object", "required": ["owner"], "properties": {
                "owner": {"type": "string", "description": "Who."}, "state": {"enum": ["open"], "default": "open"}}}}),
        json!({"name": "list_issues"}),
        json!({"name": "close_issue"}),
        json!({"name": "list_users"}),
    ];
    let catalog = Catalog::default()
        .with_server(configured(spec("github"), &tools))
        .0;
    let described = describe(&catalog.find("create_issue").unwrap());
    let mut json = serde_json::to_value(&described).unwrap();
    assert_eq!(json["definition"].take(), tools[0]);
    assert!(json["tokens"].take().as_u64().unwrap() > 30);
    let expected = json!({
        "name": "github__create_issue", "server": "github", "tool": "create_issue", "title": "New issue",
        "description": "Open an issue. At once.", "summary": "Open an issue.", "category": "github", "enabled": true,
        "parameters": [
            {"name": "owner", "type": "string", "description": "Who.", "required": true},
            {"name": "state", "type": "string", "required": false, "default": "open", "enum": ["open"]},
        ],
        "examples": [{"arguments": {"owner": "octocat"}}],
        "related": ["github__close_issue", "github__list_issues"],
        "signature": "create_issue(owner: string, state?: string)",
        "annotations": {"read_only": null, "destructive": null, "idempotent": null, "open_world": null},
        "policy": "allow", "status": "success", "stale": false, "tokens": null, "definition": null,
    });
    assert_eq!(json, expected);
}

#[test]
fn static_tools_and_tools_without_a_schema_are_described() {
    let bare = catalog(&["a: x"]);
    let described = describe(&bare.find("x").unwrap());
    assert_eq!(
        (
            described.signature.as_str(),
            described.examples[0].arguments.clone()
        ),
        ("x()", json!({}))
    );
    let tool = StaticTool::new(
        "echo",
        "Say it.",
        json!({"properties": {"text": {"type": "string"}}}),
    )
    .unwrap();
    let catalog = Catalog::default().with_static(tool).unwrap();
    let described = describe(&catalog.find("echo").unwrap());
    assert_eq!(
        (
            described.server,
            described.category.as_str(),
            described.parameters.len()
        ),
        (None, "static", 1)
    );
    assert_eq!(described.signature, "echo(text?: string)");
}

#[track_caller]
fn check(schema: Value, expected: Option<Value>) {
    let made = generate_example(&schema.to_string());
    assert_eq!(made, expected, "{schema}");
    if let Some(arguments) = made {
        let check = ArgumentValidator::strict(&schema.to_string()).unwrap();
        assert_eq!(check.errors(&arguments), Some(Vec::new()));
    }
}

fn one(schema: Value) -> Value {
    json!({"type": "object", "required": ["v"], "properties": {"v": schema}})
}

#[test]
fn r_reg_09_examples_are_made_from_the_schema() {
    for (schema, value) in [
        (json!({"type": "string"}), json!("example")),
        (
            json!({"type": "string", "format": "date"}),
            json!("2025-01-15"),
        ),
        (
            json!({"type": "string", "format": "email"}),
            json!("user@example.com"),
        ),
        (
            json!({"type": "string", "minLength": 10}),
            json!("exampleexa"),
        ),
        (json!({"type": "string", "maxLength": 3}), json!("exa")),
        (
            json!({"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}),
            json!("AAA-1"),
        ),
        (
            json!({"type": "string", "default": "d", "examples": ["e"]}),
            json!("d"),
        ),
        (json!({"type": "string", "default": 7}), json!("example")),
        (json!({"const": {"k": [1]}}), json!({"k": [1]})),
        (json!({"enum": ["b", "a"]}), json!("b")),
        (json!({"type": "integer", "minimum": 5}), json!(5)),
        (
            json!({"type": "integer", "exclusiveMinimum": 5, "multipleOf": 4}),
            json!(8),
        ),
        (json!({"type": "number", "maximum": 0.5}), json!(0.5)),
        (json!({"type": "boolean"}), json!(true)),
        (json!({"type": ["null", "integer"]}), json!(1)),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
            json!(1),
        ),
        (
            json!({"oneOf": [{"type": "integer", "minimum": 3}, {"type": "string"}]}),
            json!(3),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 2}),
            json!(["example", "example"]),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true}),
            json!(["example", "example1"]),
        ),
        (
            json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}]}),
            json!({"a": 1}),
        ),
        (
            json!({"type": "object", "minProperties": 1, "properties": {"k": {"type": "integer"}}}),
            json!({"k": 1}),
        ),
    ] {
        check(one(schema), Some(json!({"v": value})));
    }
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        Some(json!({})),
    );
    check(
        json!({"type": "object", "required": ["t"], "properties": {"t": {"$ref": "#/$defs/t"}},
            "$defs": {"t": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "t": {"$ref": "#/$defs/t"}}}}}),
        Some(json!({"t": {"n": 1}})),
    );
    check(
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        Some(json!({"a": 1})),
    );
}

#[test]
fn r_reg_09_no_example_is_given_rather_than_a_wrong_one() {
    check(
        one(json!({"type": "string", "pattern": "^(?!x)[^x]+$"})),
        None,
    );
    check(one(json!(false)), None);
    check(
        one(json!({"type": "integer", "minimum": 5, "maximum": 4})),
        None,
    );
    check(json!({"$ref": "#"}), None);
    check(
        json!({"type": "object", "required": ["t"], "properties": {"t": {"$ref": "#"}}}),
        None,
    );
    assert_eq!(generate_example("not json"), None);
}

#[test]
fn related_tools_share_what_they_work_on() {
    let catalog = catalog(&[
        "hub: hub_create_issue hub_close_issue hub_add_issue_comment hub_list_users hub_search",
    ]);
    let related = |name: &str| describe(&catalog.find(name).unwrap()).related;
    assert_eq!(
        related("hub_create_issue"),
        ["hub__hub_add_issue_comment", "hub__hub_close_issue"]
    );
    assert!(related("hub_search").is_empty());
}

proptest! {
    #[test]
    fn an_example_always_fits_its_schema(
        kind in prop_oneof![Just("string"), Just("integer"), Just("number"), Just("array"), Just("object"), Just("boolean")],
        low in -5..20_i64, high in -5..20_i64, unique in any::<bool>(),
    ) {
        let schema = one(json!({"type": kind, "minimum": low, "maximum": high, "minLength": low.max(0), "maxLength": high.max(0),
            "minItems": low.max(0), "maxItems": high.max(0), "uniqueItems": unique, "items": {"type": "integer"},
            "minProperties": low.max(0)}));
        if let Some(arguments) = generate_example(&schema.to_string()) {
            let check = ArgumentValidator::strict(&schema.to_string()).unwrap();
            prop_assert_eq!(check.errors(&arguments), Some(Vec::new()));
        }
    }
}

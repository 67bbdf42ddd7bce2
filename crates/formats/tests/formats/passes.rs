//! Each pass, tested with the format that shows it best.

use pegboard_formats::{Format, LossKind, SourceTool, convert};
use serde_json::{Value, json};

/// The converted properties of a tool, and the kinds of loss.
fn properties(format: Format, properties: &Value) -> (Value, Vec<LossKind>) {
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    root(format, &schema)
}

fn root(format: Format, schema: &Value) -> (Value, Vec<LossKind>) {
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &text,
        ..SourceTool::default()
    };
    let converted = convert(&source, format);
    let schema = ["/input_schema", "/parameters", "/toolSpec/inputSchema/json"]
        .into_iter()
        .find_map(|pointer| converted.definition.pointer(pointer))
        .cloned()
        .unwrap_or_default();
    let mut kinds: Vec<LossKind> = converted.losses.iter().map(|l| l.kind).collect();
    kinds.dedup();
    (schema, kinds)
}

/// Checks the conversion of one property `a`.
#[track_caller]
fn check(format: Format, before: Value, after: Value, losses: &[LossKind]) {
    let (schema, mut kinds) = properties(format, &json!({ "a": before }));
    // Reported for the root in all of these cases.
    kinds.retain(|kind| *kind != LossKind::OpennessDropped && *kind != LossKind::OptionalAsNull);
    assert_eq!(schema["properties"]["a"], after);
    assert_eq!(kinds, losses, "{after}");
}

#[test]
fn r_reg_07_older_drafts_are_converted() {
    use Format::Anthropic;
    check(
        Anthropic,
        json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
        json!({"type": "number", "exclusiveMinimum": 0}),
        &[],
    );
    check(
        Anthropic,
        json!({"type": "array", "items": [{"type": "string"}], "additionalItems": false}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"not": {}}}),
        &[],
    );
    check(
        Anthropic,
        json!({"type": "string", "nullable": true}),
        json!({"type": ["string", "null"]}),
        &[],
    );
    check(
        Anthropic,
        json!({"type": "object", "dependencies": {"x": ["y"]}}),
        json!({"type": "object", "dependentRequired": {"x": ["y"]}}),
        &[],
    );
    check(Anthropic, json!(true), json!({}), &[]);
    check(
        Anthropic,
        json!({"type": "Dict"}),
        json!({"type": "object"}),
        &[],
    );
    check(Anthropic, json!({"type": "any"}), json!({}), &[]);
    let (schema, _) = properties(
        Anthropic,
        &json!({"a": {"type": "string", "required": true}}),
    );
    assert_eq!(schema["required"], json!(["a"]));
    assert_eq!(schema["properties"]["a"], json!({"type": "string"}));
}

#[test]
fn r_reg_07_invalid_keywords_are_dropped_and_reported() {
    use LossKind::{KeywordInvalid, KeywordUnknown, PropertyDropped};
    let anthropic = Format::Anthropic;
    check(
        anthropic,
        json!({"type": "strin"}),
        json!({}),
        &[KeywordInvalid],
    );
    check(
        anthropic,
        json!({"minLength": -1}),
        json!({}),
        &[KeywordInvalid],
    );
    check(
        anthropic,
        json!({"maxItems": 3.0}),
        json!({"maxItems": 3}),
        &[],
    );
    check(
        anthropic,
        json!({"multipleOf": 0}),
        json!({}),
        &[KeywordInvalid],
    );
    check(
        anthropic,
        json!({"x-order": 1}),
        json!({}),
        &[KeywordUnknown],
    );
    check(anthropic, json!({"enum": []}), json!({}), &[KeywordInvalid]);
    check(anthropic, json!(7), json!({}), &[KeywordInvalid]);
    check(anthropic, json!(false), Value::Null, &[PropertyDropped]);
}

#[test]
fn r_reg_07_references_are_inlined() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A~1B", "description": "Here"}, "b": {"$ref": "#/definitions/A~1B"}},
        "definitions": {"A/B": {"type": "string", "description": "There", "maxLength": 3}},
    });
    let (schema, losses) = root(Format::Anthropic, &schema);
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {
            "a": {"description": "Here", "type": "string", "maxLength": 3},
            "b": {"type": "string", "description": "There", "maxLength": 3},
        }})
    );
    assert_eq!(losses, []);
}

#[test]
fn r_reg_07_recursion_is_kept_where_possible_and_cut_elsewhere() {
    let schema = json!({
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    });
    let (kept, losses) = root(Format::Anthropic, &schema);
    assert_eq!(kept["properties"]["node"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(kept["$defs"], schema["$defs"]);
    assert_eq!(losses, []);
    let (cut, losses) = root(Format::Bedrock, &schema);
    assert_eq!(
        cut["properties"]["node"],
        json!({"type": "object", "properties": {"next": {"type": "object"}}})
    );
    assert_eq!(losses, [LossKind::RecursionCut]);
}

#[test]
fn r_reg_07_references_that_multiply_stay_bounded() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        definitions.insert(
            format!("L{level}"),
            json!({"type": "object", "properties": {"l": next, "r": next, "m": next}}),
        );
    }
    definitions.insert("L40".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": definitions});
    for format in Format::all() {
        let (schema, losses) = root(format, &schema);
        assert!(losses.contains(&LossKind::SizeCut), "{format}: {losses:?}");
        assert!(schema.to_string().len() < 8_000_000, "{format}");
    }
}

#[test]
fn r_reg_07_root_combinators_become_one_object() {
    let schema = json!({
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
            {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
        ],
    });
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        description: Some("Draws"),
        input_schema: &text,
        ..SourceTool::default()
    };
    let converted = convert(&source, Format::Anthropic);
    assert_eq!(
        converted.definition,
        json!({
            "name": "t",
            "description": "Draws. Requires one of: `kind` and `r`; `kind` and `side`.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["circle", "square"]},
                    "r": {"type": "number"},
                    "side": {"type": "number"},
                },
                "required": ["kind"],
            },
        })
    );
    assert_eq!(converted.losses.len(), 1);
    assert_eq!(converted.losses[0].kind, LossKind::RootMerged);
    assert_eq!(converted.losses[0].path, "/oneOf");
}

#[test]
fn r_reg_07_unsupported_patterns_are_moved_to_the_description() {
    check(
        Format::Anthropic,
        json!({"type": "string", "pattern": r"^\p{L}+$", "description": "Name"}),
        json!({"type": "string", "description": r"Name. Matches the pattern `^\p{L}+$`."}),
        &[LossKind::ConstraintInWords],
    );
    check(
        Format::Anthropic,
        json!({"type": "string", "pattern": "^(?!x)"}),
        json!({"type": "string", "pattern": "^(?!x)"}),
        &[],
    );
}

#[test]
fn r_reg_07_losses_have_the_path_of_their_schema() {
    let schema = json!({"type": "object", "properties": {"a/b": {"type": "array", "items": {"type": "string", "pattern": "["}}}});
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &text,
        ..SourceTool::default()
    };
    let losses = convert(&source, Format::Anthropic).losses;
    assert_eq!(losses[0].path, "/properties/a~1b/items");
    assert_eq!(losses[1].path, "/properties/a~1b");
    assert_eq!(losses[1].kind, LossKind::PropertyRenamed);
}

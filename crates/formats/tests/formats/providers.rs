//! The conversion of a parameter for each provider.

use pegboard_formats::{Format, LossKind, SourceTool, convert};
use serde_json::{Value, json};

#[track_caller]
fn convert_one(format: Format, parameter: &Value, required: bool) -> (Value, Vec<LossKind>, Value) {
    let mut schema =
        json!({"type": "object", "properties": {"a": parameter}, "additionalProperties": false});
    if required {
        schema["required"] = json!(["a"]);
    }
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &text,
        ..SourceTool::default()
    };
    let converted = convert(&source, format);
    let mut kinds: Vec<LossKind> = converted.losses.iter().map(|l| l.kind).collect();
    kinds.retain(|kind| *kind != LossKind::OpennessDropped);
    let parameter = converted.definition["parameters"]["properties"]["a"].clone();
    (parameter, kinds, converted.definition)
}

#[track_caller]
fn gemini(before: Value, after: Value, losses: &[LossKind]) {
    let (parameter, kinds, _) = convert_one(Format::Gemini, &before, true);
    assert_eq!((parameter, kinds), (after, losses.to_vec()));
}

#[test]
fn r_reg_07_gemini_gets_its_subset() {
    use LossKind::*;
    gemini(
        json!({"type": ["string", "null"]}),
        json!({"type": "STRING", "nullable": true}),
        &[],
    );
    gemini(
        json!({"type": "string", "enum": ["", "x", null]}),
        json!({"type": "STRING", "enum": ["x"]}),
        &[EnumValueDropped],
    );
    gemini(
        json!({"const": "x"}),
        json!({"type": "STRING", "enum": ["x"]}),
        &[],
    );
    gemini(
        json!({"type": "integer", "enum": [1, 2]}),
        json!({"type": "INTEGER", "description": "One of: 1, 2."}),
        &[EnumInWords],
    );
    gemini(
        json!({"type": "string", "format": "uri"}),
        json!({"type": "STRING", "description": "Format: `uri`."}),
        &[ConstraintInWords],
    );
    gemini(
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "STRING", "format": "date-time"}),
        &[],
    );
    gemini(
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 5, "default": 2}),
        json!({"type": "NUMBER", "maximum": 5, "description": "Greater than 0. Default: 2."}),
        &[ConstraintInWords, DefaultInWords],
    );
    gemini(
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}], "description": "One or more"}),
        json!({"anyOf": [
            {"type": "STRING", "nullable": true, "description": "One or more"},
            {"type": "ARRAY", "items": {"type": "STRING"}, "nullable": true, "description": "One or more"},
        ]}),
        &[],
    );
    gemini(json!({"type": "object"}), json!({"type": "OBJECT"}), &[]);
    gemini(
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x", "ghost"]}),
        json!({"type": "OBJECT", "description": "Also required: \"ghost\".", "properties": {"x": {"type": "STRING"}}, "required": ["x"]}),
        &[ConstraintInWords],
    );
    gemini(
        json!({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3}]}),
        json!({"type": "INTEGER", "minimum": 3}),
        &[],
    );
}

#[test]
fn r_reg_07_gemini_functions_without_parameters_have_no_schema() {
    let source = SourceTool {
        name: "now",
        input_schema: r#"{"type":"object"}"#,
        ..SourceTool::default()
    };
    assert_eq!(
        convert(&source, Format::Gemini).definition,
        json!({"name": "now"})
    );
}

#[track_caller]
fn strict(before: Value, required: bool, after: Value, losses: &[LossKind]) {
    let (parameter, kinds, definition) = convert_one(Format::OpenAiResponses, &before, required);
    assert_eq!(definition["strict"], true, "{kinds:?}");
    assert_eq!((parameter, kinds), (after, losses.to_vec()));
}

#[test]
fn r_reg_07_openai_is_strict_where_the_schema_allows_it() {
    use LossKind::*;
    strict(
        json!({"type": "string"}),
        true,
        json!({"type": "string"}),
        &[],
    );
    strict(
        json!({"type": "string"}),
        false,
        json!({"type": ["string", "null"]}),
        &[OptionalAsNull],
    );
    strict(
        json!({"enum": ["x"], "default": "x"}),
        false,
        json!({"type": ["string", "null"], "enum": ["x", null], "description": "Default: \"x\"."}),
        &[DefaultInWords, OptionalAsNull],
    );
    strict(
        json!({"type": "string", "minLength": 2, "format": "uri"}),
        true,
        json!({"type": "string", "description": "At least 2 characters. Format: `uri`."}),
        &[ConstraintInWords, ConstraintInWords],
    );
    strict(
        json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
        true,
        json!({"type": "object", "properties": {"x": {"type": ["integer", "null"]}}, "required": ["x"], "additionalProperties": false}),
        &[ObjectClosed, OptionalAsNull],
    );
}

#[track_caller]
fn not_strict(before: Value, after: Value) {
    let (parameter, kinds, definition) = convert_one(Format::OpenAiResponses, &before, true);
    assert_eq!(definition["strict"], false);
    assert_eq!(parameter, after);
    assert!(kinds.contains(&LossKind::NotStrict));
}

#[test]
fn r_reg_07_openai_keeps_what_strict_would_lose() {
    not_strict(json!({}), json!({}));
    not_strict(
        json!({"type": "array"}),
        json!({"type": "array", "items": {}}),
    );
    not_strict(
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
    );
    not_strict(
        json!({"type": "string", "not": {"const": "x"}}),
        json!({"type": "string", "not": {"const": "x"}}),
    );
}

#[test]
fn r_reg_07_a_null_for_an_omitted_value_does_not_reach_the_tool() {
    let schema = json!({
        "type": "object",
        "properties": {
            "optional": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
        "required": ["nullable"],
    });
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &text,
        ..SourceTool::default()
    };
    let converted = convert(&source, Format::OpenAiResponses);
    assert_eq!(converted.definition["strict"], true);
    let sent = json!({"optional": null, "nullable": null, "list": [{"x": null}, {"x": 1}]});
    let restored = converted.restore.apply(sent);
    assert_eq!(restored, json!({"nullable": null, "list": [{}, {"x": 1}]}));
}

#[test]
fn r_reg_07_bedrock_roots_have_three_keywords() {
    let schema = json!({
        "title": "Args", "type": "object", "properties": {"a": {"type": "string", "title": "A"}},
        "required": ["a"], "additionalProperties": false, "maxProperties": 1,
    });
    let text = schema.to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &text,
        ..SourceTool::default()
    };
    let converted = convert(&source, Format::Bedrock);
    assert_eq!(
        converted.definition,
        json!({"toolSpec": {
            "name": "t",
            "description": "At most 1 properties.",
            "inputSchema": {"json": {"type": "object", "properties": {"a": {"type": "string", "title": "A"}}, "required": ["a"]}},
        }})
    );
    let kinds: Vec<LossKind> = converted.losses.iter().map(|l| l.kind).collect();
    assert_eq!(
        kinds,
        [
            LossKind::AnnotationDropped,
            LossKind::OpennessDropped,
            LossKind::ConstraintInWords
        ]
    );
}

#[test]
fn r_sec_01_models_get_no_hidden_characters() {
    let source = SourceTool {
        name: "a",
        description: Some("Adds.\u{e0041}"),
        input_schema: r#"{"type":"object","properties":{"x":{"type":"string","description":"\udb40\udc42\u202e"}}}"#,
        ..SourceTool::default()
    };
    for format in [Format::Anthropic, Format::OpenAiResponses, Format::Gemini] {
        let text = convert(&source, format).definition.to_string();
        assert!(
            !text.contains(['\u{e0041}', '\u{e0042}', '\u{202e}']),
            "{text}"
        );
        assert!(
            text.contains("Adds.\\\\u{e0041}") && text.contains("\\\\u{e0042}\\\\u{202e}"),
            "{text}"
        );
    }
}

#[test]
fn r_reg_07_an_empty_enum_inside_not_accepts_nothing() {
    let schema = json!({"type": "object", "not": {"enum": []}}).to_string();
    let source = SourceTool {
        name: "t",
        input_schema: &schema,
        ..SourceTool::default()
    };
    let converted = convert(&source, Format::Anthropic);
    let schema = &converted.definition["input_schema"];
    let validator = jsonschema::draft202012::new(schema).unwrap();
    assert!(validator.is_valid(&json!({})), "{schema}");
}

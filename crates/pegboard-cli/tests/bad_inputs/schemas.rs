//! Schemas of tools, and validation of arguments.

use std::time::{Duration, Instant};

use pegboard_guard::{ARGUMENTS_BYTES_MAX, ArgumentValidator, admit, check_arguments, fingerprint};
use pegboard_model::{Limits, Reason, ServerName, Tool};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::table::Row;

const ARGUMENTS: &str = "guard/tests/arguments.rs";

/// Enough for any of these on a busy machine, and far less than an exponential search takes.
const SOON: Duration = Duration::from_secs(10);

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "G01",
        input: "references to itself, to each other, and in a ring of three",
        required: "the tool is kept, and arguments are checked in bounded time",
        run: &[rings],
        tests: &[(
            "guard/src/references.rs",
            "r_sec_01_cycles_are_allowed_and_terminate",
        )],
        pending: None,
    },
    Row {
        id: "G02",
        input: "references to http, https, file and ftp addresses",
        required: "SCHEMA_EXTERNAL_REF; nothing is fetched",
        run: &[external_references],
        tests: &[(ARGUMENTS, "r_sec_01_external_references_are_never_followed")],
        pending: None,
    },
    Row {
        id: "G03",
        input: "references to nothing, out of the document, and of 1 MiB",
        required: "the tool alone is rejected",
        run: &[dangling_references],
        tests: &[],
        pending: None,
    },
    Row {
        id: "G04",
        input: "schemas of 20, 64 and 100,000 levels",
        required: "32 levels are kept, more are SCHEMA_TOO_DEEP",
        run: &[deep_schemas],
        tests: &[(
            "guard/tests/admission.rs",
            "r_sec_01_depth_is_limited_without_a_deep_stack",
        )],
        pending: None,
    },
    Row {
        id: "G05",
        input: "10,000 alternatives, and alternatives that double 20 times",
        required: "the number of values and the time of a check are bounded",
        run: &[exploding_schemas],
        tests: &[(
            "guard/src/validation_cost.rs",
            "r_sec_01_endless_and_exploding_schemas_are_detected",
        )],
        pending: None,
    },
    Row {
        id: "G06",
        input: "an enumeration of 100,000 values",
        required: "beyond the limit the tool is rejected; within it texts for models are cut with a count",
        run: &[long_enumerations],
        tests: &[(
            ARGUMENTS,
            "r_sec_01_g06_a_long_enum_is_checked_and_shown_truncated_with_its_count",
        )],
        pending: None,
    },
    Row {
        id: "G07",
        input: "patterns that take exponential time in other engines",
        required: "a check takes linear time, or the pattern is left out",
        run: &[costly_patterns],
        tests: &[(
            ARGUMENTS,
            "r_sec_01_g07_a_schema_full_of_patterns_is_cheap_and_the_rest_is_still_checked",
        )],
        pending: None,
    },
    Row {
        id: "G08",
        input: "schemas that are null, true, a list or a text",
        required: "null is an empty schema, others are SCHEMA_INVALID",
        run: &[schemas_of_other_kinds],
        tests: &[],
        pending: None,
    },
    Row {
        id: "G09",
        input: "several types, no type, older and unknown dialects",
        required: "the tool is kept",
        run: &[dialects],
        tests: &[(ARGUMENTS, "both_drafts_are_validated_by_their_own_rules")],
        pending: None,
    },
    Row {
        id: "G10",
        input: "properties called `__proto__`, `constructor`, nothing, or 10 KiB of text",
        required: "they are data, and are checked like others",
        run: &[odd_properties],
        tests: &[],
        pending: None,
    },
    Row {
        id: "G11",
        input: "defaults, examples and constants of 10 MiB",
        required: "the tool is rejected by its size",
        run: &[large_values],
        tests: &[],
        pending: None,
    },
    Row {
        id: "G13",
        input: "header annotations that are illegal, on numbers, or equal but for their case",
        required: "the tool is left out over HTTP alone",
        run: &[header_annotations],
        tests: &[(
            "guard/src/headers.rs",
            "r_sec_01_header_annotations_are_checked",
        )],
        pending: None,
    },
    Row {
        id: "G14",
        input: "the same schema with another order of keys",
        required: "the fingerprint is the same",
        run: &[order_of_keys],
        tests: &[(
            "guard/src/fingerprint.rs",
            "r_disc_08_key_order_and_white_space_do_not_matter",
        )],
        pending: None,
    },
    Row {
        id: "G15",
        input: "a result that does not fit the output schema",
        required: "SCHEMA_OUTPUT_MISMATCH; the result is delivered by the policy",
        run: &[],
        tests: &[
            (
                "hub/tests/calling.rs",
                "r_sec_12_g15_a_result_that_does_not_match_its_schema_is_flagged_and_delivered",
            ),
            (
                "pegboard-cli/tests/cli/commands/calling.rs",
                "r_sec_12_g15_a_result_that_does_not_match_its_schema_is_printed_with_a_warning",
            ),
        ],
        pending: None,
    },
    Row {
        id: "G16",
        input: "arguments of the wrong kind, with a parameter that is not known, or of 5 MiB",
        required: "ARGS_INVALID with the field, before the server is started",
        run: &[wrong_arguments],
        tests: &[(
            "pegboard-cli/tests/cli/commands/calling.rs",
            "r_reg_05_invalid_arguments_are_reported_by_field_before_any_start",
        )],
        pending: None,
    },
];

fn definition(schema: &str) -> String {
    format!(r#"{{"name":"a","inputSchema":{schema}}}"#)
}

/// Returns the admission of a tool next to a good one, which must be admitted.
fn admitted(definition: &str, over_http: bool) -> Result<Tool, Reason> {
    let good = r#"{"name":"zz_good","inputSchema":{"type":"object"}}"#;
    let list = [definition, good].map(|text| RawValue::from_string(text.to_owned()).unwrap());
    let server = ServerName::parse("files").unwrap();
    let admission = admit(&server, over_http, &list, &Limits::default());
    let mut tools = admission.tools;
    assert_eq!(
        tools.pop().map(|tool| tool.name),
        Some("zz_good".to_owned())
    );
    match admission.rejections.first() {
        Some(rejection) => Err(rejection.reason),
        None => Ok(tools.remove(0)),
    }
}

fn of_schema(schema: &str) -> Result<Tool, Reason> {
    admitted(&definition(schema), false)
}

#[track_caller]
fn rejected(schema: &str, reasons: &[Reason]) {
    let shown: String = schema.chars().take(120).collect();
    match of_schema(schema) {
        Err(reason) => assert!(reasons.contains(&reason), "{shown}: {reason}"),
        Ok(_) => panic!("{shown} is admitted"),
    }
}

/// Checks arguments and that it takes no longer than [`SOON`].
fn checked_soon(schema: &Value, arguments: &Value) -> Option<String> {
    let started = Instant::now();
    let tool = of_schema(&schema.to_string()).expect("an admitted tool");
    let field = check_arguments(&tool, arguments)
        .err()
        .and_then(|error| error.into_details().field);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    field
}

fn rings() {
    let itself = json!({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]});
    assert_eq!(
        checked_soon(&itself, &json!({"x": {"x": {}}})).as_deref(),
        Some("/x/x/x")
    );
    for size in [2, 3] {
        let definitions: serde_json::Map<String, Value> = (0..size)
            .map(|n| {
                (
                    format!("d{n}"),
                    json!({"$ref": format!("#/$defs/d{}", (n + 1) % size)}),
                )
            })
            .collect();
        let ring = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        checked_soon(&ring, &json!({"x": 1}));
    }
}

fn external_references() {
    for target in [
        "http://127.0.0.1:1/x",
        "https://example.com/x",
        "file:///etc/passwd",
        "ftp://example.com/x",
    ] {
        let schema = json!({"properties": {"x": {"$ref": target}}}).to_string();
        rejected(&schema, &[Reason::SchemaExternalRef]);
        assert!(
            ArgumentValidator::new(&schema).is_none(),
            "{target} is not followed"
        );
    }
}

fn dangling_references() {
    rejected(r##"{"$ref":"#/$defs/none"}"##, &[Reason::SchemaInvalid]);
    rejected(r##"{"$ref":"#/../.."}"##, &[Reason::SchemaInvalid]);
    let long = format!(r##"{{"$ref":"#/{}"}}"##, "a".repeat(1 << 20));
    rejected(
        &long,
        &[
            Reason::SchemaInvalid,
            Reason::SchemaTooLarge,
            Reason::ToolTooLarge,
        ],
    );
}

fn deep_schemas() {
    let nested = |levels: usize| {
        let inner = r#"{"not":"#.repeat(levels - 1);
        format!("{inner}{{}}{}", "}".repeat(levels - 1))
    };
    for levels in [20, 32] {
        assert!(of_schema(&nested(levels)).is_ok(), "{levels}");
    }
    rejected(&nested(64), &[Reason::SchemaTooDeep]);
    rejected(
        &nested(100_000),
        &[
            Reason::SchemaTooDeep,
            Reason::SchemaTooLarge,
            Reason::ToolTooLarge,
        ],
    );
}

fn exploding_schemas() {
    let branches: Vec<Value> = (0..10_000).map(|n| json!({"const": n})).collect();
    let wide = json!({"properties": {"x": {"anyOf": branches}}});
    rejected(&wide.to_string(), &[Reason::SchemaTooLarge]);
    let mut doubling = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {"a20": {}}});
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        doubling["$defs"][format!("a{level}")] =
            json!({"allOf": [next, next], "anyOf": [next, next]});
    }
    checked_soon(&doubling, &json!({"x": 1}));
}

fn long_enumerations() {
    let values = vec!["1"; 100_000].join(",");
    let schema = format!(r#"{{"properties":{{"x":{{"enum":[{values}]}}}}}}"#);
    rejected(&schema, &[Reason::SchemaTooLarge, Reason::ToolTooLarge]);
    let choices: Vec<String> = (0..9_000).map(|n| n.to_string()).collect();
    let tool = of_schema(&json!({"properties": {"x": {"enum": choices}}}).to_string()).unwrap();
    let error = check_arguments(&tool, &json!({"x": "9000"})).unwrap_err();
    assert!(error.message.contains("9000 in all"), "{error}");
    assert!(error.message.len() < 2_000, "{}", error.message.len());
}

fn costly_patterns() {
    let text = "a".repeat(30_000) + "!";
    let mut patterns: Vec<String> = [
        "^(a+)+$",
        "(a+)+$",
        "^(a*)*$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "^(a|a?)+$",
        "(.*a){20}$",
        "^((a+)+)+$",
        "^(a+){10}$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}$",
        "(?=a)(a+)+$",
        "(?!b)(a+)+$",
        "(a+)+\\1$",
        "^(?:a?){50}a{50}$",
        "\\pL{20}",
        "(x+x+)+y",
    ]
    .map(str::to_owned)
    .to_vec();
    patterns.extend((2..34).map(|n| format!("^(a{{1,{n}}})+$")));
    assert!(patterns.len() >= 50, "{}", patterns.len());
    for pattern in patterns {
        let schema = json!({"properties": {"x": {"pattern": pattern}}});
        checked_soon(&schema, &json!({"x": text}));
    }
}

fn schemas_of_other_kinds() {
    let tool = of_schema("null").expect("null is an empty schema");
    assert!(check_arguments(&tool, &json!({"x": 1})).is_ok());
    for schema in ["true", "false", "[]", r#""object""#, "7"] {
        rejected(schema, &[Reason::SchemaInvalid]);
    }
}

fn dialects() {
    for schema in [
        json!({"type": ["object", "null"]}),
        json!({"properties": {"x": {}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
        json!({"$schema": "https://example.com/mine", "type": "object"}),
    ] {
        assert!(of_schema(&schema.to_string()).is_ok(), "{schema}");
    }
}

fn odd_properties() {
    let long = "x".repeat(10_240);
    let names = ["__proto__", "constructor", "", &long];
    for name in names {
        let schema = json!({"type": "object", "properties": {name: {"type": "integer"}}});
        assert_eq!(checked_soon(&schema, &json!({name: 1})), None, "{name}");
        assert!(
            checked_soon(&schema, &json!({name: "x"})).is_some(),
            "{name}"
        );
        let tool = of_schema(&schema.to_string()).unwrap();
        assert!(tool.definition.contains(name), "kept as it is");
    }
    let over = "x".repeat(Limits::default().schema_bytes);
    let schema = json!({"properties": {over: {}}}).to_string();
    rejected(&schema, &[Reason::SchemaTooLarge, Reason::ToolTooLarge]);
}

fn large_values() {
    let large = "x".repeat(10 << 20);
    for key in ["default", "examples", "const"] {
        let schema = json!({"properties": {"x": {key: [large]}}}).to_string();
        rejected(&schema, &[Reason::SchemaTooLarge, Reason::ToolTooLarge]);
    }
}

fn header_annotations() {
    for properties in [
        json!({"a": {"type": "string", "x-mcp-header": "bad name"}}),
        json!({"a": {"type": "number", "x-mcp-header": "A"}}),
        json!({"a": {"type": "string", "x-mcp-header": "Same"}, "b": {"type": "string", "x-mcp-header": "same"}}),
    ] {
        let tool = definition(&json!({"type": "object", "properties": properties}).to_string());
        assert!(admitted(&tool, false).is_ok(), "{properties}");
        assert_eq!(
            admitted(&tool, true).err(),
            Some(Reason::SchemaHeader),
            "{properties}"
        );
    }
}

fn order_of_keys() {
    let one = r#"{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}}"#;
    let other = r#"{ "inputSchema": {"properties":{"y":{},"x":{}},"type":"object"}, "name":"a" }"#;
    assert_eq!(fingerprint(one), fingerprint(other));
    assert!(fingerprint(one).is_some());
    let changed = one.replace("\"y\"", "\"z\"");
    assert_ne!(fingerprint(one), fingerprint(&changed));
}

fn wrong_arguments() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"state": {"type": "string", "enum": ["open", "closed"]}, "text": {"type": "string"}},
    });
    assert_eq!(
        checked_soon(&schema, &json!({"state": ["open"]})).as_deref(),
        Some("/state")
    );
    assert_eq!(
        checked_soon(&schema, &json!({"other": 1})).as_deref(),
        Some("/other")
    );
    let large = "x".repeat(ARGUMENTS_BYTES_MAX.max(5 << 20));
    assert!(checked_soon(&schema, &json!({"text": large})).is_some());
}

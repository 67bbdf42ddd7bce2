//! Conversions of generated schemas.

use pegboard_formats::{Effect, Format, SourceTool, convert};
use pegboard_testkit::provider_rules::check_tool;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "id", "type", "enum", "default", "$ref"]).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => "\\PC{0,4}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        name().prop_map(Value::from),
    ]
}

fn kind() -> impl Strategy<Value = Value> {
    let one = prop::sample::select(vec![
        "object", "array", "string", "integer", "number", "boolean", "null", "any", "String",
        "bogus",
    ]);
    prop_oneof![
        5 => one.clone().prop_map(Value::from),
        2 => prop::collection::vec(one, 0..4).prop_map(Value::from),
        1 => scalar(),
    ]
}

fn simple_keyword() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        3 => kind().prop_map(|v| ("type".to_owned(), v)),
        1 => prop::collection::vec(scalar(), 0..4).prop_map(|v| ("enum".to_owned(), Value::from(v))),
        1 => scalar().prop_map(|v| ("const".to_owned(), v)),
        1 => prop::collection::vec(name(), 0..3).prop_map(|v| ("required".to_owned(), Value::from(v))),
        1 => prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b", "#/definitions/c", "#/properties/a", "#/nowhere", "https://x"])
            .prop_map(|v| ("$ref".to_owned(), Value::from(v))),
        1 => prop::sample::select(vec!["^a+$", "[", "(?<n>a)", "^(?!b)", "\\p{L}", "a\\/b", "(?i)x", ""])
            .prop_map(|v| ("pattern".to_owned(), Value::from(v))),
        2 => (prop::sample::select(vec![
                "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
                "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "nullable", "format", "title",
                "description", "default", "examples", "deprecated", "additionalProperties", "$schema", "x-other",
                "dependentRequired", "required", "items", "properties",
            ]), scalar()).prop_map(|(k, v)| (k.to_owned(), v)),
    ]
}

fn arguments() -> impl Strategy<Value = Value> {
    let value = scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..3)
                .prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    });
    prop::collection::vec((name(), value), 0..4)
        .prop_map(|pairs| Value::Object(Map::from_iter(pairs)))
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::collection::vec(simple_keyword(), 0..4).prop_map(|k| Value::Object(Map::from_iter(k))),
        1 => any::<bool>().prop_map(Value::from),
        1 => scalar(),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let named = prop::collection::vec((name(), inner.clone()), 0..4)
            .prop_map(|pairs| Value::Object(Map::from_iter(pairs)))
            .boxed();
        let keyword = prop_oneof![
            4 => (Just("properties"), named.clone()),
            2 => (prop::sample::select(vec!["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"]), named),
            3 => (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"]), list),
            3 => (prop::sample::select(vec!["items", "additionalProperties", "not", "if", "then", "contains", "propertyNames", "additionalItems", "unevaluatedProperties"]), inner),
        ]
        .prop_map(|(k, v)| (k.to_owned(), v));
        let any = prop_oneof![keyword, simple_keyword()];
        prop::collection::vec(any, 1..6).prop_map(|k| Value::Object(Map::from_iter(k)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r_reg_07_any_schema_becomes_valid_in_every_format(schema in schema()) {
        let text = schema.to_string();
        let source = SourceTool { name: "tool", input_schema: &text, examples: vec![json!({"a": 1})], ..SourceTool::default() };
        for format in Format::all() {
            let converted = convert(&source, format);
            let violations = check_tool(&converted.definition, format);
            prop_assert!(violations.is_empty(), "{format}: {violations:?}\n{}", converted.definition);
            prop_assert_eq!(&converted, &convert(&source, format));
            converted.restore.apply(schema.clone());
        }
    }

    #[test]
    fn r_reg_07_arguments_that_the_tool_accepts_stay_possible(schema in schema(), arguments in arguments()) {
        let text = schema.to_string();
        // This old keyword is interpreted here, but unknown in the newest draft.
        prop_assume!(!text.contains("dependencies") && schema.is_object());
        let Ok(original) = jsonschema::draft202012::new(&schema) else { return Ok(()) };
        prop_assume!(original.is_valid(&arguments));
        let source = SourceTool { name: "tool", input_schema: &text, ..SourceTool::default() };
        for (format, pointer) in [
            (Format::Anthropic, "/input_schema"),
            (Format::OpenAiResponses, "/parameters"),
            (Format::Bedrock, "/toolSpec/inputSchema/json"),
        ] {
            let converted = convert(&source, format);
            let narrower = converted
                .losses
                .iter()
                .any(|l| matches!(l.kind.effect(), Effect::Narrower | Effect::Undone));
            if narrower {
                continue;
            }
            let schema = converted.definition.pointer(pointer).cloned().unwrap_or_default();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            prop_assert!(validator.is_valid(&arguments), "{format}: {schema} refuses {arguments}");
        }
    }

    #[test]
    fn r_reg_08_any_name_becomes_a_valid_one(name in "\\PC{0,90}") {
        let source = SourceTool { name: &name, input_schema: "{}", ..SourceTool::default() };
        for format in Format::all() {
            let converted = convert(&source, format);
            prop_assert_eq!(check_tool(&converted.definition, format), []);
        }
    }

    #[test]
    fn nothing_panics_on_invalid_schemas(text in "\\PC{0,60}") {
        let source = SourceTool { name: "tool", input_schema: &text, ..SourceTool::default() };
        for format in Format::all() {
            prop_assert_eq!(check_tool(&convert(&source, format).definition, format), []);
        }
    }
}

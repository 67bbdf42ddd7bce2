//! Schemas like those of real servers that providers reject.

use pegboard_formats::SourceTool;
use serde_json::json;

/// Names and schemas of the tools.
pub(crate) const SCHEMAS: &[(&str, &str)] = &[
    ("empty", "{}"),
    ("no_properties", r#"{"type":"object"}"#),
    ("nothing_at_all", "null"),
    ("boolean", "true"),
    ("refused_always", "false"),
    ("no_json", "{"),
    ("a_list", "[1]"),
    ("root_is_a_string", r#"{"type":"string"}"#),
    (
        "root_is_null_or_object",
        r#"{"type":["null","object"],"properties":{"a":{"type":"string"}}}"#,
    ),
    (
        "no_type",
        r#"{"properties":{"city":{"type":"string"}},"required":["city"]}"#,
    ),
    (
        "at_least_one",
        r#"{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},
            "anyOf":[{"required":["id"]},{"required":["name"]}]}"#,
    ),
    (
        "tagged",
        r#"{"oneOf":[
            {"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"],"additionalProperties":false},
            {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"],"additionalProperties":false}]}"#,
    ),
    (
        "all_of_references",
        r##"{"allOf":[{"$ref":"#/definitions/Page"},{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}],
            "definitions":{"Page":{"type":"object","properties":{"page":{"type":"integer","minimum":1,"default":1}}}}}"##,
    ),
    (
        "recursive",
        r##"{"type":"object","properties":{"filter":{"$ref":"#/$defs/Filter"}},"required":["filter"],
            "$defs":{"Filter":{"type":"object","properties":{"field":{"type":"string"},
            "and":{"type":"array","items":{"$ref":"#/$defs/Filter"}}},"required":["field"]}}}"##,
    ),
    (
        "recursive_root",
        r##"{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}"##,
    ),
    (
        "root_is_a_reference",
        r##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}}}"##,
    ),
    (
        "reference_to_itself",
        r##"{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}"##,
    ),
    (
        "reference_to_nowhere",
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/Gone"},"b":{"$ref":"https://example.com/s.json"}}}"##,
    ),
    (
        "fan",
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{
            "A":{"type":"object","properties":{"x":{"$ref":"#/$defs/B"},"y":{"$ref":"#/$defs/B"}}},
            "B":{"type":"object","properties":{"x":{"$ref":"#/$defs/C"},"y":{"$ref":"#/$defs/C"}}},
            "C":{"type":"string","enum":["p","q"]}}}"##,
    ),
    (
        "nullable_types",
        r#"{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","y",null]},"b":{"type":["string","number","array"],"items":{"type":"string"}}}}"#,
    ),
    (
        "openapi_nullable",
        r#"{"type":"object","properties":{"a":{"type":"string","nullable":true,"example":"x"}}}"#,
    ),
    (
        "optional_of_python",
        r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"A"}}}"#,
    ),
    (
        "constants",
        r#"{"type":"object","properties":{"a":{"const":"x"},"b":{"const":3},"c":{"const":null},"d":{"const":{"k":1}}}}"#,
    ),
    (
        "mixed_enum",
        r#"{"type":"object","properties":{"a":{"enum":["",1,2.5,true,null]},"b":{"type":"string","enum":[""]},"c":{"type":"integer","enum":[1,2]}}}"#,
    ),
    (
        "empty_enum",
        r#"{"type":"object","properties":{"a":{"type":"string","enum":[]}}}"#,
    ),
    (
        "tuples",
        r#"{"type":"object","properties":{"a":{"type":"array","items":[{"type":"number"},{"type":"number"}],"additionalItems":false},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}"#,
    ),
    (
        "lists_of_anything",
        r#"{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":true},"c":{"type":"array","items":{}},"d":{"type":"array","items":false}}}"#,
    ),
    (
        "booleans",
        r#"{"type":"object","properties":{"a":true,"b":false},"required":["b"]}"#,
    ),
    (
        "draft_3_and_4",
        r#"{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true,"required":true},"b":{"type":"any"}},"id":"x"}"#,
    ),
    (
        "dependencies",
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependencies":{"a":["b"],"b":{"required":["a"]}}}"#,
    ),
    (
        "conditions",
        r#"{"type":"object","properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},"not":{"required":["c"]}}"#,
    ),
    (
        "maps",
        r#"{"type":"object","properties":{"headers":{"type":"object","additionalProperties":{"type":"string"}},"any":{"type":"object","propertyNames":{"pattern":"^x"},"patternProperties":{"^x-":{"type":"string"}}}}}"#,
    ),
    (
        "anything",
        r#"{"type":"object","properties":{"value":{"description":"Any JSON"},"data":{}}}"#,
    ),
    (
        "odd_names",
        r#"{"type":"object","properties":{"Created<":{"type":"string"},"Created>":{"type":"string"},"filter[id]":{"type":"string"},"$top":{"type":"integer"},"If-Match":{"type":"string"},"日本":{"type":"string"},"":{"type":"string"},"a.b":{"type":"object","properties":{"c d":{"type":"string"}}}},"required":["Created<","日本"]}"#,
    ),
    (
        "patterns",
        r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^[^\\p{Cc}]+$"},"b":{"type":"string","pattern":"^(?!x).*$"},"c":{"type":"string","pattern":"^(?<y>\\d+)$"},"d":{"type":"string","pattern":"["},"e":{"type":"string","pattern":"^[a-z]+$"}}}"#,
    ),
    (
        "formats",
        r#"{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"uint8","minimum":0,"multipleOf":5},"d":{"type":"string","format":"binary","contentEncoding":"base64"}}}"#,
    ),
    (
        "limits",
        r#"{"type":"object","minProperties":1,"properties":{"a":{"type":"string","minLength":1,"maxLength":9223372036854775808},"b":{"type":"array","items":{"type":"string"},"uniqueItems":true,"minItems":1.0,"maxItems":"3"},"c":{"type":"number","exclusiveMinimum":0,"maximum":"10"}}}"#,
    ),
    (
        "required_and_unknown",
        r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a","ghost",5]}"#,
    ),
    (
        "union_of_objects",
        r#"{"type":"object","properties":{"target":{"description":"What to change","anyOf":[{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},{"type":"object","properties":{"name":{"type":"string"},"id":{"type":["string","null"]}},"required":["name"]},{"type":"string"}]}}}"#,
    ),
    (
        "all_of_inside",
        r#"{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"integer","minimum":1}}},{"properties":{"x":{"maximum":5},"y":{"type":"string"}},"required":["x"]}],"description":"Both"}}}"#,
    ),
    (
        "extensions",
        r#"{"type":"object","x-order":1,"$schema":"http://json-schema.org/draft-07/schema#","$comment":"c","properties":{"a":{"type":"string","x-ui":"text","deprecated":true,"readOnly":true,"examples":["x"]}}}"#,
    ),
    (
        "wrong_kinds",
        r#"{"type":5,"properties":{"a":{"type":"strin","description":7,"minLength":-1,"enum":"x","items":3,"anyOf":{}},"b":3},"required":"a","$defs":[]}"#,
    ),
    (
        "text",
        r#"{"type":"object","properties":{"a":{"type":"string","description":"👩‍👩‍👧 \u0000 \ud83d\ude00"}},"description":"Root text"}"#,
    ),
];

/// The corpus as tools of two servers and of the host program.
pub(crate) fn sources() -> Vec<SourceTool<'static>> {
    SCHEMAS
        .iter()
        .enumerate()
        .map(|(index, (name, schema))| SourceTool {
            name,
            server: [None, Some("shapes"), Some("other_shapes")][index % 3],
            description: (index % 4 != 0).then_some("Does what its name says"),
            input_schema: schema,
            examples: if *name == "at_least_one" {
                vec![json!({"id": "7"}), json!({"id": 7}), json!("no object")]
            } else {
                Vec::new()
            },
            ..SourceTool::default()
        })
        .collect()
}

//! Complete requests.

use pegboard_formats::{
    ConvertOptions, DeferredSearch, Format, LossKind, SEARCH_TOOL_NAME, SourceTool, convert,
    convert_with, definitions, definitions_with,
};
use pegboard_testkit::provider_rules::check_tools;
use serde_json::{Value, json};

use crate::corpus;

#[test]
fn r_reg_07_every_difficult_schema_is_valid_in_every_format() {
    for format in Format::all() {
        let document = definitions(&corpus::sources(), format).document;
        assert_eq!(check_tools(&document, format), [], "{format}");
    }
}

#[test]
fn r_reg_07_the_same_tools_give_the_same_bytes() {
    for format in Format::all() {
        let bytes = || definitions(&corpus::sources(), format).document.to_string();
        assert_eq!(bytes(), bytes());
    }
}

#[test]
fn r_reg_07_an_empty_list_of_tools_is_valid() {
    for format in Format::all() {
        assert_eq!(
            check_tools(&definitions(&[], format).document, format),
            [],
            "{format}"
        );
    }
}

#[test]
fn r_reg_07_deferred_formats_have_a_search_tool() {
    let sources = corpus::sources();
    let anthropic = definitions(&sources, Format::AnthropicDeferred).document;
    assert_eq!(anthropic[0]["type"], "tool_search_tool_bm25_20251119");
    assert!(
        anthropic.as_array().unwrap()[1..]
            .iter()
            .all(|t| t["defer_loading"] == true)
    );

    let openai = definitions(&sources, Format::OpenAiDeferred).document;
    let kinds: Vec<&str> = openai
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[0], "tool_search");
    let last: Vec<&str> = kinds[kinds.len() - 2..].to_vec();
    assert_eq!(last, ["namespace", "namespace"]);

    let options = ConvertOptions {
        search: DeferredSearch::Client,
        ..ConvertOptions::default()
    };
    let anthropic = definitions_with(&sources, Format::AnthropicDeferred, &options).document;
    assert_eq!(anthropic[0]["name"], SEARCH_TOOL_NAME);
    assert_eq!(check_tools(&anthropic, Format::AnthropicDeferred), []);
    let openai = definitions_with(&sources, Format::OpenAiDeferred, &options).document;
    assert_eq!(openai[0]["execution"], "client");
    assert_eq!(check_tools(&openai, Format::OpenAiDeferred), []);
}

#[test]
fn r_reg_08_names_are_valid_and_map_back() {
    let long = "x".repeat(100);
    let names = ["plain", "9th", "with.dot", "with/slash", &long, "日本", ""];
    let sources: Vec<SourceTool<'_>> = names
        .iter()
        .map(|name| SourceTool {
            name,
            input_schema: "{}",
            ..SourceTool::default()
        })
        .collect();
    for format in Format::all() {
        let rendered = definitions(&sources, format);
        assert_eq!(check_tools(&rendered.document, format), [], "{format}");
        let mut back: Vec<&str> = rendered.names.values().map(String::as_str).collect();
        back.sort_unstable();
        let mut expected = names.to_vec();
        expected.sort_unstable();
        assert_eq!(back, expected, "{format}");
        assert_eq!(rendered.names["plain"], "plain");
        let changed = rendered
            .losses
            .iter()
            .filter(|t| t.losses.iter().any(|l| l.kind == LossKind::NameChanged))
            .count();
        assert_eq!(
            changed,
            if format == Format::Gemini { 6 } else { 5 },
            "{format}"
        );
    }
}

#[test]
fn r_reg_08_renamed_parameters_are_restored_in_a_call() {
    let schema = r#"{"type":"object","properties":{"Created<":{"type":"string"},
        "filter[id]":{"type":"object","properties":{"c d":{"type":"integer"}}}}}"#;
    let source = SourceTool {
        name: "find",
        input_schema: schema,
        ..SourceTool::default()
    };
    let rendered = definitions(std::slice::from_ref(&source), Format::Anthropic);
    let sent = json!({"Created_": "2026", "filter_id_": {"c d": 1}});
    let (name, arguments) = rendered.restore("find", sent).unwrap();
    assert_eq!(name, "find");
    assert_eq!(
        arguments,
        json!({"Created<": "2026", "filter[id]": {"c d": 1}})
    );

    let gemini = definitions(std::slice::from_ref(&source), Format::Gemini);
    let sent = json!({"filter_id_": {"c_d": 1}});
    let (_, arguments) = gemini.restore("find", sent).unwrap();
    assert_eq!(arguments, json!({"filter[id]": {"c d": 1}}));
    assert!(gemini.restore("other", Value::Null).is_none());
}

#[test]
fn r_reg_07_valid_examples_are_sent_and_others_are_reported() {
    let sources = corpus::sources();
    let source = sources.iter().find(|s| s.name == "at_least_one").unwrap();
    let converted = convert(source, Format::Anthropic);
    assert_eq!(converted.definition["input_examples"], json!([{"id": "7"}]));
    let dropped = converted
        .losses
        .iter()
        .filter(|l| l.kind == LossKind::ExampleDropped)
        .count();
    assert_eq!(dropped, 2);
    let in_words = convert(source, Format::Bedrock).definition;
    let text = in_words["toolSpec"]["description"].as_str().unwrap();
    assert!(text.contains(r#"Example arguments: {"id":"7"}"#), "{text}");
}

#[test]
fn r_reg_07_a_long_description_is_truncated_with_a_mark() {
    let text = "é😀".repeat(2_000);
    let source = SourceTool {
        name: "a",
        description: Some(&text),
        input_schema: "{}",
        ..SourceTool::default()
    };
    let options = ConvertOptions {
        description_max: Some(1_024),
        ..ConvertOptions::default()
    };
    for format in Format::all() {
        let converted = convert_with(&source, format, &options);
        let written = converted.definition.to_string();
        assert!(written.contains('…'), "{format}");
        let cuts = converted
            .losses
            .iter()
            .filter(|l| l.kind == LossKind::DescriptionCut)
            .count();
        assert_eq!(cuts, 1, "{format}");
        let whole = convert(&source, format);
        assert_eq!(
            whole
                .losses
                .iter()
                .find(|l| l.kind == LossKind::DescriptionCut),
            None
        );
    }
}

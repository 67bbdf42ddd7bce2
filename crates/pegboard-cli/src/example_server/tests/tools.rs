//! Tests of results and of refused arguments.

use serde_json::{Value, json};

use super::{call, check_data, check_refused, check_text, converse, modern, one};

#[test]
fn every_tool_is_fully_described_and_the_list_is_sorted() {
    let list = one(modern("tools/list", json!({})));
    let tools = list["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            tool["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty()),
            "{name}"
        );
        let description = tool["description"].as_str().unwrap();
        assert!(
            description.ends_with('.') && description.len() > 20,
            "{name}: {description}"
        );
        assert!(!description.contains("  "), "{name}: {description}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        let properties = schema["properties"].as_object().unwrap();
        for (key, property) in properties {
            assert!(
                property["type"].is_string() && property["description"].is_string(),
                "{name}.{key}"
            );
            let required = schema["required"].as_array().unwrap().contains(&json!(key));
            let free = property["default"].is_null();
            assert!(
                !required || free,
                "{name}.{key} is required and has a default"
            );
        }
    }
    let structured = tools
        .iter()
        .filter(|tool| tool["outputSchema"].is_object())
        .count();
    assert!(structured >= 5);
}

#[test]
fn tools_return_expected_results() {
    check_data(
        "add_numbers",
        json!({"a": 1, "b": 2.5}),
        json!({"sum": 3.5}),
    );
    check_data("add_numbers", json!({"a": 1, "b": 2}), json!({"sum": 3}));
    check_data(
        "convert_units",
        json!({"value": 26.2, "from": "mile", "to": "kilometre"}),
        json!({"value": 42.1648128, "unit": "kilometre", "kind": "length"}),
    );
    check_data(
        "convert_units",
        json!({"value": 212, "from": "fahrenheit", "to": "celsius"}),
        json!({"value": 100.0, "unit": "celsius", "kind": "temperature"}),
    );
    check_data(
        "count_words",
        json!({"text": "Grüße an\nalle"}),
        json!({"words": 3, "lines": 2, "characters": 13, "bytes": 15}),
    );
    check_data(
        "date_difference",
        json!({"from": "2024-02-29", "to": "2026-07-28"}),
        json!({
            "total_days": 880, "years": 2, "months": 4, "days": 29,
            "weekday_from": "Thursday", "weekday_to": "Tuesday",
        }),
    );
    check_text("decode_base64", json!({"data": "R3LD\nvMOfZQ=="}), "Grüße");
    check_text("encode_base64", json!({"text": "Grüße"}), "R3LDvMOfZQ==");
    check_text(
        "encode_base64",
        json!({"text": "??>", "alphabet": "url_safe"}),
        "Pz8-",
    );
    check_text("echo", json!({"text": "a", "repeat": 3}), "a\na\na");
    check_text(
        "format_json",
        json!({"json": "{\"b\": 1, \"a\": [ ]}", "style": "minify"}),
        r#"{"b":1,"a":[]}"#,
    );
    check_text(
        "format_json",
        json!({"json": "{\"b\":1,\"a\":2}", "sort_keys": true}),
        "{\n  \"a\": 2,\n  \"b\": 1\n}",
    );
    check_text("hash_text", json!({"text": "", "bytes": 4}), "af1349b9");
    check_data(
        "search_text",
        json!({"text": "one Error\nfine\nerror: time out", "words": "ERROR", "max_results": 1}),
        json!({"lines": [{"number": 1, "text": "one Error"}], "total": 2}),
    );
    check_data(
        "search_text",
        json!({"text": "a b\nb c\nc a", "words": "a c", "match": "any"}),
        json!({"lines": [
            {"number": 1, "text": "a b"}, {"number": 2, "text": "b c"}, {"number": 3, "text": "c a"},
        ], "total": 3}),
    );
    check_text(
        "slugify",
        json!({"text": "Hello,  World! Part 2"}),
        "hello-world-part-2",
    );
    check_text(
        "slugify",
        json!({"text": "Ünder Score", "separator": "_"}),
        "ünder_score",
    );
    check_text(
        "slugify",
        json!({"text": "one two three", "max_length": 9}),
        "one-two",
    );
}

#[test]
fn random_and_time_tools_return_values_in_range() {
    let drawn = call("random_number", json!({"min": -3, "max": 3, "count": 100}));
    let numbers = drawn["structuredContent"]["numbers"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(numbers.len(), 100);
    assert!(
        numbers
            .iter()
            .all(|number| (-3..=3).contains(&number.as_i64().unwrap()))
    );
    let largest = 9_007_199_254_740_991_i64;
    check_data(
        "random_number",
        json!({"min": largest, "max": largest}),
        json!({"numbers": [largest]}),
    );

    let uuids = call("generate_uuid", json!({"count": 50}));
    let uuids: Vec<_> = uuids["content"][0]["text"]
        .as_str()
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        uuids
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        50
    );
    for uuid in uuids {
        let parts: Vec<_> = uuid.split('-').collect();
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
        assert!(
            parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']),
            "{uuid}"
        );
    }

    let now = call("current_time", json!({"utc_offset": "-05:30"}));
    let time = now["structuredContent"]["time"].as_str().unwrap();
    let parsed: jiff::Timestamp = time.parse().unwrap();
    assert_eq!(
        parsed.as_second(),
        now["structuredContent"]["unix_seconds"].as_i64().unwrap()
    );
    assert!(time.ends_with("-05:30"), "{time}");
}

#[test]
fn notes_last_as_long_as_the_server_runs() {
    let add = |text: &str, tag: Value| {
        modern(
            "tools/call",
            json!({"name": "note_add", "arguments": {"text": text, "tag": tag}}),
        )
    };
    let list = |arguments: Value| {
        modern(
            "tools/call",
            json!({"name": "note_list", "arguments": arguments}),
        )
    };
    let answers = converse(&[
        add("milk", json!("shopping")),
        add("call home", Value::Null),
        list(json!({})),
        list(json!({"tag": "shopping"})),
    ]);
    assert_eq!(
        answers[1]["result"]["structuredContent"],
        json!({"id": 2, "notes": 2})
    );
    let milk = json!({"id": 1, "text": "milk", "tag": "shopping"});
    let home = json!({"id": 2, "text": "call home"});
    assert_eq!(
        answers[2]["result"]["structuredContent"]["notes"],
        json!([milk, home])
    );
    assert_eq!(
        answers[3]["result"]["structuredContent"]["notes"],
        json!([milk])
    );
    check_data("note_list", json!({}), json!({"notes": []}));
}

#[test]
fn invalid_arguments_are_refused_with_a_hint() {
    check_refused("add_numbers", json!({"a": 1}), "`b` is missing");
    check_refused(
        "add_numbers",
        json!({"a": "1", "b": 2}),
        "must be a number, not a text",
    );
    check_refused("add_numbers", json!({"a": 1e308, "b": 1e308}), "too large");
    check_refused(
        "echo",
        json!({"txt": "x"}),
        "this tool takes `text`, `repeat`",
    );
    check_refused(
        "echo",
        json!({"text": "x", "repeat": 11}),
        "from 1 to 10, not 11",
    );
    check_refused(
        "echo",
        json!({"text": "x".repeat(1024 * 1024 + 1)}),
        "longer than",
    );
    check_refused("echo", json!([1]), "must be a JSON object, not a list");
    check_refused(
        "convert_units",
        json!({"value": 1, "from": "metre", "to": "kilogram"}),
        "same kind",
    );
    check_refused(
        "convert_units",
        json!({"value": 1, "from": "parsec", "to": "metre"}),
        "nautical_mile",
    );
    check_refused("current_time", json!({"utc_offset": "+25:00"}), "+02:00");
    check_refused("current_time", json!({"utc_offset": "+1:0"}), "+02:00");
    check_refused(
        "date_difference",
        json!({"from": "2025-02-29", "to": "2025-03-01"}),
        "`from` must be a date",
    );
    check_refused("decode_base64", json!({"data": "%%%"}), "not Base64");
    check_refused("decode_base64", json!({"data": "/w=="}), "not text");
    check_refused("format_json", json!({"json": "{\n  \"a\": }"}), "line 2");
    check_refused(
        "encode_base64",
        json!({"text": "x", "alphabet": "base32"}),
        "`standard`, `url_safe`",
    );
    check_refused(
        "random_number",
        json!({"min": 5, "max": 1}),
        "must not be smaller",
    );
    check_refused("slugify", json!({"text": "!!!"}), "no letter and no digit");
    check_refused(
        "search_text",
        json!({"text": "x", "words": " "}),
        "at least one word",
    );
    check_refused("note_add", json!({"text": " "}), "1 to 4000");
    check_refused(
        "note_list",
        json!({"tag": 5}),
        "must be a text, not a number",
    );
}

//! The arguments of a call: `key=value` pairs, JSON objects, or standard input.

use std::io::Read;

use pegboard_catalog::Catalog;
use pegboard_guard::parse_arguments;
use pegboard_model::{Reason, ToolError, UntrustedText};
use serde_json::{Map, Value};

use super::CallArgs;
use crate::failure::Failure;

/// Returns the arguments that the user gave.
pub(super) fn read(
    args: &CallArgs,
    tool: &str,
    catalog: &Catalog,
) -> Result<Map<String, Value>, Failure> {
    if let Some(text) = &args.args {
        return object(text);
    }
    match args.arguments.as_slice() {
        [only] if only == "-" => return object(&standard_input()?),
        several if several.iter().any(|argument| argument == "-") => {
            return Err(invalid_arguments(
                "`-` cannot be combined with other arguments",
                "Use `-` alone, or remove it.",
            ));
        }
        _ => {}
    }
    merged(&args.arguments, &argument_types(tool, catalog))
}

/// Merges pairs and JSON objects. A key must be given once.
fn merged(
    arguments: &[String],
    wanted: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let mut map = Map::new();
    for argument in arguments {
        let given = match argument.trim_start().starts_with('{') {
            true => object(argument)?,
            false => Map::from_iter([pair(argument, wanted)?]),
        };
        for (key, value) in given {
            if map.contains_key(&key) {
                let message = format!("`{}` is given twice", UntrustedText::new(&key));
                return Err(invalid_arguments(message, "Give every key once."));
            }
            map.insert(key, value);
        }
    }
    Ok(map)
}

/// Returns the arguments with standard input read, if they are to be read from there.
pub(super) fn with_input_read(args: &CallArgs) -> Result<CallArgs, Failure> {
    let mut args = args.clone();
    if args.args.is_none() && args.arguments.as_slice() == ["-"] {
        args.args = Some(standard_input()?);
        args.arguments.clear();
    }
    Ok(args)
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| {
        invalid_arguments(format!("standard input: {error}"), "Pipe a JSON object in.")
    })?;
    Ok(text)
}

fn invalid_arguments(message: impl Into<String>, remedy: &str) -> Failure {
    ToolError::new(Reason::ArgsInvalid, message)
        .with_remedy(remedy)
        .into()
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    match parse_arguments(text)? {
        Value::Object(map) => Ok(map),
        _ => Err(invalid_arguments(
            "the arguments are not a JSON object",
            r#"Write {"key": value}."#,
        )),
    }
}

pub(super) fn not_json(error: serde_json::Error) -> Failure {
    let remedy = r#"Write a JSON object such as {"key": "value"}."#;
    invalid_arguments(format!("the arguments are not JSON: {error}"), remedy)
}

/// Returns the schemas of the tool's parameters by name.
fn argument_types(tool: &str, catalog: &Catalog) -> Map<String, Value> {
    let schema = catalog
        .find(tool)
        .ok()
        .and_then(|view| view.tool().map(|t| t.input_schema().to_owned()));
    let schema: Option<Value> = schema.and_then(|text| serde_json::from_str(&text).ok());
    match schema.as_ref().and_then(|schema| schema.get("properties")) {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    }
}

fn pair(argument: &str, wanted: &Map<String, Value>) -> Result<(String, Value), Failure> {
    let Some((key, text)) = argument.split_once('=').filter(|_| !is_json(argument)) else {
        let shown = UntrustedText::new(argument).shortened(100).to_string();
        let message = match is_json(argument) {
            true => format!("`{shown}` is JSON, but not an object"),
            false => format!("`{shown}` is not key=value"),
        };
        return Err(invalid_arguments(
            message,
            r#"Write key=value, key:=json, or an object such as '{"key": 1}'."#,
        ));
    };
    if let Some(key) = key.strip_suffix(':') {
        let value = parse_arguments(text).map_err(|error| {
            let message = format!("`{}`: {}", UntrustedText::new(key), error.message);
            invalid_arguments(
                message,
                "Quote strings and give every key once: key:='\"text\"'.",
            )
        })?;
        return Ok((key.to_owned(), value));
    }
    let value = match serde_json::from_str::<Value>(text) {
        // Parsed again, because the first parser drops duplicate keys.
        Ok(value) if accepts_json(wanted.get(key), &value) => parse_arguments(text)?,
        _ => Value::String(text.to_owned()),
    };
    Ok((key.to_owned(), value))
}

/// Returns true if a text is a JSON array, string, number or keyword.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns true if a parameter's schema accepts this JSON value; otherwise the value is passed as text.
fn accepts_json(schema: Option<&Value>, value: &Value) -> bool {
    let kind = match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
        Value::String(_) => return false,
    };
    let Some(schema) = schema else {
        return false;
    };
    let named = |word: &Value| {
        word.as_str()
            .is_some_and(|word| word == kind || (word == "integer" && kind == "number"))
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(named) && !kinds.iter().any(|k| k == "string")
        }
        Some(word) => named(word),
        None => ["anyOf", "oneOf"].iter().any(|key| {
            let branches = schema.get(*key).and_then(Value::as_array);
            branches.is_some_and(|all| all.iter().any(|branch| accepts_json(Some(branch), value)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(argument: &str, schema: Value, expected: Value) {
        let Value::Object(schema) = schema else {
            panic!()
        };
        assert_eq!(pair(argument, &schema).unwrap().1, expected, "{argument}");
    }

    #[test]
    fn values_are_parsed_by_the_type_of_the_schema() {
        check("n=3", json!({"n": {"type": "integer"}}), json!(3));
        check("n=3", json!({"n": {"type": "string"}}), json!("3"));
        check("n=3", json!({}), json!("3"));
        check(
            "n=true",
            json!({"n": {"type": ["boolean", "null"]}}),
            json!(true),
        );
        check(
            "n=true",
            json!({"n": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}),
            json!(true),
        );
        check("n=[1,2]", json!({"n": {"type": "array"}}), json!([1, 2]));
        check("n=a=b", json!({"n": {"type": "string"}}), json!("a=b"));
        check("n:={\"a\":1}", json!({}), json!({"a": 1}));
        assert!(pair("no", &Map::new()).is_err());
        assert!(pair("n:=no", &Map::new()).is_err());
    }

    #[test]
    fn r_cli_08_objects_and_pairs_are_merged_and_each_key_is_given_once() {
        let schema = json!({"n": {"type": "integer"}});
        let Value::Object(schema) = schema else {
            panic!()
        };
        let check = |arguments: &[&str], expected: Result<Value, &str>| {
            let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
            match (merged(&arguments, &schema), expected) {
                (Ok(map), Ok(expected)) => assert_eq!(Value::Object(map), expected),
                (Err(failure), Err(part)) => {
                    let text = format!("{failure:?}");
                    assert!(text.contains(part), "{text}");
                }
                (found, expected) => panic!("{arguments:?}: {found:?} is not {expected:?}"),
            }
        };
        check(&[r#"{"json":1}"#], Ok(json!({"json": 1})));
        check(
            &[r#" {"a": [1]}"#, "n=3", r#"{"b": null}"#],
            Ok(json!({"a": [1], "n": 3, "b": null})),
        );
        check(&["{}"], Ok(json!({})));
        check(&[r#"{"n":1}"#, "n=3"], Err("`n` is given twice"));
        check(&["n=3", r#"{"n":1}"#], Err("`n` is given twice"));
        check(&[r#"{"n":1,"n":2}"#], Err("ArgsInvalid"));
        check(&["[1]"], Err("`[1]` is JSON, but not an object"));
        check(&[r#"["a=b"]"#], Err("is JSON, but not an object"));
        check(&["5"], Err("`5` is JSON, but not an object"));
        check(&["{broken"], Err("ArgsInvalid"));
        check(&["word"], Err("`word` is not key=value"));
    }
}

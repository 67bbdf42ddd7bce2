//! Validation of elicitation forms.

use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

use super::Refusal;
use super::secrets::SecretDetector;

/// Maximum number of fields of a form.
const FIELDS_MAX: usize = 50;
/// Maximum number of choices of a field.
const CHOICES_MAX: usize = 500;
/// Maximum number of characters of a field name, a title or a choice.
const TITLE_MAX: usize = 200;
/// Maximum number of characters of a description.
const DESCRIPTION_MAX: usize = 1_000;
/// Maximum nesting depth of a schema; the protocol uses four levels.
const DEPTH_MAX: usize = 8;

/// Checks the schema of a form. Texts are escaped and truncated. Values that are sent back to the server must not
/// contain hidden characters, because escaping them would change the response.
pub(super) fn check_form(
    mut schema: Value,
    secrets: &mut SecretDetector,
) -> Result<Value, Refusal> {
    let Some(form) = schema.as_object_mut() else {
        return Err(Refusal::new("`requestedSchema` is not an object"));
    };
    for (name, value) in form.iter_mut() {
        if name != "properties" {
            check_member(name, value, secrets, 0)?;
        }
    }
    match form.get_mut("properties") {
        None => {}
        Some(Value::Object(fields)) if fields.len() > FIELDS_MAX => {
            let why = format!("the form has more than {FIELDS_MAX} fields");
            return Err(Refusal::new(why));
        }
        Some(Value::Object(fields)) => {
            for (name, field) in fields.iter_mut() {
                check_value(name, "a field's name")?;
                secrets.read_name(name);
                check_field(field, secrets)?;
            }
        }
        Some(_) => return Err(Refusal::new("`properties` of the form is not an object")),
    }
    Ok(schema)
}

fn check_field(field: &mut Value, secrets: &mut SecretDetector) -> Result<(), Refusal> {
    let Some(field) = field.as_object_mut() else {
        return Err(Refusal::new("a field of the form is not an object"));
    };
    note_entry(field, secrets);
    check_members(field, secrets, 0)
}

/// Records what can be entered into a field.
fn note_entry(field: &Map<String, Value>, secrets: &mut SecretDetector) {
    let is_choice = |of: &Map<String, Value>| {
        ["enum", "oneOf", "anyOf", "const"]
            .iter()
            .any(|key| of.contains_key(*key))
    };
    match field.get("type").and_then(Value::as_str) {
        Some("boolean") => {}
        Some("number" | "integer") => secrets.takes_number(),
        Some("array") => {
            let items = field.get("items").and_then(Value::as_object);
            if !items.is_some_and(is_choice) {
                secrets.takes_text();
            }
        }
        _ if is_choice(field) => {}
        _ => secrets.takes_text(),
    }
    let is_password = field.get("format").and_then(Value::as_str) == Some("password");
    if is_password || field.get("writeOnly") == Some(&Value::Bool(true)) {
        secrets.takes_secret();
    }
}

fn check_members(
    object: &mut Map<String, Value>,
    secrets: &mut SecretDetector,
    depth: usize,
) -> Result<(), Refusal> {
    for (name, value) in object.iter_mut() {
        check_member(name, value, secrets, depth)?;
    }
    Ok(())
}

fn check_member(
    name: &str,
    value: &mut Value,
    secrets: &mut SecretDetector,
    depth: usize,
) -> Result<(), Refusal> {
    if depth > DEPTH_MAX {
        return Err(Refusal::new("the form is nested too deeply"));
    }
    match (name, value) {
        // The server compares the response with these values.
        ("enum", Value::Array(choices)) => {
            check_count(choices)?;
            for choice in choices.iter().filter_map(Value::as_str) {
                check_value(choice, "a choice")?;
            }
            Ok(())
        }
        ("const" | "required" | "type" | "format" | "$schema", value) => check_strings(value),
        ("default", Value::String(text)) => {
            if text.chars().count() > DESCRIPTION_MAX {
                let why = format!("a default is longer than {DESCRIPTION_MAX} characters");
                return Err(Refusal::new(why));
            }
            secrets.read(text);
            *text = UntrustedText::block(text).to_string();
            Ok(())
        }
        ("default", value) => check_strings(value),
        (name, Value::String(text)) => {
            secrets.read(text);
            let limit = if name == "description" {
                DESCRIPTION_MAX
            } else {
                TITLE_MAX
            };
            *text = one_line(text, limit);
            Ok(())
        }
        (name, Value::Array(items)) => {
            check_count(items)?;
            for item in items {
                check_member(name, item, secrets, depth + 1)?;
            }
            Ok(())
        }
        (_, Value::Object(inner)) => {
            for key in inner.keys() {
                check_value(key, "a key of the form")?;
            }
            check_members(inner, secrets, depth + 1)
        }
        _ => Ok(()),
    }
}

fn check_count(items: &[Value]) -> Result<(), Refusal> {
    if items.len() > CHOICES_MAX {
        let why = format!("a field has more than {CHOICES_MAX} choices");
        return Err(Refusal::new(why));
    }
    Ok(())
}

fn check_strings(value: &Value) -> Result<(), Refusal> {
    match value {
        Value::String(text) => check_value(text, "a value"),
        Value::Array(items) => items.iter().try_for_each(check_strings),
        _ => Ok(()),
    }
}

/// Checks a text that is sent back to the server and therefore cannot be escaped.
fn check_value(text: &str, what: &str) -> Result<(), Refusal> {
    if text.chars().count() > TITLE_MAX {
        let why = format!("{what} is longer than {TITLE_MAX} characters");
        return Err(Refusal::new(why));
    }
    let shown = UntrustedText::new(text).to_string();
    if shown != text {
        return Err(Refusal::new(format!(
            "{what} has hidden characters: {shown}"
        )));
    }
    Ok(())
}

/// A text on one line, so that it cannot imitate several parts of the form.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ").replace('`', "'");
    UntrustedText::new(&line).shortened(limit).to_string()
}

/// Escapes all texts in a value that a client may show.
pub(super) fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = one_line(text, DESCRIPTION_MAX),
        Value::Array(items) => items.iter_mut().for_each(show),
        Value::Object(members) => members.values_mut().for_each(show),
        _ => {}
    }
}

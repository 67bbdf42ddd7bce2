//! Generates a valid example call from a tool's schema.

use pegboard_guard::ArgumentValidator;
use serde_json::{Map, Value, json};

use crate::flatten::flatten_schema;
use crate::sample::sample_text;

/// Nested objects and arrays that are generated.
const MAX_DEPTH: usize = 8;
/// Items of an array, and properties of an object, that are generated.
const MAX_ITEMS: usize = 40;
/// Alternatives that are tried.
const MAX_BRANCHES: usize = 4;

/// How values are generated. Several strategies are tried until the result is valid.
#[derive(Clone, Copy)]
struct Strategy {
    /// The alternative of `anyOf` and `oneOf`.
    branch: usize,
    /// Whether `default` and `examples` are used.
    hints: bool,
    /// Whether optional properties are generated.
    all: bool,
}

/// Returns arguments that satisfy a schema: the required ones, with the schema's own examples, defaults and enum
/// values. Returns `None` if no valid example was found.
pub fn generate_example(input_schema: &str) -> Option<Value> {
    let check = ArgumentValidator::strict(input_schema)?;
    let root: Value = serde_json::from_str(input_schema).ok()?;
    let fits = |arguments: &Value| {
        arguments.is_object()
            && check
                .errors(arguments)
                .is_some_and(|faults| faults.is_empty())
    };
    if let Some(preset) = root
        .get("examples")
        .and_then(|examples| examples.get(0))
        .filter(|preset| fits(preset))
    {
        return Some(preset.clone());
    }
    let strategies = (0..MAX_BRANCHES).flat_map(|branch| {
        let strategies = [(true, false), (false, false), (true, true), (false, true)];
        strategies.map(|(hints, all)| Strategy { branch, hints, all })
    });
    // Arguments are an object even if the schema does not say so.
    let mut tries = strategies.map(|strategy| {
        let flat = flatten_schema(&root, &root, strategy.branch);
        preset(&flat, strategy).unwrap_or_else(|| make_object(&root, &flat, strategy, MAX_DEPTH))
    });
    tries.find(fits)
}

fn make(
    root: &Value,
    flat: &Map<String, Value>,
    name: &str,
    strategy: Strategy,
    levels: usize,
) -> Value {
    if let Some(preset) = preset(flat, strategy) {
        return preset;
    }
    let Some(levels) = levels.checked_sub(1) else {
        return Value::Null;
    };
    match kind(flat) {
        "object" => make_object(root, flat, strategy, levels),
        "array" => make_array(root, flat, name, strategy, levels),
        "integer" | "number" => make_number(flat),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => Value::from(sample_text(flat, name)),
    }
}

/// Returns a value that the schema itself contains.
fn preset(flat: &Map<String, Value>, strategy: Strategy) -> Option<Value> {
    if let Some(only) = flat.get("const") {
        return Some(only.clone());
    }
    let listed = flat.get("enum").and_then(Value::as_array);
    let listed = listed.and_then(|values| values.iter().find(|value| !value.is_null()));
    let hinted = || {
        let examples = flat.get("examples").and_then(|examples| examples.get(0));
        let hints = [flat.get("default"), examples, flat.get("example")];
        hints.into_iter().flatten().find(|hint| !hint.is_null())
    };
    let hinted = if strategy.hints { hinted() } else { None };
    hinted.or(listed).cloned()
}

fn kind(flat: &Map<String, Value>) -> &str {
    match flat.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        _ if flat.contains_key("properties") => "object",
        _ if flat.contains_key("items") => "array",
        _ if flat.contains_key("minimum") || flat.contains_key("maximum") => "number",
        _ => "string",
    }
}

fn make_object(
    root: &Value,
    flat: &Map<String, Value>,
    strategy: Strategy,
    levels: usize,
) -> Value {
    let empty = Map::new();
    let properties = flat
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required: Vec<&str> = flat
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let least = count(flat, "minProperties").unwrap_or(0);
    let mut made = Map::new();
    let make_field = |name: &str| {
        let schema = properties
            .get(name)
            .or_else(|| flat.get("additionalProperties"));
        let schema = schema.unwrap_or(&Value::Null);
        make(
            root,
            &flatten_schema(root, schema, strategy.branch),
            name,
            strategy,
            levels,
        )
    };
    for name in required.iter().take(MAX_ITEMS) {
        made.insert((*name).to_owned(), make_field(name));
    }
    for name in properties.keys().take(MAX_ITEMS) {
        if (strategy.all || made.len() < least) && !made.contains_key(name) {
            made.insert(name.clone(), make_field(name));
        }
    }
    for number in 1..=MAX_ITEMS {
        if made.len() >= least.min(MAX_ITEMS) {
            break;
        }
        made.insert(format!("key{number}"), make_field("key"));
    }
    Value::Object(made)
}

fn make_array(
    root: &Value,
    flat: &Map<String, Value>,
    name: &str,
    strategy: Strategy,
    levels: usize,
) -> Value {
    let most = count(flat, "maxItems").unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
    let wanted = count(flat, "minItems").unwrap_or(0).max(1).min(most);
    let fixed = flat
        .get("prefixItems")
        .or_else(|| flat.get("items").filter(|items| items.is_array()));
    if let Some(schemas) = fixed.and_then(Value::as_array) {
        let items = schemas.iter().take(MAX_ITEMS);
        return items
            .map(|schema| {
                make(
                    root,
                    &flatten_schema(root, schema, strategy.branch),
                    name,
                    strategy,
                    levels,
                )
            })
            .collect();
    }
    let schema = flat
        .get("items")
        .or_else(|| flat.get("contains"))
        .unwrap_or(&Value::Null);
    let inner = flatten_schema(root, schema, strategy.branch);
    let unique = flat.get("uniqueItems") == Some(&Value::Bool(true));
    let item = |number: usize| {
        let listed = inner.get("enum").and_then(|values| values.get(number));
        match (listed, make(root, &inner, name, strategy, levels)) {
            (Some(value), _) if number > 0 => value.clone(),
            (_, Value::String(text)) if unique && number > 0 => {
                Value::from(format!("{text}{number}"))
            }
            (_, Value::Number(first)) if unique && number > 0 => {
                json!(
                    first
                        .as_i64()
                        .unwrap_or_default()
                        .saturating_add(number as i64)
                )
            }
            (_, value) => value,
        }
    };
    (0..wanted).map(item).collect()
}

fn make_number(flat: &Map<String, Value>) -> Value {
    let bound = |key: &str| flat.get(key).and_then(Value::as_f64);
    let whole = kind(flat) == "integer";
    let nudge = if whole { 1.0 } else { 0.5 };
    // Draft 4 writes `exclusiveMinimum: true` next to `minimum`.
    let strictly = |key: &str| flat.get(key) == Some(&Value::Bool(true));
    let low = bound("exclusiveMinimum")
        .or_else(|| bound("minimum").filter(|_| strictly("exclusiveMinimum")))
        .map(|low| low + nudge)
        .or_else(|| bound("minimum"));
    let high = bound("exclusiveMaximum")
        .map(|high| high - nudge)
        .or_else(|| bound("maximum"));
    let mut value = match (low, high) {
        (Some(low), _) if low > 1.0 => low,
        (_, Some(high)) if high < 1.0 => high.max(low.unwrap_or(high)),
        (Some(low), Some(high)) if high < 1.0 => f64::midpoint(low, high),
        _ => 1.0,
    };
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
        value = (value / step).ceil() * step;
    }
    if whole {
        value = value.ceil();
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the range is checked before"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return json!(value as i64);
    }
    json!(value)
}

fn count(flat: &Map<String, Value>, key: &str) -> Option<usize> {
    flat.get(key)
        .and_then(Value::as_u64)
        .and_then(|count| usize::try_from(count).ok())
}

//! Checks of a tool's schemas: type, size and references.

use pegboard_model::{Limits, Reason};
use serde_json::Value;

use crate::{headers, nesting::nesting, references};

/// Why a definition was rejected: the reason and the details.
pub(crate) type Problem = (Reason, String);

/// Checks the raw text of an `inputSchema`.
pub(crate) fn check_input(raw: &str, over_http: bool, limits: &Limits) -> Result<(), Problem> {
    let schema = check_any("inputSchema", raw, limits)?;
    if let Some(kind) = schema.get("type") {
        let is_object = |kind: &Value| kind == "object";
        if !is_object(kind)
            && !kind
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(is_object))
        {
            return Err((
                Reason::SchemaInvalid,
                "`inputSchema.type` is not `object`; arguments are always an object".to_owned(),
            ));
        }
    }
    if over_http {
        headers::check(&schema)?;
    }
    Ok(())
}

/// Checks the raw text of an `outputSchema`, which may describe any JSON value.
pub(crate) fn check_output(raw: &str, limits: &Limits) -> Result<(), Problem> {
    check_any("outputSchema", raw, limits).map(drop)
}

fn check_any(field: &str, raw: &str, limits: &Limits) -> Result<Value, Problem> {
    if !raw.starts_with('{') {
        return Err((Reason::SchemaInvalid, format!("`{field}` is not an object")));
    }
    let depth = nesting(raw);
    if depth > limits.schema_depth {
        let limit = limits.schema_depth;
        let detail = format!("`{field}` has {depth} levels; {limit} are allowed");
        return Err((Reason::SchemaTooDeep, detail));
    }
    if raw.len() > limits.schema_bytes {
        let (bytes, limit) = (raw.len(), limits.schema_bytes);
        let detail = format!("`{field}` has {bytes} bytes; {limit} are allowed");
        return Err((Reason::SchemaTooLarge, detail));
    }
    let schema: Value = serde_json::from_str(raw).map_err(|error| {
        (
            Reason::SchemaInvalid,
            format!("`{field}` is not valid JSON: {error}"),
        )
    })?;
    let nodes = count(&schema);
    if nodes > limits.schema_nodes {
        let limit = limits.schema_nodes;
        let detail = format!("`{field}` has {nodes} values; {limit} are allowed");
        return Err((Reason::SchemaTooLarge, detail));
    }
    references::check(field, &schema)?;
    Ok(schema)
}

/// Counts all values. The nesting depth was checked before.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(map) => map.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0_usize,
    }
}

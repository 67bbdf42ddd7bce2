//! Admission of the tools that a server sent.

use std::collections::{HashMap, HashSet};

use pegboard_model::{
    Annotations, ExposedName, Limits, Reason, Rejection, ServerName, TOOL_NAME_MAX, Tool,
    UntrustedText,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::duplicate_keys::has_duplicate_key;
use crate::fields::Fields;
use crate::nesting::nesting;
use crate::schema::{Problem, check_input, check_output};
use crate::{estimate_tokens, fallback_summary, fingerprint, shorten, summarise};

/// Maximum number of characters of a tool name in a rejection.
const SHOWN_NAME: usize = 80;

/// The result of checking a server's tool list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admission {
    /// The admitted tools, sorted by name.
    pub tools: Vec<Tool>,
    /// The rejected tools, in the order they were sent.
    pub rejections: Vec<Rejection>,
}

/// Checks each tool independently; an invalid one does not affect the others. `over_http` adds the rules for arguments
/// that are sent as HTTP headers.
pub fn admit(
    server: &ServerName,
    over_http: bool,
    raw: &[Box<RawValue>],
    limits: &Limits,
) -> Admission {
    admit_with_known(server, over_http, raw, &[], limits)
}

/// Like [`admit`], but reuses the result for definitions that are byte-identical to a known tool.
pub fn admit_with_known(
    server: &ServerName,
    over_http: bool,
    raw: &[Box<RawValue>],
    known: &[Tool],
    limits: &Limits,
) -> Admission {
    let known: HashMap<&str, &Tool> = known.iter().map(|tool| (&*tool.definition, tool)).collect();
    let mut admission = Admission::default();
    let (mut names, mut exposed) = (HashSet::new(), HashSet::new());
    for (position, definition) in raw.iter().enumerate() {
        let definition = definition.get();
        let admitted = match known.get(definition) {
            Some(tool) => Ok(Tool::clone(tool)),
            None => admit_one(server, over_http, definition, limits),
        };
        let admitted = admitted.and_then(|tool| {
            if names.contains(&tool.name) {
                return Err((
                    Reason::ToolDuplicate,
                    "another tool has the same name".to_owned(),
                ));
            }
            if exposed.contains(&tool.exposed) {
                let detail = format!("another tool is already exposed as `{}`", tool.exposed);
                return Err((Reason::ToolDuplicate, detail));
            }
            Ok(tool)
        });
        match admitted {
            Ok(tool) => {
                names.insert(tool.name.clone());
                exposed.insert(tool.exposed.clone());
                admission.tools.push(tool);
            }
            Err((reason, detail)) => {
                let tool = shown_name(definition, position);
                admission.rejections.push(Rejection {
                    tool,
                    reason,
                    detail,
                });
            }
        }
    }
    admission
        .tools
        .sort_by(|one, other| one.name.cmp(&other.name));
    admission
}

fn admit_one(
    server: &ServerName,
    over_http: bool,
    definition: &str,
    limits: &Limits,
) -> Result<Tool, Problem> {
    if definition.len() > limits.tool_bytes {
        let (bytes, limit) = (definition.len(), limits.tool_bytes);
        let detail = format!("the definition has {bytes} bytes; {limit} are allowed");
        return Err((Reason::ToolTooLarge, detail));
    }
    let fields = Fields::read(definition).map_err(|error| malformed(error.to_string()))?;
    check_nesting(&fields, limits)?;
    if has_duplicate_key(definition) {
        return Err(malformed("an object has a duplicate key"));
    }
    let name = name_of(&fields)?;
    let title = text_of(&fields, "title")?;
    let description = text_of(&fields, "description")?.unwrap_or_default();
    if let Some(schema) = fields.raw("inputSchema") {
        check_input(schema, over_http, limits)?;
    }
    if let Some(schema) = fields.raw("outputSchema") {
        check_output(schema, limits)?;
    }
    let hints = object_of(&fields, "annotations")?;
    let meta = object_of(&fields, "_meta")?;
    if fields
        .raw("icons")
        .is_some_and(|icons| !icons.starts_with('['))
    {
        return Err(malformed("`icons` is not an array"));
    }
    let annotations = annotations_of(&hints)?;
    let says_deprecated = |value: &Value| value.get("deprecated") == Some(&Value::Bool(true));
    let deprecated =
        says_deprecated(&hints) || says_deprecated(&meta) || opens_with_deprecated(&description);
    let fingerprint =
        fingerprint(definition).ok_or_else(|| malformed("the definition is not valid JSON"))?;
    let hinted_title = hints
        .get("title")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let summary = summarise(&description)
        .or_else(|| {
            title
                .or(hinted_title)
                .map(|title| shorten(&title))
                .filter(|line| !line.is_empty())
        })
        .unwrap_or_else(|| fallback_summary(server, &name));
    Ok(Tool {
        exposed: ExposedName::of(server, &name),
        name,
        definition: definition.into(),
        fingerprint,
        summary,
        annotations,
        deprecated,
        tokens: estimate_tokens(definition),
    })
}

/// Must run before anything is parsed recursively.
fn check_nesting(fields: &Fields<'_>, limits: &Limits) -> Result<(), Problem> {
    for (name, raw) in fields.iter() {
        let depth = nesting(raw);
        if matches!(name, "inputSchema" | "outputSchema") {
            if depth > limits.schema_depth {
                let limit = limits.schema_depth;
                let detail = format!("`{name}` has {depth} levels; {limit} are allowed");
                return Err((Reason::SchemaTooDeep, detail));
            }
        } else if depth >= limits.json_depth {
            let shown = UntrustedText::new(name).shortened(SHOWN_NAME);
            return Err(malformed(format!(
                "`{shown}` has {depth} levels of nesting"
            )));
        }
    }
    Ok(())
}

fn name_of(fields: &Fields<'_>) -> Result<String, Problem> {
    let wrong = |detail: &str| (Reason::ToolRejectedName, detail.to_owned());
    match fields.value("name") {
        Ok(Some(Value::String(name))) if name.is_empty() => Err(wrong("the name is empty")),
        Ok(Some(Value::String(name))) if name.chars().count() > TOOL_NAME_MAX => {
            Err(wrong("the name is longer than 128 characters"))
        }
        Ok(Some(Value::String(name))) => Ok(name),
        Ok(None) => Err(wrong("the name is missing")),
        Ok(Some(_)) | Err(_) => Err(wrong("the name is not a string")),
    }
}

fn text_of(fields: &Fields<'_>, key: &str) -> Result<Option<String>, Problem> {
    match fields.value(key) {
        Ok(None) => Ok(None),
        Ok(Some(Value::String(text))) => Ok(Some(text)),
        Ok(Some(_)) | Err(_) => Err(malformed(format!("`{key}` is not a string"))),
    }
}

/// An optional object; `Value::Null` if it is missing.
fn object_of(fields: &Fields<'_>, key: &str) -> Result<Value, Problem> {
    match fields.value(key) {
        Ok(None) => Ok(Value::Null),
        Ok(Some(value)) if value.is_object() => Ok(value),
        Ok(Some(_)) | Err(_) => Err(malformed(format!("`{key}` is not an object"))),
    }
}

fn annotations_of(hints: &Value) -> Result<Annotations, Problem> {
    for (key, hint) in hints.as_object().into_iter().flatten() {
        if key.ends_with("Hint") && !hint.is_boolean() && !hint.is_null() {
            let shown = UntrustedText::new(key).shortened(SHOWN_NAME);
            return Err(malformed(format!("`annotations.{shown}` is not a boolean")));
        }
    }
    let hint = |key: &str| hints.get(key).and_then(Value::as_bool);
    Ok(Annotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    })
}

fn opens_with_deprecated(description: &str) -> bool {
    const WORD: &str = "deprecated";
    let text = description.trim_start_matches(|c: char| !c.is_alphanumeric());
    let follows = text.get(WORD.len()..).and_then(|rest| rest.chars().next());
    text.get(..WORD.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(WORD))
        && !follows.is_some_and(|next| next.is_alphanumeric() || next == '_')
}

fn malformed(detail: impl Into<String>) -> Problem {
    (Reason::ToolMalformed, detail.into())
}

/// The name of a rejected tool, or its position in the list.
fn shown_name(definition: &str, position: usize) -> String {
    let name = Fields::read(definition)
        .ok()
        .and_then(|fields| match fields.value("name") {
            Ok(Some(Value::String(name))) if !name.is_empty() => Some(name),
            _ => None,
        });
    match name {
        Some(name) => UntrustedText::new(&name).shortened(SHOWN_NAME).to_string(),
        None => format!("#{}", position + 1),
    }
}

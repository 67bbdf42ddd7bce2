//! OpenAI's strict mode: all objects are closed, all properties are required, and few keywords are supported.
//!
//! An optional parameter becomes nullable; `Restore` removes the `null` again. A schema that would lose more than can be
//! described in text is sent without strict mode.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::keywords::type_of;
use crate::limits::{
    STRICT_CHARACTERS_MAX, STRICT_ENUM_VALUES_MAX, STRICT_LEVELS_MAX, STRICT_LONG_ENUM,
    STRICT_LONG_ENUM_CHARACTERS, STRICT_PROPERTIES_MAX,
};
use crate::loss::LossKind;
use crate::passes::shape::{Shape, shape};
use crate::pattern::is_regular;
use crate::providers::unsupported_keywords::describe_unsupported;
use crate::restore::{ArgumentPath, RestoreBuilder};

/// The formats that strict mode supports.
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Keywords that cannot be replaced by text; with them strict mode is not used.
const NOT_DESCRIBABLE: [&str; 15] = [
    "$ref",
    "$defs",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "prefixItems",
    "contains",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];

/// Why strict mode is not possible.
pub(crate) type Reason = String;

/// Rewrites a schema for strict mode.
pub(crate) fn rewrite(
    root: SchemaObject,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) -> Result<SchemaObject, Reason> {
    let mut rewriter = Rewriter {
        restore,
        properties: 0,
        enum_values: 0,
        characters: 0,
    };
    // A root without parameters can be closed: the tool takes no arguments.
    let root = match rewriter.object(root, &ArgumentPath::new(), 1, ctx)? {
        Value::Object(root) => root,
        _ => return Err("the root is not an object".to_owned()),
    };
    if rewriter.restore.is_ambiguous() {
        return Err("alternatives disagree about `null`".to_owned());
    }
    Ok(root)
}

struct Rewriter<'a> {
    restore: &'a mut RestoreBuilder,
    properties: usize,
    enum_values: usize,
    characters: usize,
}

impl Rewriter<'_> {
    fn schema(
        &mut self,
        node: SchemaObject,
        path: &ArgumentPath,
        level: usize,
        ctx: &mut ConversionContext,
    ) -> Result<Value, Reason> {
        if node.contains_key("$ref") {
            return Err("it is recursive".to_owned());
        }
        match shape(node, ctx) {
            Shape::Any(_) => Err("a part of it accepts any value".to_owned()),
            Shape::Never => Err("a part of it accepts no value".to_owned()),
            Shape::One {
                kind,
                nullable,
                node,
            } => {
                let mut schema = self.one(&kind, node, path, level, ctx)?;
                if nullable && kind != "null" {
                    allow_null(&mut schema);
                }
                Ok(schema)
            }
            Shape::Choice {
                nullable,
                annotations,
                branches,
            } => {
                let mut list = Vec::new();
                for (kind, node) in branches {
                    list.push(self.one(&kind, node, path, level, ctx)?);
                }
                if nullable {
                    list.push(json!({"type": "null"}));
                }
                let mut out = text_of(&annotations);
                describe_unsupported(without_text(annotations), &mut out, ctx);
                out.insert("anyOf".to_owned(), Value::Array(list));
                Ok(Value::Object(out))
            }
        }
    }

    /// Rewrites a schema of one type.
    fn one(
        &mut self,
        kind: &str,
        mut node: SchemaObject,
        path: &ArgumentPath,
        level: usize,
        ctx: &mut ConversionContext,
    ) -> Result<Value, Reason> {
        if let Some(keyword) = NOT_DESCRIBABLE.into_iter().find(|k| node.contains_key(*k)) {
            return Err(format!("`{keyword}` is not supported"));
        }
        if kind == "object" {
            if node.contains_key("enum") {
                return Err("an enum of objects".to_owned());
            }
            let has_properties = node
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|p| !p.is_empty());
            if !has_properties && node.get("additionalProperties") != Some(&json!(false)) {
                return Err("an object with arbitrary properties".to_owned());
            }
            return self.object(node, path, level, ctx);
        }
        let mut out = SchemaObject::new();
        out.insert("type".to_owned(), json!(kind));
        out.extend(text_of(&node));
        node = without_text(node);
        if let Some(Value::Array(values)) = node.shift_remove("enum") {
            self.count_values(&values)?;
            out.insert("enum".to_owned(), Value::Array(values));
        }
        match kind {
            "array" => {
                let items = match node.shift_remove("items") {
                    Some(Value::Object(items)) => items,
                    _ => return Err("an array of any values".to_owned()),
                };
                let mut inside = path.clone();
                inside.push(None);
                let items = ctx.at("items", |ctx| self.schema(items, &inside, level, ctx))?;
                out.insert("items".to_owned(), items);
                keep(&mut node, &mut out, &["minItems", "maxItems"]);
            }
            "string" => {
                if node
                    .get("format")
                    .and_then(Value::as_str)
                    .is_some_and(|f| FORMATS.contains(&f))
                {
                    keep(&mut node, &mut out, &["format"]);
                }
                if node
                    .get("pattern")
                    .and_then(Value::as_str)
                    .is_some_and(is_regular)
                {
                    keep(&mut node, &mut out, &["pattern"]);
                }
            }
            "number" | "integer" => keep(
                &mut node,
                &mut out,
                &[
                    "minimum",
                    "maximum",
                    "exclusiveMinimum",
                    "exclusiveMaximum",
                    "multipleOf",
                ],
            ),
            _ => {}
        }
        describe_unsupported(node, &mut out, ctx);
        Ok(Value::Object(out))
    }

    fn object(
        &mut self,
        mut node: SchemaObject,
        path: &ArgumentPath,
        level: usize,
        ctx: &mut ConversionContext,
    ) -> Result<Value, Reason> {
        if level > STRICT_LEVELS_MAX {
            return Err("it is nested too deeply".to_owned());
        }
        if let Some(keyword) = NOT_DESCRIBABLE.into_iter().find(|k| node.contains_key(*k)) {
            return Err(format!("`{keyword}` is not supported"));
        }
        match node.shift_remove("additionalProperties") {
            Some(Value::Bool(false)) => {}
            None => ctx.record_loss(LossKind::ObjectClosed, ""),
            Some(_) => return Err("an object with additional properties".to_owned()),
        }
        let required: Vec<String> = match node.shift_remove("required") {
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(|n| n.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        let properties = match node.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        if let Some(missing) = required.iter().find(|name| !properties.contains_key(*name)) {
            return Err(format!(
                "`{}` is required but not defined",
                crate::description_text::detail(&json!(missing))
            ));
        }
        node.shift_remove("type");
        let mut out = SchemaObject::new();
        out.insert("type".to_owned(), json!("object"));
        out.extend(text_of(&node));
        let mut written = Map::new();
        for (name, property) in properties {
            let Value::Object(property) = property else {
                continue;
            };
            let value = ctx.at2("properties", &name, |ctx| {
                self.property(&name, property, required.contains(&name), path, level, ctx)
            })?;
            written.insert(name, value);
        }
        let names: Vec<&String> = written.keys().collect();
        let names = json!(names);
        out.insert("properties".to_owned(), Value::Object(written));
        out.insert("required".to_owned(), names);
        out.insert("additionalProperties".to_owned(), json!(false));
        describe_unsupported(without_text(node), &mut out, ctx);
        Ok(Value::Object(out))
    }

    fn property(
        &mut self,
        name: &str,
        schema: SchemaObject,
        required: bool,
        path: &ArgumentPath,
        level: usize,
        ctx: &mut ConversionContext,
    ) -> Result<Value, Reason> {
        self.properties += 1;
        self.characters += name.chars().count();
        if self.properties > STRICT_PROPERTIES_MAX || self.characters > STRICT_CHARACTERS_MAX {
            return Err("it has too many properties".to_owned());
        }
        let mut inside = path.clone();
        inside.push(Some(name.to_owned()));
        let mut value = self.schema(schema, &inside, level + 1, ctx)?;
        let takes_null = takes_null(&value);
        if takes_null {
            self.restore.means_null(path, name);
        } else if !required {
            allow_null(&mut value);
            self.restore.drops_null(path, name);
            ctx.record_loss(LossKind::OptionalAsNull, "");
        }
        Ok(value)
    }

    fn count_values(&mut self, values: &[Value]) -> Result<(), Reason> {
        if values.iter().any(|v| v.is_array() || v.is_object()) {
            return Err("an enum of compound values".to_owned());
        }
        self.enum_values += values.len();
        let characters: usize = values
            .iter()
            .map(|v| {
                v.as_str()
                    .map_or_else(|| v.to_string().len(), |s| s.chars().count())
            })
            .sum();
        self.characters += characters;
        let too_long = values.len() > STRICT_LONG_ENUM && characters > STRICT_LONG_ENUM_CHARACTERS;
        if too_long
            || self.enum_values > STRICT_ENUM_VALUES_MAX
            || self.characters > STRICT_CHARACTERS_MAX
        {
            return Err("it has too many enum values".to_owned());
        }
        Ok(())
    }
}

fn keep(from: &mut SchemaObject, to: &mut SchemaObject, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = from.shift_remove(*keyword) {
            to.insert((*keyword).to_owned(), value);
        }
    }
}

fn text_of(node: &SchemaObject) -> SchemaObject {
    ["title", "description"]
        .into_iter()
        .filter_map(|keyword| Some((keyword.to_owned(), node.get(keyword)?.clone())))
        .collect()
}

fn without_text(mut node: SchemaObject) -> SchemaObject {
    node.shift_remove("title");
    node.shift_remove("description");
    node
}

fn takes_null(schema: &Value) -> bool {
    match (schema.get("anyOf"), schema.get("type")) {
        (Some(Value::Array(branches)), _) => branches.iter().any(takes_null),
        (_, Some(Value::Array(types))) => types.contains(&json!("null")),
        (_, Some(kind)) => kind == "null",
        _ => false,
    }
}

/// Makes a rewritten schema nullable.
fn allow_null(schema: &mut Value) {
    let Value::Object(node) = schema else { return };
    if let Some(Value::Array(branches)) = node.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
        return;
    }
    if let Some(Value::Array(values)) = node.get_mut("enum")
        && !values.iter().any(|v| type_of(v) == "null")
    {
        values.push(Value::Null);
    }
    if let Some(kind) = node.get("type").and_then(Value::as_str).map(str::to_owned) {
        // An object is combined with `null` by `anyOf`, because a list of types with `object` is handled differently.
        if kind == "object" {
            let inner = std::mem::take(node);
            let mut outer = SchemaObject::new();
            let mut inner = inner;
            if let Some(text) = inner.shift_remove("description") {
                outer.insert("description".to_owned(), text);
            }
            outer.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
            *node = outer;
        } else {
            node.insert("type".to_owned(), json!([kind, "null"]));
        }
    }
}

//! One tool in one format.

use pegboard_model::{escape_hidden, escape_hidden_values};
use serde_json::{Map, Value, json};

use crate::alias::{GEMINI_TOOL, TOOL};
use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, append, cut, detail};
use crate::format::Format;
use crate::limits::{DESCRIPTION_MAX, EXAMPLES_MAX};
use crate::loss::{Loss, LossKind};
use crate::passes::clean::clean;
use crate::providers::{ProviderSchema, anthropic, bedrock, gemini, openai};
use crate::restore::Restore;
use crate::source::{ConvertOptions, SourceTool};

/// A tool as a provider takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedTool {
    /// The name under which the provider knows it; nearly always the source's.
    pub name: String,
    /// One entry of the request's `tools`.
    pub definition: Value,
    /// What it cost.
    pub losses: Vec<Loss>,
    /// Turns the model's arguments into the tool's.
    pub restore: Restore,
}

/// Converts one tool with the usual choices.
pub fn convert(source: &SourceTool<'_>, format: Format) -> ConvertedTool {
    convert_with(source, format, &ConvertOptions::default())
}

/// Converts one tool.
pub fn convert_with(
    source: &SourceTool<'_>,
    format: Format,
    options: &ConvertOptions,
) -> ConvertedTool {
    let mut notes = ConversionContext::new();
    let name = name(source.name, format, &mut notes);
    let root = read(source.input_schema, &mut notes);
    let own_text = match root.get("description") {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    let prepared = match format {
        Format::Anthropic | Format::AnthropicDeferred => anthropic::prepare(root, &mut notes),
        Format::OpenAiResponses | Format::OpenAiDeferred | Format::OpenAiChat => {
            openai::prepare(root, options.strict, &mut notes)
        }
        Format::Gemini => gemini::prepare(root, &mut notes),
        Format::Bedrock => bedrock::prepare(root, &mut notes),
    };
    let mut description = source
        .description
        .map(|text| escape_hidden(text).into_owned())
        .filter(|text| !text.trim().is_empty())
        .or(own_text)
        .unwrap_or_default();
    for sentence in &prepared.sentences {
        append(&mut description, sentence);
    }
    let examples = examples(source, format, &prepared, &mut description, &mut notes);
    let limit = options.description_max.unwrap_or(DESCRIPTION_MAX).max(1);
    let whole = description.chars().count();
    if whole > limit {
        description = cut(&description, limit);
        notes.lose(
            LossKind::DescriptionCut,
            format!("{limit} of {whole} characters"),
        );
    }
    let parts = Parts {
        name: &name,
        description: &description,
        strict: prepared.strict,
        examples,
    };
    let definition = parts.assemble(format, prepared.schema);
    ConvertedTool {
        name,
        definition,
        losses: notes.into_losses(),
        restore: prepared.restore,
    }
}

fn name(own: &str, format: Format, notes: &mut ConversionContext) -> String {
    let rule = if format == Format::Gemini {
        GEMINI_TOOL
    } else {
        TOOL
    };
    if rule.fits(own) {
        return own.to_owned();
    }
    let alias = rule.alias(own);
    notes.lose(
        LossKind::NameChanged,
        format!("{} is {alias}", detail(&json!(own))),
    );
    alias
}

fn read(schema: &str, notes: &mut ConversionContext) -> SchemaObject {
    // A model would read what nobody sees.
    match serde_json::from_str::<Value>(&escape_hidden_values(schema)) {
        Ok(Value::Object(root)) => clean(Value::Object(root), notes),
        // A tool that says nothing about its arguments takes any.
        Ok(Value::Null | Value::Bool(true)) => SchemaObject::new(),
        Ok(other) => {
            notes.lose(LossKind::SchemaReplaced, detail(&other));
            SchemaObject::new()
        }
        Err(error) => {
            notes.lose(LossKind::SchemaReplaced, detail(&json!(error.to_string())));
            SchemaObject::new()
        }
    }
}

/// The examples that the provider takes as such; other formats get them in words.
fn examples(
    source: &SourceTool<'_>,
    format: Format,
    prepared: &ProviderSchema,
    description: &mut String,
    notes: &mut ConversionContext,
) -> Vec<Value> {
    if source.examples.is_empty() {
        return Vec::new();
    }
    let shown = source
        .examples
        .iter()
        .take(EXAMPLES_MAX)
        .map(|example| prepared.restore.undo_names(example.clone()));
    if !matches!(format, Format::Anthropic | Format::AnthropicDeferred) {
        for example in shown {
            append(description, &format!("Example arguments: {example}"));
            notes.lose(LossKind::ExampleInWords, detail(&example));
        }
        return Vec::new();
    }
    // An example that does not fit the schema has the whole request refused.
    let schema = prepared.schema.clone().unwrap_or_default();
    let validator = jsonschema::draft202012::new(&schema);
    let (fit, unfit): (Vec<Value>, Vec<Value>) = shown.partition(|example| {
        example.is_object() && validator.as_ref().is_ok_and(|v| v.is_valid(example))
    });
    for example in unfit {
        notes.lose(LossKind::ExampleDropped, detail(&example));
    }
    fit
}

struct Parts<'a> {
    name: &'a str,
    description: &'a str,
    strict: bool,
    examples: Vec<Value>,
}

impl Parts<'_> {
    fn assemble(self, format: Format, schema: Option<Value>) -> Value {
        let mut tool = Map::new();
        if matches!(format, Format::OpenAiResponses | Format::OpenAiDeferred) {
            tool.insert("type".to_owned(), json!("function"));
        }
        tool.insert("name".to_owned(), json!(self.name));
        // No provider needs a description, and Bedrock refuses an empty one.
        if !self.description.is_empty() {
            tool.insert("description".to_owned(), json!(self.description));
        }
        match format {
            Format::Anthropic | Format::AnthropicDeferred => {
                tool.insert("input_schema".to_owned(), schema.unwrap_or_default());
                if !self.examples.is_empty() {
                    tool.insert("input_examples".to_owned(), Value::Array(self.examples));
                }
                if format.is_deferred() {
                    tool.insert("defer_loading".to_owned(), json!(true));
                }
                Value::Object(tool)
            }
            Format::OpenAiResponses | Format::OpenAiDeferred | Format::OpenAiChat => {
                tool.insert("parameters".to_owned(), schema.unwrap_or_default());
                tool.insert("strict".to_owned(), json!(self.strict));
                if format.is_deferred() {
                    tool.insert("defer_loading".to_owned(), json!(true));
                }
                match format {
                    Format::OpenAiChat => json!({"type": "function", "function": tool}),
                    _ => Value::Object(tool),
                }
            }
            Format::Gemini => {
                if let Some(schema) = schema {
                    tool.insert("parameters".to_owned(), schema);
                }
                Value::Object(tool)
            }
            Format::Bedrock => {
                tool.insert("inputSchema".to_owned(), json!({"json": schema}));
                json!({ "toolSpec": tool })
            }
        }
    }
}

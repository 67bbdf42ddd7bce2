//! Conversion of one tool.

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

/// A tool in a provider's format.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedTool {
    /// The name at the provider; nearly always that of the source.
    pub name: String,
    /// One entry of the request's `tools`.
    pub definition: Value,
    /// The losses of the conversion.
    pub losses: Vec<Loss>,
    /// Maps the model's arguments back to the tool's.
    pub restore: Restore,
}

/// Converts one tool with default options.
pub fn convert(source: &SourceTool<'_>, format: Format) -> ConvertedTool {
    convert_with(source, format, &ConvertOptions::default())
}

/// Converts one tool.
pub fn convert_with(
    source: &SourceTool<'_>,
    format: Format,
    options: &ConvertOptions,
) -> ConvertedTool {
    let mut ctx = ConversionContext::new();
    let name = name(source.name, format, &mut ctx);
    let root = read(source.input_schema, &mut ctx);
    let own_text = match root.get("description") {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    let prepared = match format {
        Format::Anthropic | Format::AnthropicDeferred => anthropic::prepare(root, &mut ctx),
        Format::OpenAiResponses | Format::OpenAiDeferred | Format::OpenAiChat => {
            openai::prepare(root, options.strict, &mut ctx)
        }
        Format::Gemini => gemini::prepare(root, &mut ctx),
        Format::Bedrock => bedrock::prepare(root, &mut ctx),
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
    let examples = examples(source, format, &prepared, &mut description, &mut ctx);
    let limit = options.description_max.unwrap_or(DESCRIPTION_MAX).max(1);
    let whole = description.chars().count();
    if whole > limit {
        description = cut(&description, limit);
        ctx.record_loss(
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
        losses: ctx.into_losses(),
        restore: prepared.restore,
    }
}

fn name(own: &str, format: Format, ctx: &mut ConversionContext) -> String {
    let rule = if format == Format::Gemini {
        GEMINI_TOOL
    } else {
        TOOL
    };
    if rule.fits(own) {
        return own.to_owned();
    }
    let alias = rule.alias(own);
    ctx.record_loss(
        LossKind::NameChanged,
        format!("{} is {alias}", detail(&json!(own))),
    );
    alias
}

fn read(schema: &str, ctx: &mut ConversionContext) -> SchemaObject {
    // Models would read hidden characters.
    match serde_json::from_str::<Value>(&escape_hidden_values(schema)) {
        Ok(Value::Object(root)) => clean(Value::Object(root), ctx),
        // A tool without a schema accepts any arguments.
        Ok(Value::Null | Value::Bool(true)) => SchemaObject::new(),
        Ok(other) => {
            ctx.record_loss(LossKind::SchemaReplaced, detail(&other));
            SchemaObject::new()
        }
        Err(error) => {
            ctx.record_loss(LossKind::SchemaReplaced, detail(&json!(error.to_string())));
            SchemaObject::new()
        }
    }
}

/// The examples for providers that support them; for other formats they are appended to the description.
fn examples(
    source: &SourceTool<'_>,
    format: Format,
    prepared: &ProviderSchema,
    description: &mut String,
    ctx: &mut ConversionContext,
) -> Vec<Value> {
    if source.examples.is_empty() {
        return Vec::new();
    }
    let shown = source
        .examples
        .iter()
        .take(EXAMPLES_MAX)
        .map(|example| prepared.restore.to_model_names(example.clone()));
    if !matches!(format, Format::Anthropic | Format::AnthropicDeferred) {
        for example in shown {
            append(description, &format!("Example arguments: {example}"));
            ctx.record_loss(LossKind::ExampleInWords, detail(&example));
        }
        return Vec::new();
    }
    // The provider rejects the whole request if an example does not match the schema.
    let schema = prepared.schema.clone().unwrap_or_default();
    let validator = jsonschema::draft202012::new(&schema);
    let (valid, invalid): (Vec<Value>, Vec<Value>) = shown.partition(|example| {
        example.is_object() && validator.as_ref().is_ok_and(|v| v.is_valid(example))
    });
    for example in invalid {
        ctx.record_loss(LossKind::ExampleDropped, detail(&example));
    }
    valid
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
        // No provider requires a description, and Bedrock rejects an empty one.
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

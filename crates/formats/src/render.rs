//! Conversion of all tools: the value of a request's `tools`.

use std::collections::BTreeMap;

use pegboard_model::escape_hidden;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::alias::TOOL;
use crate::client_search::{anthropic_search_tool, openai_search_tool};
use crate::convert::{ConvertedTool, convert_with};
use crate::format::Format;
use crate::loss::Loss;
use crate::restore::Restore;
use crate::source::{ConvertOptions, DeferredSearch, SourceTool};

/// The tools of a request.
#[derive(Clone, Debug)]
pub struct RenderedTools {
    /// The value of `tools`; for Bedrock of `toolConfig.tools`.
    pub document: Value,
    /// The losses of each tool, in the order of the sources; tools without losses are omitted.
    pub losses: Vec<ToolLosses>,
    /// Maps the provider's names to the names of the sources.
    pub names: BTreeMap<String, String>,
    /// The mapping of arguments, by the provider's names, for tools that need one.
    pub restores: BTreeMap<String, Restore>,
}

/// The losses of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolLosses {
    /// The name of the source.
    pub name: String,
    /// Its losses.
    pub losses: Vec<Loss>,
}

impl RenderedTools {
    /// Maps a call of the model to the name of the source and the tool's own arguments. `None` for an unknown name.
    pub fn restore(&self, name: &str, arguments: Value) -> Option<(&str, Value)> {
        let own = self.names.get(name)?;
        let arguments = match self.restores.get(name) {
            Some(restore) => restore.apply(arguments),
            None => arguments,
        };
        Some((own, arguments))
    }
}

/// Converts all tools with default options.
pub fn definitions(sources: &[SourceTool<'_>], format: Format) -> RenderedTools {
    definitions_with(sources, format, &ConvertOptions::default())
}

/// Converts all tools, in the order of the sources. If the format groups tools by server, the servers are in the order
/// of their first tools.
pub fn definitions_with(
    sources: &[SourceTool<'_>],
    format: Format,
    options: &ConvertOptions,
) -> RenderedTools {
    let mut rendered = RenderedTools {
        document: Value::Null,
        losses: Vec::new(),
        names: BTreeMap::new(),
        restores: BTreeMap::new(),
    };
    let mut tools: Vec<(&SourceTool<'_>, Value)> = Vec::with_capacity(sources.len());
    for source in sources {
        let converted = convert_with(source, format, options);
        let ConvertedTool {
            name,
            definition,
            losses,
            restore,
        } = converted;
        if !losses.is_empty() {
            rendered.losses.push(ToolLosses {
                name: source.name.to_owned(),
                losses,
            });
        }
        if !restore.is_identity() {
            rendered.restores.insert(name.clone(), restore);
        }
        rendered.names.insert(name, source.name.to_owned());
        tools.push((source, definition));
    }
    rendered.document = document(tools, format, options);
    rendered
}

fn document<'a>(
    tools: Vec<(&'a SourceTool<'a>, Value)>,
    format: Format,
    options: &ConvertOptions,
) -> Value {
    let client = options.search == DeferredSearch::Client;
    match format {
        Format::Anthropic | Format::OpenAiResponses | Format::OpenAiChat | Format::Bedrock => {
            entries(tools).collect()
        }
        Format::AnthropicDeferred => {
            // At least one tool must not be deferred: the search tool.
            let search = if client {
                anthropic_search_tool()
            } else {
                json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})
            };
            std::iter::once(search).chain(entries(tools)).collect()
        }
        Format::OpenAiDeferred => {
            let search = if client {
                openai_search_tool()
            } else {
                json!({"type": "tool_search"})
            };
            std::iter::once(search).chain(namespaces(tools)).collect()
        }
        Format::Gemini => {
            let declarations: Vec<Value> = entries(tools).collect();
            if declarations.is_empty() {
                return json!([]);
            }
            json!([{ "functionDeclarations": declarations }])
        }
    }
}

fn entries<'a>(tools: Vec<(&'a SourceTool<'a>, Value)>) -> impl Iterator<Item = Value> {
    tools.into_iter().map(|(_, tool)| tool)
}

/// One namespace per server; tools of the host program are not in a namespace.
fn namespaces(tools: Vec<(&SourceTool<'_>, Value)>) -> Vec<Value> {
    let mut groups: Map<String, Value> = Map::new();
    let mut entries: Vec<Value> = Vec::new();
    for (source, tool) in tools {
        let Some(server) = source.server else {
            entries.push(tool);
            continue;
        };
        let group = groups.entry(server).or_insert_with(|| {
            let name = if TOOL.fits(server) {
                server.to_owned()
            } else {
                TOOL.alias(server)
            };
            let description = source
                .server_description
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map_or_else(
                    || format!("Tools of the server `{name}`."),
                    |text| escape_hidden(text).into_owned(),
                );
            json!({"type": "namespace", "name": name, "description": description, "tools": []})
        });
        if let Some(Value::Array(list)) = group.get_mut("tools") {
            list.push(tool);
        }
    }
    entries.extend(groups.into_iter().map(|(_, group)| group));
    entries
}

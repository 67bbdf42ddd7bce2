//! The tool definitions that a model gets, and the mapping of its calls to tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use pegboard_catalog::{Catalog, ToolView};
use pegboard_formats::{ConvertOptions, DeferredSearch, Format, RenderedTools, ToolLosses};
use pegboard_guard::estimate_tokens;
use pegboard_metatools::is_meta_tool;
use serde_json::Value;

use crate::render::{read_result, render_own_tools, render_tools};

/// How tools are presented to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loading {
    /// As meta tools that search, list, describe and call all others, plus the static tools. Works with every
    /// model, and the token cost does not depend on the configuration.
    #[default]
    Meta,
    /// With the provider's deferred loading: definitions stay out of the prompt until a search, which we run,
    /// returns them.
    Deferred,
    /// All definitions in every request.
    All,
}

/// The tools of one snapshot in the format of one model.
#[derive(Clone, Debug)]
pub struct Definitions {
    document: Value,
    format: Format,
    loading: Loading,
    rendered: Vec<RenderedTools>,
    /// The provider's names of the tools that a search can return, by exposed name.
    searchable: BTreeMap<String, String>,
    /// Estimated tokens of all definitions in the catalog.
    all_tokens: u64,
    offered_tokens: u64,
}

impl Definitions {
    /// Renders the tools of a catalog in a provider's format. If the format does not support deferred loading, the
    /// meta tools are used instead.
    pub fn of(catalog: &Arc<Catalog>, format: Format, loading: Loading) -> Self {
        let loading = match loading {
            Loading::Deferred if deferred(format).is_none() => Loading::Meta,
            loading => loading,
        };
        let options = ConvertOptions::default();
        match loading {
            Loading::Meta => Self::meta(catalog, plain(format), &options),
            Loading::All => Self::all(catalog, plain(format), &options),
            Loading::Deferred => {
                Self::deferred(catalog, deferred(format).unwrap_or(format), &options)
            }
        }
    }

    fn meta(catalog: &Arc<Catalog>, format: Format, options: &ConvertOptions) -> Self {
        let own = render_own_tools(&pegboard_metatools::definitions(), format, options);
        let is_free = |tool: &ToolView<'_>| !is_meta_tool(tool.exposed().as_str());
        let host = catalog.tools().filter(|tool| tool.server().is_none());
        let host = render_tools(host.filter(is_free), format, options);
        let document = joined(entries(&own.document).chain(entries(&host.document)));
        Self::over(catalog, format, Loading::Meta, document, vec![own, host])
    }

    fn all(catalog: &Arc<Catalog>, format: Format, options: &ConvertOptions) -> Self {
        let tools = render_tools(catalog.tools(), format, options);
        let own = render_own_tools(&[read_result()], format, options);
        let document = joined(entries(&tools.document).chain(entries(&own.document)));
        Self::over(catalog, format, Loading::All, document, vec![tools, own])
    }

    fn deferred(catalog: &Arc<Catalog>, format: Format, options: &ConvertOptions) -> Self {
        let options = ConvertOptions {
            search: DeferredSearch::Client,
            ..*options
        };
        let tools = render_tools(catalog.tools(), format, &options);
        let own = render_own_tools(&[read_result()], plain(format), &options);
        // Anthropic looks up search results among the definitions in the request; OpenAI gets them with the search
        // output.
        let sent = match format {
            Format::OpenAiDeferred => 1,
            _ => usize::MAX,
        };
        let sent = entries(&tools.document).take(sent);
        let document = joined(sent.chain(entries(&own.document)));
        let searchable = tools.names.iter();
        let searchable = searchable.map(|(name, own)| (own.clone(), name.clone()));
        let searchable = searchable.collect();
        let mut definitions = Self::over(
            catalog,
            format,
            Loading::Deferred,
            document,
            vec![tools, own],
        );
        definitions.searchable = searchable;
        let entry_tokens = |entry: &Value| u64::from(estimate_tokens(&entry.to_string()));
        definitions.offered_tokens = entries(&definitions.document)
            .filter(|entry| entry.get("defer_loading").is_none())
            .map(entry_tokens)
            .sum();
        definitions
    }

    fn over(
        catalog: &Arc<Catalog>,
        format: Format,
        loading: Loading,
        document: Value,
        rendered: Vec<RenderedTools>,
    ) -> Self {
        Self {
            offered_tokens: u64::from(estimate_tokens(&document.to_string())),
            all_tokens: catalog.tools().map(|tool| u64::from(tool.tokens())).sum(),
            document,
            format,
            loading,
            rendered,
            searchable: BTreeMap::new(),
        }
    }

    /// Returns the value of the request's `tools`; for Bedrock, of `toolConfig.tools`.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns how tools are presented.
    pub fn loading(&self) -> Loading {
        self.loading
    }

    /// Returns what was lost in the conversion to this format.
    pub fn losses(&self) -> impl Iterator<Item = &ToolLosses> {
        self.rendered.iter().flat_map(|rendered| &rendered.losses)
    }

    /// Returns the tool's original name and arguments for a call of the model, or `None` if no tool was offered under
    /// this name.
    pub fn restore(&self, name: &str, arguments: &Value) -> Option<(String, Value)> {
        let offered = |rendered: &&RenderedTools| rendered.names.contains_key(name);
        let rendered = self.rendered.iter().find(offered)?;
        let (own, arguments) = rendered.restore(name, arguments.clone())?;
        Some((own.to_owned(), arguments))
    }

    /// Returns the estimated tokens saved per request, compared with sending all definitions.
    pub fn saved_tokens(&self) -> u64 {
        self.all_tokens.saturating_sub(self.offered_tokens)
    }

    /// Returns the provider's names and definitions of tools that a search found.
    pub(crate) fn found(&self, exposed: &[String]) -> (Vec<String>, Vec<Value>) {
        let names: Vec<String> = exposed
            .iter()
            .filter_map(|name| self.searchable.get(name).cloned())
            .collect();
        let rendered = self.rendered.first().into_iter();
        let entries = rendered.flat_map(|rendered| entries(&rendered.document));
        let definitions = entries.filter_map(|entry| only(entry, &names)).collect();
        (names, definitions)
    }
}

/// Returns an entry of `tools` that contains only the named functions.
fn only(entry: &Value, names: &[String]) -> Option<Value> {
    let is_named = |tool: &Value| {
        let name = tool.get("name").and_then(Value::as_str);
        name.is_some_and(|name| names.iter().any(|wanted| wanted == name))
    };
    match entry.get("tools").and_then(Value::as_array) {
        Some(tools) => {
            let kept: Vec<Value> = tools
                .iter()
                .filter(|tool| is_named(tool))
                .cloned()
                .collect();
            if kept.is_empty() {
                return None;
            }
            let mut entry = entry.clone();
            entry
                .as_object_mut()?
                .insert("tools".to_owned(), Value::Array(kept));
            Some(entry)
        }
        None => is_named(entry).then(|| entry.clone()),
    }
}

/// Joins lists of definitions. Gemini nests one list in another.
fn joined<'a>(entries: impl IntoIterator<Item = &'a Value>) -> Value {
    const DECLARATIONS: &str = "functionDeclarations";
    let mut all: Vec<Value> = Vec::new();
    for entry in entries {
        let declared = entry.get(DECLARATIONS).and_then(Value::as_array);
        let first = all
            .first_mut()
            .and_then(|first| first.get_mut(DECLARATIONS));
        match (first, declared) {
            (Some(Value::Array(list)), Some(more)) => list.extend(more.iter().cloned()),
            _ => all.push(entry.clone()),
        }
    }
    Value::Array(all)
}

fn entries(document: &Value) -> std::slice::Iter<'_, Value> {
    document
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
}

fn plain(format: Format) -> Format {
    match format {
        Format::AnthropicDeferred => Format::Anthropic,
        Format::OpenAiDeferred => Format::OpenAiResponses,
        format => format,
    }
}

fn deferred(format: Format) -> Option<Format> {
    match format {
        Format::Anthropic | Format::AnthropicDeferred => Some(Format::AnthropicDeferred),
        Format::OpenAiResponses | Format::OpenAiDeferred => Some(Format::OpenAiDeferred),
        _ => None,
    }
}

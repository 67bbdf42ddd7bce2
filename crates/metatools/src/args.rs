//! Parses the arguments of the meta tools, tolerating the usual mistakes of models: one string instead of a list,
//! missing or renamed members, objects as strings.

use std::mem::take;

use pegboard_catalog::Catalog;
use pegboard_catalog::reserved::{CALL, CALL_READ_ONLY, DESCRIBE, LIST, SEARCH};
use pegboard_guard::coerce_arguments;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::model_text::{Detail, ListRequest, describe_json, describe_text, list_json, list_text};

/// Maximum number of queries of one search, and of tools of one description.
pub const MAX_BATCH: usize = 5;
/// Hits of a search without `limit`.
const HITS: usize = 5;

/// Parses the arguments of the meta tool `tool`.
pub(crate) fn parse_args<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<&RawValue>,
) -> ToolResult<T> {
    let given = arguments.map(coerce_arguments).transpose()?;
    let given = given.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str(given).map_err(|error| invalid_args(tool, &error))
}

/// One string or several: models write both.
#[derive(Debug, Default)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            One(String),
            Several(Vec<String>),
            Nothing(()),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::One(one) => Self(vec![one]),
            Either::Several(several) => Self(several),
            Either::Nothing(()) => Self::default(),
        })
    }
}

/// Arguments of `search_tools`.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchToolsArgs {
    #[serde(default)]
    query: Texts,
    #[serde(default)]
    queries: Texts,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    detail: Option<String>,
}

impl SearchToolsArgs {
    /// Returns the queries.
    pub(crate) fn queries(self) -> ToolResult<Vec<String>> {
        join(self.query, self.queries, SEARCH, "query")
    }

    /// Returns the maximum number of hits for each query.
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(HITS)
    }

    /// Returns the level of detail.
    pub(crate) fn detail(&self) -> ToolResult<Detail> {
        match self.detail.as_deref() {
            None | Some("signature") => Ok(Detail::Signature),
            Some("brief") => Ok(Detail::Brief),
            Some("full") => Ok(Detail::Full),
            Some(other) => {
                let message = format!("`detail` is `{other}`, not brief, signature or full");
                Err(ToolError::new(Reason::ArgsInvalid, message).at_field("detail"))
            }
        }
    }
}

/// Arguments of `list_available_tools`.
#[derive(Debug, Deserialize)]
pub(crate) struct ListToolsArgs {
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    include_disabled: Option<bool>,
    #[serde(default)]
    format: Option<String>,
}

impl ListToolsArgs {
    /// Lists the tools.
    pub(crate) fn list(&self, catalog: &Catalog) -> ToolResult<String> {
        let category = self.category.as_deref();
        let request = ListRequest {
            category: category.filter(|category| !category.is_empty()),
            include_disabled: self.include_disabled.unwrap_or(false),
        };
        Ok(match wants_json(self.format.as_deref())? {
            true => list_json(catalog, &request),
            false => list_text(catalog, &request),
        })
    }
}

/// Arguments of `get_tool_description`.
#[derive(Debug, Deserialize)]
pub(crate) struct DescribeToolsArgs {
    #[serde(default)]
    tool_name: Texts,
    #[serde(default)]
    tool_names: Texts,
    #[serde(default)]
    include_examples: Option<bool>,
    #[serde(default)]
    format: Option<String>,
}

impl DescribeToolsArgs {
    /// Returns the names of the tools.
    pub(crate) fn names(&mut self) -> ToolResult<Vec<String>> {
        let (one, more) = (take(&mut self.tool_name), take(&mut self.tool_names));
        join(one, more, DESCRIBE, "tool_name")
    }

    /// Describes the tools. As JSON, one tool is an object and several are an array.
    pub(crate) fn describe(&self, names: &[String], catalog: &Catalog) -> ToolResult<String> {
        let with_examples = self.include_examples.unwrap_or(true);
        let as_json = wants_json(self.format.as_deref())?;
        let is_alone = names.len() == 1;
        let mut texts = Vec::new();
        for name in names {
            match catalog.find(name) {
                Ok(view) if as_json => texts.push(describe_json(&view, with_examples)),
                Ok(view) => texts.push(describe_text(&view, with_examples)),
                Err(error) if is_alone => return Err(error),
                Err(error) if as_json => {
                    let error = error.with_model_remedy();
                    let (error, nearest) = (&error.message, &error.nearest);
                    texts.push(json!({"error": error, "nearest": nearest}).to_string());
                }
                Err(error) => {
                    let nearest = match error.nearest.is_empty() {
                        true => String::new(),
                        false => format!(" Nearest: {}.", error.nearest.join(", ")),
                    };
                    texts.push(format!("{}.{nearest}", error.message));
                }
            }
        }
        Ok(match as_json && !is_alone {
            true => format!("[{}]", texts.join(",")),
            false => texts.join("\n\n"),
        })
    }
}

/// Arguments of `call_tool` and `call_readonly_tool`.
#[derive(Debug)]
pub struct CallToolArgs {
    /// The tool, as the model wrote it.
    pub tool_name: String,
    /// The tool's arguments.
    pub arguments: Box<RawValue>,
    /// Whether only a tool that is marked read-only may run.
    pub read_only: bool,
}

impl CallToolArgs {
    /// Parses the arguments of `meta_tool`, which is `call_tool` or `call_readonly_tool`.
    pub(crate) fn parse(meta_tool: &str, arguments: Option<&RawValue>) -> ToolResult<Self> {
        #[derive(Deserialize)]
        struct Written<'a> {
            #[serde(alias = "name", alias = "tool")]
            tool_name: String,
            #[serde(borrow, default, alias = "args", alias = "parameters")]
            arguments: Option<&'a RawValue>,
        }
        let given = arguments.map(coerce_arguments).transpose()?;
        let given = given.as_deref().map_or("{}", RawValue::get);
        let written: Written<'_> =
            serde_json::from_str(given).map_err(|error| invalid_args(meta_tool, &error))?;
        let arguments = written.arguments.map(coerce_arguments).transpose();
        let arguments = arguments.map_err(|error| error.at_tool(written.tool_name.clone()))?;
        let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_default();
        Ok(Self {
            tool_name: written.tool_name.trim().to_owned(),
            arguments: arguments.unwrap_or_else(empty),
            read_only: meta_tool == CALL_READ_ONLY,
        })
    }
}

/// Returns whether `format` is `json`.
fn wants_json(format: Option<&str>) -> ToolResult<bool> {
    match format {
        None | Some("text") => Ok(false),
        Some("json") => Ok(true),
        Some(other) => {
            let message = format!("`format` is `{other}`, not text or json");
            Err(ToolError::new(Reason::ArgsInvalid, message).at_field("format"))
        }
    }
}

fn join(one: Texts, more: Texts, tool: &str, field: &str) -> ToolResult<Vec<String>> {
    let mut all = one.0;
    all.extend(more.0);
    all.retain(|text| !text.trim().is_empty());
    if all.is_empty() {
        let message = format!("`{field}` is missing");
        return Err(wrong(tool, message).at_field(field));
    }
    if all.len() > MAX_BATCH {
        let message = format!(
            "{} at once are too many; the limit is {MAX_BATCH}",
            all.len()
        );
        return Err(wrong(tool, message).at_field(field));
    }
    Ok(all)
}

/// Returns the error for arguments that do not fit a meta tool.
fn invalid_args(tool: &str, error: &serde_json::Error) -> ToolError {
    wrong(tool, format!("invalid arguments: {error}"))
}

fn wrong(tool: &str, message: String) -> ToolError {
    let usage = match tool {
        SEARCH => {
            "search_tools(query: string, queries?: string[], limit?: integer, detail?: brief|signature|full)"
        }
        LIST => {
            "list_available_tools(category?: string, include_disabled?: boolean, format?: text|json)"
        }
        DESCRIBE => {
            "get_tool_description(tool_name: string, tool_names?: string[], include_examples?: boolean, format?: text|json)"
        }
        CALL => "call_tool(tool_name: string, arguments: object)",
        CALL_READ_ONLY => "call_readonly_tool(tool_name: string, arguments: object)",
        _ => "read_result(id: string, offset?: integer, grep?: string, pointer?: string)",
    };
    let remedy = format!("Call it as {usage}.");
    ToolError::new(Reason::ArgsInvalid, message)
        .at_tool(tool)
        .with_remedy(remedy)
}

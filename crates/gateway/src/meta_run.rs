//! The four tools that stand for all others, and the one that reads on: what they do.

use pegboard_catalog::{Detail, ListRequest, describe_text, list_json, list_text, search_text};
use pegboard_guard::tolerant_arguments;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::calling::{By, error_result, execute, text_result};
use crate::dispatch::{Answered, Asked};
use crate::heavy;
use crate::meta_tools::{AT_ONCE, CALL, DESCRIBE, LIST, READ_RESULT, SEARCH};
use crate::reading::{self, ReadWish};
use crate::surface::Surface;

/// Hits of a search that names no limit.
const HITS: usize = 5;
/// A catalog of more tools, or one that is searched by meaning, is searched on another thread, so that other
/// clients do not wait for it.
const SEARCHED_AT_ONCE: usize = 500;

/// Runs one of them. Mistakes of the model come back as results that it can read.
pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answered {
    let answer = match name {
        CALL => return call_tool(asked).await,
        SEARCH => search(asked).await,
        LIST => list(asked).await,
        DESCRIBE => describe(asked).await,
        _ => match arguments(asked, READ_RESULT) {
            Ok(wish) => read_result(asked, wish).await,
            Err(error) => Err(error),
        },
    };
    Ok(match answer {
        Ok(text) => text_result(&text),
        Err(error) => error_result(&error),
    })
}

/// One text or several: models write both.
#[derive(Default)]
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

#[derive(Deserialize)]
struct SearchWish {
    #[serde(default)]
    query: Texts,
    #[serde(default)]
    queries: Texts,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    detail: Option<String>,
}

async fn search(asked: &Asked<'_>) -> ToolResult<String> {
    let wish: SearchWish = arguments(asked, SEARCH)?;
    let queries = together(wish.query, wish.queries, SEARCH, "query")?;
    let detail = match wish.detail.as_deref() {
        None | Some("signature") => Detail::Signature,
        Some("brief") => Detail::Brief,
        Some("full") => Detail::Full,
        Some(other) => {
            let message = format!("`detail` is `{other}`, not brief, signature or full");
            return Err(ToolError::new(Reason::ArgsInvalid, message).at_field("detail"));
        }
    };
    let surface = known(asked).await;
    let limit = wish.limit.unwrap_or(HITS);
    let tools: usize = (surface.catalog.servers())
        .map(|entry| entry.record.tools.len())
        .sum();
    let conversation = &asked.conversation;
    let hub = &conversation.shared.hub;
    hub.load_meaning().await;
    let finder = hub.finder(Some(conversation.session.clone()));
    let finder = finder.below(asked.span().cloned());
    let is_heavy = tools > SEARCHED_AT_ONCE || hub.knows_meaning();
    let search = move || {
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        search_text(&surface.catalog, &finder, &queries, limit, detail)
    };
    heavy::run(is_heavy, search).await
}

/// Reads on in a result that was kept aside; whatever is kept is large.
async fn read_result(asked: &Asked<'_>, wish: ReadWish) -> ToolResult<String> {
    let kept = asked.conversation.shared.shelf.find(&wish.id)?;
    heavy::run(true, move || reading::read(&kept, &wish)).await?
}

#[derive(Deserialize)]
struct ListWish {
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    include_disabled: Option<bool>,
    #[serde(default)]
    format: Option<String>,
}

async fn list(asked: &Asked<'_>) -> ToolResult<String> {
    let wish: ListWish = arguments(asked, LIST)?;
    let surface = known(asked).await;
    let request = ListRequest {
        category: wish
            .category
            .as_deref()
            .filter(|category| !category.is_empty()),
        include_disabled: wish.include_disabled.unwrap_or(false),
    };
    match wish.format.as_deref() {
        None | Some("text") => Ok(list_text(&surface.catalog, &request)),
        Some("json") => Ok(list_json(&surface.catalog, &request)),
        Some(other) => {
            let message = format!("`format` is `{other}`, not text or json");
            Err(ToolError::new(Reason::ArgsInvalid, message).at_field("format"))
        }
    }
}

#[derive(Deserialize)]
struct DescribeWish {
    #[serde(default)]
    tool_name: Texts,
    #[serde(default)]
    tool_names: Texts,
    #[serde(default)]
    include_examples: Option<bool>,
}

async fn describe(asked: &Asked<'_>) -> ToolResult<String> {
    let wish: DescribeWish = arguments(asked, DESCRIBE)?;
    let names = together(wish.tool_name, wish.tool_names, DESCRIBE, "tool_name")?;
    let with_examples = wish.include_examples.unwrap_or(true);
    let mut surface = asked.surface.clone();
    if names.iter().any(|name| surface.catalog.find(name).is_err()) {
        surface = known(asked).await;
    }
    let is_alone = names.len() == 1;
    let mut texts = Vec::new();
    for name in &names {
        match surface.catalog.find(name) {
            Ok(view) => texts.push(describe_text(&view, with_examples)),
            Err(error) if is_alone => return Err(error),
            Err(error) => {
                let nearest = match error.nearest.is_empty() {
                    true => String::new(),
                    false => format!(" Nearest: {}.", error.nearest.join(", ")),
                };
                texts.push(format!("{}.{nearest}", error.message));
            }
        }
    }
    Ok(texts.join("\n\n"))
}

#[derive(Deserialize)]
struct CallWish<'a> {
    #[serde(alias = "name", alias = "tool")]
    tool_name: String,
    #[serde(borrow, default, alias = "args", alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

async fn call_tool(asked: &Asked<'_>) -> Answered {
    let given = match asked.params.arguments.map(tolerant_arguments).transpose() {
        Ok(given) => given,
        Err(error) => return Ok(error_result(&error)),
    };
    let given = given.as_deref().map_or("{}", RawValue::get);
    let wish: CallWish<'_> = match serde_json::from_str(given) {
        Ok(wish) => wish,
        Err(error) => return Ok(error_result(&misread(CALL, &error))),
    };
    let arguments = match wish.arguments.map(tolerant_arguments).transpose() {
        Ok(arguments) => arguments,
        Err(error) => return Ok(error_result(&error.at_tool(wish.tool_name))),
    };
    let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_default();
    let arguments = arguments.unwrap_or_else(empty);
    let name = wish.tool_name.trim();
    if name == READ_RESULT && asked.surface.catalog.find(name).is_err() {
        let read = serde_json::from_str(arguments.get());
        let read = read.map_err(|error| misread(READ_RESULT, &error));
        let answer = match read {
            Ok(wish) => read_result(asked, wish).await,
            Err(error) => Err(error),
        };
        return Ok(match answer {
            Ok(text) => text_result(&text),
            Err(error) => error_result(&error),
        });
    }
    execute(asked, name, arguments, By::MetaTool).await
}

/// The lists with everything that can be known within the answer's deadline.
async fn known(asked: &Asked<'_>) -> std::sync::Arc<Surface> {
    let hub = &asked.conversation.shared.hub;
    hub.ensure_known_below(asked.span()).await;
    hub.touch();
    asked.view.surface(hub)
}

fn together(one: Texts, more: Texts, tool: &str, field: &str) -> ToolResult<Vec<String>> {
    let mut all: Vec<String> = one.0.into_iter().chain(more.0).collect();
    all.retain(|text| !text.trim().is_empty());
    if all.is_empty() {
        let message = format!("`{field}` is missing");
        return Err(wrong(tool, message).at_field(field));
    }
    if all.len() > AT_ONCE {
        let message = format!("{} at once are too many; the most is {AT_ONCE}", all.len());
        return Err(wrong(tool, message).at_field(field));
    }
    Ok(all)
}

fn arguments<T: serde::de::DeserializeOwned>(asked: &Asked<'_>, tool: &str) -> ToolResult<T> {
    let given = asked.params.arguments.map(tolerant_arguments).transpose()?;
    let given = given.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str(given).map_err(|error| misread(tool, &error))
}

fn misread(tool: &str, error: &serde_json::Error) -> ToolError {
    wrong(tool, format!("the arguments cannot be read: {error}"))
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
            "get_tool_description(tool_name: string, tool_names?: string[], include_examples?: boolean)"
        }
        CALL => "call_tool(tool_name: string, arguments: object)",
        _ => "read_result(id: string, offset?: integer, grep?: string, pointer?: string)",
    };
    let remedy = format!("Call it as {usage}.");
    ToolError::new(Reason::ArgsInvalid, message)
        .at_tool(tool)
        .with_remedy(remedy)
}

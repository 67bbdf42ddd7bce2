//! The `[agent]` table: the model that `pegboard ask` uses.

use std::time::Duration;

use pegboard_model::{Layer, Template};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::keys::{ValueType, impl_words};
use crate::kinds::{
    Kind, TEMPLATE, TEXT, format_duration, key_table, optional_count, optional_one_of,
};
use crate::load::LoadedConfig;
use crate::sensitive::Visibility;
use crate::template::Resolver;

/// The API that the model is reached through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentProvider {
    /// The Anthropic Messages API.
    Anthropic,
    /// The OpenAI Responses API.
    OpenAi,
}

/// How the model gets access to the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentLoading {
    /// Through the meta tools.
    Meta,
    /// Through the provider's own tool search.
    Deferred,
    /// All definitions are sent with the first request.
    All,
}

impl_words! {
    AgentProvider: Anthropic = "anthropic", OpenAi = "openai";
    AgentLoading: Meta = "meta", Deferred = "deferred", All = "all";
}

/// A URL, displayed without user, password and query.
const URL: Kind<Option<Template>> = Kind {
    visibility: Visibility::Address,
    ..TEMPLATE
};
const OPTIONAL_DURATION: Kind<Option<Duration>> = Kind::new(
    ValueType::Duration,
    |entry, reader| reader.duration(entry, false).map(Some),
    |duration| duration.map_or(String::new(), format_duration),
);

key_table! {
    /// The `[agent]` table. Every key is optional.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentSettings, AGENT_KEYS;

    /// The API of the model. By default the one whose key is in the environment.
    provider: Option<AgentProvider> = None, optional_one_of();
    /// The name of the model. By default `ANTHROPIC_MODEL` or `OPENAI_MODEL`.
    model: Option<String> = None, TEXT;
    /// Base URL of another server with the same API; for OpenAI including `/v1`.
    base_url: Option<Template> = None, URL;
    /// The API key, best as `${secret:NAME}`. By default `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.
    api_key: Option<Template> = None, TEMPLATE;
    /// The system prompt. A summary of all tools is appended.
    system: Option<String> = None, TEXT;
    /// How the model [gets access to the tools](agent.md#loading-tools): through the `meta` tools (the default), by the
    /// provider's own search (`deferred`), or `all` at once.
    loading: Option<AgentLoading> = None, optional_one_of();
    /// Maximum number of requests to the model for one task. By default 40.
    max_turns: Option<usize> = None, optional_count::<100_000>();
    /// Maximum number of tool calls for one task. By default 200.
    max_calls: Option<usize> = None, optional_count::<100_000>();
    /// Maximum number of input and output tokens for one task. By default 2,000,000.
    max_tokens: Option<usize> = None, optional_count::<1_000_000_000>();
    /// Maximum duration of one task. By default 30 minutes.
    max_time: Option<Duration> = None, OPTIONAL_DURATION;
}

/// Reads `[agent]` of the user's own files. The table is ignored in project files, because it could send the user's
/// API key to another host.
pub(crate) fn read_agent(files: &[ConfigFile], values: &Resolver<'_>, loaded: &mut LoadedConfig) {
    for file in files {
        let Some(root) = file.table("agent") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        if file.layer == Layer::Project {
            reader.warn(
                root.key_start,
                "a project file cannot choose the model; `agent` is ignored here",
                "set it in your own config file",
            );
            loaded.problems.append(&mut reader.problems);
            continue;
        }
        let entries = reader.unique_entries(root, r#"{"provider": "anthropic"}"#);
        let applied = reader.each_key(entries, AGENT_KEYS, "`agent`", |reader, entry, field| {
            (field.apply)(&mut loaded.agent, entry, reader)
        });
        for entry in applied {
            let key = format!("agent.{}", entry.key);
            let (source, layer) = (&file.source, file.layer);
            explain_entry(&mut loaded.values, "agent", key, entry, source, layer);
        }
        loaded.problems.append(&mut reader.problems);
    }
}

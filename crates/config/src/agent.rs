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
use crate::template::ReferenceSource;

/// The API that the model is reached through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentProvider {
    /// The Anthropic Messages API.
    Anthropic,
    /// The OpenAI Responses API.
    OpenAi,
}

impl AgentProvider {
    fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
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

impl AgentLoading {
    fn as_str(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Deferred => "deferred",
            Self::All => "all",
        }
    }
}

impl_words! {
    AgentProvider: Anthropic, OpenAi;
    AgentLoading: Meta, Deferred, All;
}

/// A URL, displayed without user, password and query.
const URL: Kind<Option<Template>> = Kind {
    visibility: Visibility::Address,
    ..TEMPLATE
};
const OPTIONAL_DURATION: Kind<Option<Duration>> = Kind {
    value_type: ValueType::Duration,
    visibility: Visibility::Open,
    read: |entry, reader| reader.duration(entry, false).map(Some),
    show: |duration| duration.map_or(String::new(), format_duration),
};

key_table! {
    /// The `[agent]` table. Every key is optional.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentSettings, AGENT_KEYS;

    /// The API of the model.
    provider: Option<AgentProvider> = None, optional_one_of();
    /// The name of the model.
    model: Option<String> = None, TEXT;
    /// Base URL of a server that offers the same API.
    base_url: Option<Template> = None, URL;
    /// The API key, best as `${secret:NAME}`.
    api_key: Option<Template> = None, TEMPLATE;
    /// The system prompt.
    system: Option<String> = None, TEXT;
    /// How the model gets access to the tools: through the `meta` tools, by the provider's own search (`deferred`), or
    /// `all` at once.
    loading: Option<AgentLoading> = None, optional_one_of();
    /// Maximum number of requests to the model.
    max_turns: Option<usize> = None, optional_count::<100_000>();
    /// Maximum number of tool calls.
    max_calls: Option<usize> = None, optional_count::<100_000>();
    /// Maximum number of input and output tokens together.
    max_tokens: Option<usize> = None, optional_count::<1_000_000_000>();
    /// Maximum duration of one run.
    max_time: Option<Duration> = None, OPTIONAL_DURATION;
}

/// Reads `[agent]` of the user's own files. The table is ignored in project files, because it could send the user's
/// API key to another host.
pub(crate) fn read_agent(
    files: &[ConfigFile],
    values: &ReferenceSource<'_>,
    loaded: &mut LoadedConfig,
) {
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

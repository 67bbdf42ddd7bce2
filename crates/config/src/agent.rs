//! The `[agent]` table: the model that `pegboard ask` uses.

use pegboard_model::{Layer, Reason, Template, UntrustedText};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::problem::Severity;
use crate::reader::{TableReader, duplicates};
use crate::template::ReferenceSource;

pub(crate) const AGENT_KEYS: &[&str] = &[
    "api_key",
    "base_url",
    "loading",
    "max_calls",
    "max_time",
    "max_tokens",
    "max_turns",
    "model",
    "provider",
    "system",
];

/// Upper bound of `max_turns` and `max_calls`.
const MAX_STEPS: usize = 100_000;
/// Upper bound of `max_tokens`.
const MAX_TOKENS: usize = 1_000_000_000;

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

/// The `[agent]` table. Every key is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// The API of the model.
    pub provider: Option<AgentProvider>,
    /// The model's name.
    pub model: Option<String>,
    /// Base URL of a server that offers the same API.
    pub base_url: Option<Template>,
    /// The API key.
    pub api_key: Option<Template>,
    /// The system prompt.
    pub system: Option<String>,
    /// How the model gets access to the tools.
    pub loading: Option<AgentLoading>,
    /// Maximum number of requests to the model.
    pub max_turns: Option<usize>,
    /// Maximum number of tool calls.
    pub max_calls: Option<usize>,
    /// Maximum number of input and output tokens together.
    pub max_tokens: Option<usize>,
    /// Maximum duration of one run.
    pub max_time: Option<std::time::Duration>,
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
            reader.report(
                Severity::Warning,
                Reason::ConfigInvalid,
                root.key_start,
                "a project file cannot choose the model; `agent` is ignored here",
                "set it in your own config file",
            );
            loaded.problems.append(&mut reader.problems);
            continue;
        }
        let entries = reader.table(root, r#"{"provider": "anthropic"}"#);
        let entries = entries.unwrap_or_default();
        let twice: Vec<&str> = duplicates(entries)
            .iter()
            .map(|(_, entry)| entry.key.as_str())
            .collect();
        for entry in entries {
            if !twice.contains(&entry.key.as_str())
                && loaded.agent.apply(entry, &mut reader).is_some()
            {
                let key = format!("agent.{}", UntrustedText::new(&entry.key).shortened(60));
                let (source, layer) = (&file.source, file.layer);
                explain_entry(&mut loaded.values, "agent", key, entry, source, layer);
            }
        }
        loaded.problems.append(&mut reader.problems);
    }
}

impl AgentSettings {
    fn apply(&mut self, entry: &crate::node::Entry, reader: &mut TableReader<'_>) -> Option<()> {
        match entry.key.as_str() {
            "provider" => {
                use AgentProvider::{Anthropic, OpenAi};
                let words = [("anthropic", Anthropic), ("openai", OpenAi)];
                self.provider = Some(reader.one_of(entry, &words)?);
            }
            "loading" => {
                use AgentLoading::{All, Deferred, Meta};
                let words = [("meta", Meta), ("deferred", Deferred), ("all", All)];
                self.loading = Some(reader.one_of(entry, &words)?);
            }
            "model" => self.model = Some(reader.text(entry)?),
            "system" => self.system = Some(reader.text(entry)?),
            "base_url" => self.base_url = Some(reader.template("base_url", &entry.node)?),
            "api_key" => self.api_key = Some(reader.template("api_key", &entry.node)?),
            "max_turns" => self.max_turns = Some(reader.count(entry, MAX_STEPS)?),
            "max_calls" => self.max_calls = Some(reader.count(entry, MAX_STEPS)?),
            "max_tokens" => self.max_tokens = Some(reader.count(entry, MAX_TOKENS)?),
            "max_time" => self.max_time = Some(reader.duration(entry, false)?),
            _ => {
                reader.unknown_key(entry, "`agent`", AGENT_KEYS);
                return None;
            }
        }
        Some(())
    }
}

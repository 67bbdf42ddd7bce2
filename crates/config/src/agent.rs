//! The `[agent]` table: which model `pegboard ask` asks, and where.

use pegboard_model::{Layer, Reason, Template, UntrustedText};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::problem::Severity;
use crate::reader::{TableReader, duplicates};
use crate::template::Values;

/// The keys of `[agent]`.
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

/// Highest limit of turns and calls that means anything.
const MAX_STEPS: usize = 100_000;
/// Highest limit of tokens that means anything.
const MAX_TOKENS: usize = 1_000_000_000;

/// Who runs the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentProvider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    OpenAi,
}

/// How the model comes to know the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentLoading {
    /// Through the meta tools.
    Meta,
    /// By the provider's own search.
    Deferred,
    /// All definitions at once.
    All,
}

/// What `[agent]` says; everything may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// Who runs the model.
    pub provider: Option<AgentProvider>,
    /// Its name.
    pub model: Option<String>,
    /// Another address of the same API.
    pub base_url: Option<Template>,
    /// The key.
    pub api_key: Option<Template>,
    /// What the model is to keep in mind.
    pub system: Option<String>,
    /// How it comes to know the tools.
    pub loading: Option<AgentLoading>,
    /// How often it may be asked.
    pub max_turns: Option<usize>,
    /// How many calls it may make.
    pub max_calls: Option<usize>,
    /// How many tokens it may read and write.
    pub max_tokens: Option<usize>,
    /// How long it may take.
    pub max_time: Option<std::time::Duration>,
}

/// Reads `[agent]` of the user's own files. A project's file could lead the user's key to another host, so it has no
/// say here.
pub(crate) fn read_agent(files: &[ConfigFile], values: &Values<'_>, loaded: &mut LoadedConfig) {
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
                "a project file cannot say which model is asked; `agent` is ignored here",
                "write it into your own config file, if you mean it",
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
                self.provider = Some(reader.word(entry, &words)?);
            }
            "loading" => {
                use AgentLoading::{All, Deferred, Meta};
                let words = [("meta", Meta), ("deferred", Deferred), ("all", All)];
                self.loading = Some(reader.word(entry, &words)?);
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

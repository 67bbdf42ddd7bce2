//! What `pegboard ask` takes.

use std::time::Duration;

use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct AskArgs {
    /// The question; `-` or nothing reads it from standard input
    pub(crate) question: Vec<String>,
    /// The model [default: `model` under `[agent]`, ANTHROPIC_MODEL or OPENAI_MODEL]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Who runs the model [default: `provider` under `[agent]`, or whose key is there]
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) provider: Option<ProviderArg>,
    /// How the model comes to know the tools
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) loading: Option<LoadingArg>,
    /// How often the model may be asked
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<usize>,
    /// How many calls it may make
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<usize>,
    /// How many tokens it may read and write
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// How long it may take, as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = pegboard_config::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// How often a provider that is overloaded is asked again
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Agree at once when a policy asks
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderArg {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Responses
    Openai,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadingArg {
    /// A few small tools that find and call all others
    Meta,
    /// The provider's own search
    Deferred,
    /// All definitions at once
    All,
}

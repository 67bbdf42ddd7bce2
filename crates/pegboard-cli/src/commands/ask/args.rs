//! Arguments of `pegboard ask`.

use std::time::Duration;

use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct AskArgs {
    /// The question; `-` or nothing reads it from standard input
    pub(crate) question: Vec<String>,
    /// The model [default: `model` under `[agent]`, ANTHROPIC_MODEL or OPENAI_MODEL]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The model provider [default: `provider` under `[agent]`, or the one whose key is set]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) provider: Option<ProviderArg>,
    /// How tool definitions are given to the model
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) loading: Option<LoadingArg>,
    /// Maximum number of requests to the model
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<usize>,
    /// Maximum number of tool calls
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<usize>,
    /// Maximum number of input and output tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum duration, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = pegboard_config::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Maximum number of retries when the provider is overloaded
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Approve without a prompt when a policy says `ask`
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
    /// A few meta tools that find and call all others
    Meta,
    /// The provider's own tool search
    Deferred,
    /// All definitions at once
    All,
}

//! The model and its key: from flags, then `[agent]`, then the environment.

use std::sync::Arc;

use pegboard::Configuration;
use pegboard_agent::{Anthropic, Budget, Loading, OpenAi, Provider, Retry};
use pegboard_config::{AgentLoading, AgentProvider, AgentSettings};
use pegboard_model::{Reason, Secret, Template, ToolError, ToolResult};

use super::args::{AskArgs, LoadingArg, ProviderArg};

/// The environment variables of one provider.
struct ProviderVariables {
    provider: &'static str,
    key: &'static str,
    base_url: &'static str,
    model: &'static str,
}

const ANTHROPIC: ProviderVariables = ProviderVariables {
    provider: "anthropic",
    key: "ANTHROPIC_API_KEY",
    base_url: "ANTHROPIC_BASE_URL",
    model: "ANTHROPIC_MODEL",
};

const OPENAI: ProviderVariables = ProviderVariables {
    provider: "openai",
    key: "OPENAI_API_KEY",
    base_url: "OPENAI_BASE_URL",
    model: "OPENAI_MODEL",
};

/// Returns the model to ask, and its key, which must be redacted from all output.
pub(super) fn provider(
    args: &AskArgs,
    configuration: &Configuration,
) -> ToolResult<(Arc<dyn Provider>, Secret)> {
    let settings = &configuration.loaded.agent;
    let chosen = chosen(args, configuration)?;
    // The settings of the file apply only to the provider that it names.
    let is_ours = settings.provider.is_none_or(|own| own == chosen);
    let none = AgentSettings::default();
    let settings = if is_ours { settings } else { &none };
    let names = match chosen {
        AgentProvider::Anthropic => &ANTHROPIC,
        AgentProvider::OpenAi => &OPENAI,
    };
    let model = args
        .model
        .clone()
        .or_else(|| settings.model.clone())
        .or_else(|| variable(configuration, names.model));
    let model = model.ok_or_else(|| no_model(names))?;
    let key = match &settings.api_key {
        Some(template) => Some(resolved(template, configuration)?),
        None => variable(configuration, names.key).map(Secret::new),
    };
    let key = key.ok_or_else(|| no_key(names))?;
    let base_url = match &settings.base_url {
        Some(template) => Some(resolved(template, configuration)?),
        None => variable(configuration, names.base_url).map(Secret::new),
    };
    let base_url = base_url.as_ref().map(Secret::reveal);
    let provider: Arc<dyn Provider> = match chosen {
        AgentProvider::Anthropic => Arc::new(Anthropic::new(model, &key, base_url)?),
        AgentProvider::OpenAi => Arc::new(OpenAi::new(model, &key, base_url)?),
    };
    Ok((provider, key))
}

fn chosen(args: &AskArgs, configuration: &Configuration) -> ToolResult<AgentProvider> {
    let flag = args.provider.map(|word| match word {
        ProviderArg::Anthropic => AgentProvider::Anthropic,
        ProviderArg::Openai => AgentProvider::OpenAi,
    });
    if let Some(provider) = flag.or(configuration.loaded.agent.provider) {
        return Ok(provider);
    }
    let known = [
        (&ANTHROPIC, AgentProvider::Anthropic),
        (&OPENAI, AgentProvider::OpenAi),
    ];
    let keyed = known
        .into_iter()
        .find(|(names, _)| variable(configuration, names.key).is_some());
    keyed.map(|(_, provider)| provider).ok_or_else(|| {
        let message = "no model provider is configured, and no API key is set";
        ToolError::new(Reason::ConfigSecretMissing, message).with_remedy(
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write `provider`, `model` and `api_key` under `[agent]`.",
        )
    })
}

/// Returns the budget of one run.
pub(super) fn budget(args: &AskArgs, settings: &AgentSettings) -> Budget {
    let usual = Budget::default();
    let tokens = settings
        .max_tokens
        .map(|tokens| u64::try_from(tokens).unwrap_or(u64::MAX));
    Budget {
        turns: args.max_turns.or(settings.max_turns).unwrap_or(usual.turns),
        calls: args.max_calls.or(settings.max_calls).unwrap_or(usual.calls),
        tokens: args.max_tokens.or(tokens).unwrap_or(usual.tokens),
        time: args.max_time.or(settings.max_time).unwrap_or(usual.time),
    }
}

/// Returns how tool definitions are given to the model.
pub(super) fn loading(args: &AskArgs, settings: &AgentSettings) -> Loading {
    match (args.loading, settings.loading) {
        (Some(LoadingArg::Meta), _) | (None, Some(AgentLoading::Meta) | None) => Loading::Meta,
        (Some(LoadingArg::Deferred), _) | (None, Some(AgentLoading::Deferred)) => Loading::Deferred,
        (Some(LoadingArg::All), _) | (None, Some(AgentLoading::All)) => Loading::All,
    }
}

/// Returns the retry settings for an overloaded provider.
pub(super) fn retry(args: &AskArgs) -> Retry {
    let usual = Retry::default();
    Retry {
        times: args.retries.unwrap_or(usual.times),
        ..usual
    }
}

fn variable(configuration: &Configuration, name: &str) -> Option<String> {
    let value = configuration.environment.vars.get(name)?;
    Some(value.clone()).filter(|value| !value.trim().is_empty())
}

fn resolved(template: &Template, configuration: &Configuration) -> ToolResult<Secret> {
    template.resolve(&configuration.secrets()).map_err(|name| {
        let message = format!("secret `{name}` of `[agent]` is not stored");
        ToolError::new(Reason::ConfigSecretMissing, message)
            .with_remedy(format!("Store it with `pegboard secret set {name}`."))
    })
}

fn no_key(names: &ProviderVariables) -> ToolError {
    let message = format!("no API key for provider `{}`", names.provider);
    let (key, name) = (names.key, names.provider);
    ToolError::new(Reason::ConfigSecretMissing, message).with_remedy(format!(
        "Set {key}, or run `pegboard secret set {name}` and write `api_key = \"${{secret:{name}}}\"` under `[agent]`."
    ))
}

fn no_model(names: &ProviderVariables) -> ToolError {
    let message = format!("no model is set for provider `{}`", names.provider);
    ToolError::new(Reason::ConfigInvalid, message).with_remedy(format!(
        "Set it with `pegboard ask --model NAME`, `model = \"NAME\"` under `[agent]`, or {}.",
        names.model
    ))
}

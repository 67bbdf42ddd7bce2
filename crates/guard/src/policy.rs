//! What may be done with a tool, and which line of the configuration decided it.

use pegboard_model::{Policy, ServerSpec};

use crate::glob;

/// The policy of one tool and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What may be done.
    pub policy: Policy,
    /// The rule that decided, as a person finds it in the configuration.
    pub rule: String,
}

enum Rule<'a> {
    Switch,
    Named(&'a str),
    Server,
    Default,
}

/// Decides for a tool by its own name. An exact name beats a glob, the glob with the most literal
/// characters beats the others, a glob beats the server's policy; where two are equal the stricter wins.
pub fn decide(spec: &ServerSpec, tool_name: &str) -> PolicyDecision {
    let (policy, rule) = deciding_rule(spec, tool_name);
    let server = &spec.name;
    let rule = match rule {
        Rule::Switch => format!("tools.\"{tool_name}\".enabled of server {server}"),
        Rule::Named(pattern) => format!("policies.\"{pattern}\" of server {server}"),
        Rule::Server => format!("policy of server {server}"),
        Rule::Default => "default".to_owned(),
    };
    PolicyDecision { policy, rule }
}

/// The same decision without the words for it, for listings.
pub fn policy_of(spec: &ServerSpec, tool_name: &str) -> Policy {
    deciding_rule(spec, tool_name).0
}

fn deciding_rule<'a>(spec: &'a ServerSpec, tool_name: &str) -> (Policy, Rule<'a>) {
    let switch = spec.tools.get(tool_name).and_then(|tool| tool.enabled);
    if switch == Some(false) {
        return (Policy::Disable, Rule::Switch);
    }
    if let Some((name, policy)) = spec.policies.get_key_value(tool_name) {
        return (*policy, Rule::Named(name));
    }
    // A tool that is switched on by name is not switched off by a broader rule.
    let applies = |policy: Policy| switch != Some(true) || policy != Policy::Disable;
    let closest = spec
        .policies
        .iter()
        .filter(|(pattern, policy)| {
            glob::is_pattern(pattern) && applies(**policy) && glob::matches(pattern, tool_name)
        })
        .max_by_key(|(pattern, policy)| (glob::literal_characters(pattern), **policy));
    match (closest, spec.policy) {
        (Some((pattern, policy)), _) => (*policy, Rule::Named(pattern)),
        (None, Some(policy)) if applies(policy) => (policy, Rule::Server),
        _ => (Policy::Allow, Rule::Default),
    }
}

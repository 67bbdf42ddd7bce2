//! `pegboard policy test`: which rule decides for a tool, and why the others do not.

use std::path::PathBuf;

use pegboard_guard::{ExplainedRule, PolicyExplanation};
use pegboard_model::{Origin, Policy, UntrustedText};
use serde::Serialize;

use super::{colored_policy, location};
use crate::commands::tool_lookup::{find_tool, refuse_broken};
use crate::commands::{
    CommandResult, Global, Output, builder, load_config, open, reading, with_servers,
};
use crate::output::Paint;

#[derive(Serialize)]
struct PolicyReport<'a> {
    tool: &'a str,
    policy: Policy,
    asks_if_possible: bool,
    rule: &'a str,
    file: Option<&'a PathBuf>,
    line: Option<usize>,
    rules: Vec<RuleReport<'a>>,
}

#[derive(Serialize)]
struct RuleReport<'a> {
    rule: &'a str,
    policy: Policy,
    decides: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_because: Option<&'a str>,
    file: Option<&'a PathBuf>,
    line: Option<usize>,
}

pub(super) fn test(tool: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(tool, &configuration)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let (exposed, weighed) = match hub.explain_policy(tool) {
                Ok(explained) => explained,
                Err(_) => {
                    let (_, tool) = find_tool(tool, &hub).await?;
                    hub.explain_policy(&tool)?
                }
            };
            print_policy_report(&exposed, &weighed, output)
        })
        .await
    })
}

fn print_policy_report(
    exposed: &str,
    weighed: &PolicyExplanation,
    output: &Output,
) -> CommandResult {
    let decision = &weighed.decision;
    let origin = decision.origin.as_ref();
    if output.json {
        let rules = weighed.rules.iter().map(rule_report).collect();
        return output.document(&PolicyReport {
            tool: exposed,
            policy: decision.policy,
            asks_if_possible: decision.asks_if_possible,
            rule: &decision.rule,
            file: origin.and_then(|origin| origin.file.as_ref()),
            line: origin.and_then(|origin| origin.line),
            rules,
        });
    }
    let when = match decision.asks_if_possible {
        true => ", with approval if someone can be asked",
        false => "",
    };
    output.line(&format!(
        "{}: {}{when}",
        output.paint(Paint::Strong, exposed),
        colored_policy(decision.policy, output)
    ))?;
    for rule in &weighed.rules {
        let location = rule.origin.as_ref();
        let location = location.map_or(String::new(), origin_suffix);
        let text = UntrustedText::new(&rule.rule);
        let why = match &rule.lost_because {
            None => output.paint(Paint::Good, "decides"),
            Some(why) => output.paint(Paint::Dim, &format!("overridden: {why}")),
        };
        output.line(&format!("  {text} = {}{location}", rule.policy.as_str()))?;
        output.line(&format!("    {why}"))?;
    }
    Ok(())
}

fn rule_report(rule: &ExplainedRule) -> RuleReport<'_> {
    let origin = rule.origin.as_ref();
    RuleReport {
        rule: &rule.rule,
        policy: rule.policy,
        decides: rule.lost_because.is_none(),
        lost_because: rule.lost_because.as_deref(),
        file: origin.and_then(|origin| origin.file.as_ref()),
        line: origin.and_then(|origin| origin.line),
    }
}

fn origin_suffix(origin: &Origin) -> String {
    match location(origin.file.as_ref(), origin.line) {
        text if text.is_empty() => text,
        text => format!("  ({text})"),
    }
}

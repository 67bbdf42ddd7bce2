//! `pegboard policy list`.

use std::path::PathBuf;

use pegboard_model::{
    AskDestructive, Layer, Origin, Policy, ServerName, ServerSpec, UntrustedText,
};
use serde::Serialize;

use super::{colored_policy, location};
use crate::commands::{CommandResult, Global, Output, load_config};

#[derive(Serialize)]
struct Rules {
    rules: Vec<RuleRow>,
    ask_destructive: &'static str,
}

#[derive(Serialize)]
struct RuleRow {
    pattern: String,
    policy: Policy,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerName>,
    layer: Layer,
    file: Option<PathBuf>,
    line: Option<usize>,
}

pub(super) fn list(global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let loaded = &configuration.loaded;
    let row = |pattern: &str, policy, server: Option<&ServerSpec>, origin: Origin| RuleRow {
        pattern: pattern.to_owned(),
        policy,
        server: server.map(|spec| spec.name.clone()),
        layer: origin.layer,
        file: origin.file,
        line: origin.line,
    };
    let mut rules: Vec<RuleRow> = Vec::new();
    for rule in &loaded.rules.rules {
        rules.push(row(&rule.pattern, rule.policy, None, rule.origin.clone()));
    }
    for spec in loaded.servers.values() {
        let at = |key: String| Origin {
            line: spec.rules.lines.get(&key).copied().or(spec.origin.line),
            ..spec.origin.clone()
        };
        let whole = spec
            .policy
            .map(|policy| ("*".to_owned(), policy, at("policy".to_owned())));
        let single = spec.policies.iter();
        let single = single
            .map(|(pattern, policy)| (pattern.clone(), *policy, at(format!("policies.{pattern}"))));
        let off = spec
            .tools
            .iter()
            .filter(|(_, tool)| tool.enabled == Some(false));
        let off = off.map(|(tool, _)| {
            (
                tool.clone(),
                Policy::Disable,
                at(format!("tools.{tool}.enabled")),
            )
        });
        for (pattern, policy, origin) in whole.into_iter().chain(single).chain(off) {
            rules.push(row(&pattern, policy, Some(spec), origin));
        }
        for rule in &spec.rules.user_rules {
            rules.push(row(
                &rule.pattern,
                rule.policy,
                Some(spec),
                rule.origin.clone(),
            ));
        }
    }
    let ask_destructive = loaded.settings.ask_destructive;
    if output.json {
        return output.document(&Rules {
            rules,
            ask_destructive: ask_destructive.as_str(),
        });
    }
    if rules.is_empty() {
        output.note("No policy is set: all tools are allowed.");
    } else {
        let rows = rules.iter().map(|rule| {
            vec![
                UntrustedText::new(&rule.pattern).to_string(),
                colored_policy(rule.policy, output),
                rule.server
                    .as_ref()
                    .map_or("all".to_owned(), ToString::to_string),
                location(rule.file.as_ref(), rule.line),
            ]
        });
        output.line(&output.table(&["TOOLS", "POLICY", "SERVER", "FROM"], rows.collect(), None))?;
    }
    output.note(match ask_destructive {
        AskDestructive::Never => "Destructive tools run without approval.",
        AskDestructive::WhenPossible => "Destructive tools need approval if someone can be asked.",
        AskDestructive::Always => "Destructive tools always need approval.",
    });
    Ok(())
}

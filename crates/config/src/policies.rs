//! The `[policies]` table: rules for the tools of every server.
//!
//! A project's file can only tighten what the user's own file says: its rules are kept apart by their layer, and
//! whoever weighs them takes the stricter result. What the user says of a server that a project defines anew is
//! kept for the same reason.

use std::sync::Arc;

use pegboard_model::{GlobalRules, Layer, Origin, Policy, PolicyRule, ServerRules, UntrustedText};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::server::Definition;
use crate::template::Values;

/// Rules in all files together; more would make every listing slow.
const MAX_RULES: usize = 1_000;

/// Reads the rules of all files. A rule whose policy cannot be read asks until it is mended: leaving it out
/// could allow what it was written against.
pub(crate) fn read_policies(
    files: &[ConfigFile],
    values: &Values<'_>,
    loaded: &mut LoadedConfig,
) -> Arc<GlobalRules> {
    let mut global = GlobalRules {
        ask_destructive: loaded.settings.ask_destructive,
        ..GlobalRules::default()
    };
    for file in files {
        let Some(root) = file.table("policies") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        let example = r#"{"delete_*": "ask"}"#;
        for entry in reader.table(root, example).unwrap_or_default() {
            if global.rules.len() >= MAX_RULES {
                let message =
                    format!("more than {MAX_RULES} rules are given; from here on all tools ask");
                reader.invalid(entry.key_start, message, "join rules with `*`");
                global.rules.push(PolicyRule {
                    pattern: "*".to_owned(),
                    policy: Policy::Ask,
                    origin: origin(file, reader.line_of(entry)),
                });
                break;
            }
            global.rules.push(PolicyRule {
                pattern: entry.key.clone(),
                policy: reader.rule(entry).unwrap_or(Policy::Ask),
                origin: origin(file, reader.line_of(entry)),
            });
            let key = format!("policies.{}", UntrustedText::new(&entry.key).shortened(60));
            let (source, layer) = (&file.source, file.layer);
            explain_entry(&mut loaded.values, "policies", key, entry, source, layer);
        }
        loaded.problems.append(&mut reader.problems);
    }
    Arc::new(global)
}

fn origin(file: &ConfigFile, line: usize) -> Origin {
    Origin {
        layer: file.layer,
        file: Some(file.source.path.to_path_buf()),
        line: Some(line),
    }
}

/// What a definition that is replaced says about policies, as rules that stay.
pub(crate) fn retained_rules(
    file: Option<&ConfigFile>,
    layer: Layer,
    definition: &Definition,
) -> Vec<PolicyRule> {
    let rule = |pattern: &str, key: String, policy: Policy| PolicyRule {
        pattern: pattern.to_owned(),
        policy,
        origin: Origin {
            layer,
            file: file.map(|file| file.source.path.to_path_buf()),
            line: definition.rule_lines.get(&key).copied(),
        },
    };
    let mut rules = Vec::new();
    rules.extend((definition.policy).map(|policy| rule("", "policy".to_owned(), policy)));
    for (pattern, policy) in &definition.policies {
        rules.push(rule(pattern, format!("policies.{pattern}"), *policy));
    }
    for (tool, words) in &definition.tools {
        if words.enabled == Some(false) {
            let key = format!("tools.{tool}.enabled");
            rules.push(rule(tool, key, Policy::Disable));
        }
    }
    rules
}

/// The rules of a server, with those that hold for all.
pub(crate) fn complete(rules: &mut ServerRules, kept: Vec<PolicyRule>, global: &Arc<GlobalRules>) {
    rules.user_rules = kept;
    rules.global = global.clone();
}

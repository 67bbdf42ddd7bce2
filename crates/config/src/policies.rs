//! The `[policies]` table: rules for the tools of every server.
//!
//! A project's file can only tighten the user's own policies. Its rules are stored with their layer, and the stricter
//! result applies. For the same reason the user's policies of a server stay in effect when a project redefines the
//! server.

use std::sync::Arc;

use pegboard_model::{GlobalRules, Layer, Origin, Policy, PolicyRule, ServerRules, UntrustedText};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::server::Definition;
use crate::template::ReferenceSource;

/// Maximum number of rules in all files together. More would slow down every listing.
const MAX_RULES: usize = 1_000;

/// Reads the rules of all files. A rule with an invalid policy is treated as `ask` until it is fixed, because
/// ignoring it could allow what it was meant to prevent.
pub(crate) fn read_policies(
    files: &[ConfigFile],
    values: &ReferenceSource<'_>,
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
                let message = format!(
                    "more than {MAX_RULES} rules are given; from here on all tools need approval"
                );
                reader.invalid(entry.key_start, message, "combine rules with `*`");
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

/// Returns the policies of a replaced definition, as rules that stay in effect.
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
            line: definition.options.rule_lines.get(&key).copied(),
        },
    };
    let mut rules = Vec::new();
    rules.extend((definition.options.policy).map(|policy| rule("", "policy".to_owned(), policy)));
    for (pattern, policy) in &definition.options.policies {
        rules.push(rule(pattern, format!("policies.{pattern}"), *policy));
    }
    for (tool, words) in &definition.options.tools {
        if words.enabled == Some(false) {
            let key = format!("tools.{tool}.enabled");
            rules.push(rule(tool, key, Policy::Disable));
        }
    }
    rules
}

/// Adds the retained and the global rules to a server's own.
pub(crate) fn attach_rules(
    rules: &mut ServerRules,
    user_rules: Vec<PolicyRule>,
    global: &Arc<GlobalRules>,
) {
    rules.user_rules = user_rules;
    rules.global = global.clone();
}

//! `pegboard policy`: lists, tests and changes policies and grants.

use std::path::PathBuf;

use pegboard::Configuration;
use pegboard_config::edit::set_rule;
use pegboard_guard::{ExplainedRule, PolicyExplanation};
use pegboard_hub::SystemClock;
use pegboard_model::{
    AskDestructive, Clock, Grant, Layer, Origin, Policy, Reason, ServerName, ServerSpec, ToolError,
    UntrustedText,
};
use serde::Serialize;

use super::tool_lookup::{catalog_with, refuse_broken};
use super::{
    CommandResult, Global, Output, builder, load_config, open, reading, server_name, with_servers,
};
use crate::args::{PolicyArg, PolicyCommand, PolicySetArgs, PolicyUnsetArgs};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::ago;

pub(crate) fn run(command: PolicyCommand, global: &Global, output: &Output) -> CommandResult {
    match command {
        PolicyCommand::List => list(global, output),
        PolicyCommand::Set(args) => set(&args, global, output),
        PolicyCommand::Unset(args) => unset(&args, global, output),
        PolicyCommand::Test { tool } => test(&tool, global, output),
        PolicyCommand::Grants => grants(global, output),
        PolicyCommand::Revoke { tool } => revoke(&tool, global, output),
    }
}

impl From<PolicyArg> for Policy {
    fn from(word: PolicyArg) -> Self {
        match word {
            PolicyArg::Allow => Self::Allow,
            PolicyArg::Ask => Self::Ask,
            PolicyArg::Deny => Self::Deny,
            PolicyArg::Disable => Self::Disable,
        }
    }
}

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

fn list(global: &Global, output: &Output) -> CommandResult {
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

fn colored_policy(policy: Policy, output: &Output) -> String {
    let paint = match policy {
        Policy::Allow => Paint::Good,
        Policy::Ask => Paint::Warn,
        Policy::Deny | Policy::Disable => Paint::Bad,
    };
    output.paint(paint, policy.as_str())
}

fn location(file: Option<&PathBuf>, line: Option<usize>) -> String {
    let file = file.map(|file| file.display().to_string());
    let file = file.map(|file| UntrustedText::new(&file).to_string());
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file,
        _ => String::new(),
    }
}

fn set(args: &PolicySetArgs, global: &Global, output: &Output) -> CommandResult {
    let (server, file) = target(args.server.as_deref(), args.in_project, global, output)?;
    let policy = Policy::from(args.policy);
    set_rule(&file, server.as_ref(), &args.pattern, Some(policy))?;
    let of = server.map_or(String::new(), |server| format!(" of server `{server}`"));
    output.note(&format!(
        "set `{}`{of} to `{}` in {}",
        UntrustedText::new(&args.pattern),
        policy.as_str(),
        file.display()
    ));
    Ok(())
}

fn unset(args: &PolicyUnsetArgs, global: &Global, output: &Output) -> CommandResult {
    let (server, file) = target(args.server.as_deref(), args.in_project, global, output)?;
    if !set_rule(&file, server.as_ref(), &args.pattern, None)? {
        let pattern = UntrustedText::new(&args.pattern);
        let message = format!("no rule for `{pattern}` in `{}`", file.display());
        return Err(ToolError::new(Reason::ToolUnknown, message)
            .with_remedy("List the rules with `pegboard policy list`.")
            .into());
    }
    output.note(&format!(
        "removed the rule for `{}` from {}",
        UntrustedText::new(&args.pattern),
        file.display()
    ));
    Ok(())
}

/// Returns the server and the file of a rule: the file that defines the server, the project's, or the user's.
fn target(
    server: Option<&str>,
    in_project: bool,
    global: &Global,
    output: &Output,
) -> Result<(Option<ServerName>, PathBuf), Failure> {
    let configuration = load_config(global, output)?;
    let loaded = &configuration.loaded;
    let Some(server) = server else {
        return Ok((None, file_for_all(in_project, &configuration)?));
    };
    let name = server_name(server, &configuration)?;
    let file = loaded
        .servers
        .get(&name)
        .and_then(|spec| spec.origin.file.clone());
    match file {
        Some(file) => Ok((Some(name), file)),
        None => {
            let message = format!("server `{name}` is not defined in a file");
            let remedy =
                format!("Set a rule for all servers: `pegboard policy set '{name}/TOOL' ask`.");
            Err(Failure::usage(message, remedy))
        }
    }
}

fn file_for_all(in_project: bool, configuration: &Configuration) -> Result<PathBuf, Failure> {
    if !in_project {
        return Ok(configuration.loaded.edit_target.clone());
    }
    let Some(project) = &configuration.loaded.project else {
        let remedy = "Change to a directory with `.pegboard` or `.mcp.json`, or use `--project`.";
        return Err(Failure::usage("not in a project", remedy));
    };
    let files = configuration.loaded.files.iter();
    let own = files.filter(|file| file.layer == Layer::Project);
    let own = own
        .map(|file| &file.path)
        .find(|path| path.file_name().is_some_and(|name| name != ".mcp.json"));
    Ok(own
        .cloned()
        .unwrap_or_else(|| project.join(".pegboard/config.toml")))
}

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

fn test(tool: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(tool, &configuration)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let (exposed, weighed) = match hub.explain_policy(tool) {
                Ok(explained) => explained,
                Err(_) => {
                    catalog_with(tool, &hub).await?;
                    hub.explain_policy(tool)?
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

#[derive(Serialize)]
struct Grants<'a> {
    grants: &'a [Grant],
}

fn grants(global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let grants = hub.grants().await?;
        if output.json {
            return output.document(&Grants { grants: &grants });
        }
        if grants.is_empty() {
            output.note("No permanent grants.");
            return Ok(());
        }
        let now = SystemClock.now();
        let catalog = hub.catalog();
        let rows = grants.iter().map(|grant| {
            let present = catalog.all_tools().find(|view| {
                view.server() == grant.version.server.as_ref() && view.name() == grant.version.tool
            });
            let is_same = present
                .and_then(|view| view.tool().map(|tool| tool.fingerprint))
                .is_none_or(|fingerprint| fingerprint == grant.version.fingerprint);
            vec![
                UntrustedText::new(&grant.exposed).to_string(),
                ago(now, Some(grant.at)),
                UntrustedText::new(&grant.by).to_string(),
                match is_same {
                    true => String::new(),
                    false => output.paint(Paint::Warn, "changed since; needs approval again"),
                },
            ]
        });
        output.line(&output.table(&["TOOL", "ALLOWED", "BY", ""], rows.collect(), None))
    })
}

fn revoke(tool: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let grants = hub.grants().await?;
        let is_meant = |grant: &&Grant| {
            let version = &grant.version;
            let written = version
                .server
                .as_ref()
                .map(|server| format!("{server}/{}", version.tool));
            grant.exposed == tool || written.as_deref() == Some(tool)
        };
        let Some(grant) = grants.iter().find(is_meant) else {
            let message = format!("no permanent grant for `{}`", UntrustedText::new(tool));
            let names = grants
                .iter()
                .map(|grant| grant.exposed.clone())
                .take(3)
                .collect();
            return Err(ToolError::new(Reason::ToolUnknown, message)
                .with_remedy("List grants with `pegboard policy grants`.")
                .with_nearest(names)
                .into());
        };
        let version = &grant.version;
        hub.revoke_grant(version.server.as_ref(), &version.tool)
            .await?;
        output.note(&format!(
            "revoked the grant for `{}`",
            UntrustedText::new(&grant.exposed)
        ));
        Ok(())
    })
}

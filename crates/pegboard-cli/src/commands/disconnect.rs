//! `pegboard disconnect`: takes back what `connect` has written.

use clap::Args;
use pegboard_config::clients::{CLIENTS, Client, DisconnectPlan, Places};
use pegboard_model::UntrustedText;
use serde::Serialize;

use super::connect::{find_client, port, show_diff};
use super::{CommandResult, Global, Output, load_config};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::{can_ask, confirm};

#[derive(Args)]
pub(crate) struct DisconnectArgs {
    /// The clients, such as `claude-code`
    #[arg(value_name = "CLIENT", required_unless_present = "all")]
    clients: Vec<String>,
    /// Disconnect every client that is connected
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Show the changes and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
}

/// The result for one file, with `--json`.
#[derive(Serialize)]
struct FileResult<'a> {
    client: &'a str,
    file: &'a std::path::Path,
    result: &'static str,
    exact: bool,
    diff: String,
    put_back: &'a [String],
    kept: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    former_content: Option<&'a std::path::Path>,
}

pub(crate) fn run(args: &DisconnectArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let places = Places::new(&configuration.environment);
    let clients: Vec<&'static Client> = match args.all {
        true => CLIENTS.iter().collect(),
        false => {
            let named = args.clients.iter().map(|name| find_client(name));
            named.collect::<Result<_, _>>()?
        }
    };
    let mut results = Vec::new();
    let mut failed = None;
    for client in clients {
        let state_dir = &configuration.paths.state_dir;
        let plans = DisconnectPlan::all(&places, state_dir, client, port(&configuration));
        let plans = match plans {
            Ok(plans) => plans,
            // With `--all`, the broken file of a client that was never connected does not matter.
            Err(_) if args.all && !has_record(client, &places, state_dir) => continue,
            Err(problem) => {
                let failure = Failure::from(problem);
                failure.show(output);
                failed.get_or_insert(Failure::shown(failure.exit));
                continue;
            }
        };
        if plans.is_empty() && !args.all {
            output.note(&format!("{} is not connected", client.name));
        }
        for plan in plans {
            match disconnect(&plan, args, output) {
                Ok(result) => results.push((plan, result)),
                Err(failure) => {
                    failure.show(output);
                    failed.get_or_insert(Failure::shown(failure.exit));
                }
            }
        }
    }
    if args.all && results.is_empty() && failed.is_none() {
        output.note("No client is connected.");
    }
    if output.json {
        let shown: Vec<_> = results
            .iter()
            .map(|(plan, result)| FileResult {
                client: plan.client.key,
                file: &plan.path,
                result,
                exact: plan.is_exact,
                diff: plan.diff(),
                put_back: &plan.put_back,
                kept: &plan.kept,
                former_content: plan.former_content.as_deref(),
            })
            .collect();
        output.document(&shown)?;
    }
    failed.map_or(Ok(()), Err)
}

fn has_record(client: &Client, places: &Places<'_>, state_dir: &std::path::Path) -> bool {
    let options = pegboard_config::clients::StatusOptions::default();
    let statuses = pegboard_config::clients::connection_status(places, state_dir, &options);
    // If the record itself is damaged, the problem is shown.
    statuses.map_or(true, |statuses| {
        let mut found = statuses.iter().filter(|status| status.client == client.key);
        found.any(|status| status.has_record)
    })
}

/// Shows and writes the change to one file.
fn disconnect(
    plan: &DisconnectPlan,
    args: &DisconnectArgs,
    output: &Output,
) -> Result<&'static str, Failure> {
    let (name, file) = (plan.client.name, plan.path.display());
    if !output.json {
        output.line(&output.paint(Paint::Strong, &format!("{name} ({file})")))?;
        show_diff(&plan.diff(), output)?;
    }
    if args.dry_run {
        return Ok("planned");
    }
    if !args.yes && !plan.is_disconnected() {
        if !can_ask() || output.json {
            return Err(Failure::usage(
                format!("{name} was not disconnected, because no terminal can confirm the change"),
                "Add `--yes` to write it.",
            ));
        }
        if !confirm(&format!("Write {file}?"), true) {
            output.note(&format!("{name} was not disconnected"));
            return Ok("refused");
        }
    }
    plan.apply()?;
    report(plan, output);
    Ok("disconnected")
}

fn report(plan: &DisconnectPlan, output: &Output) {
    let name = plan.client.name;
    let mut how = if plan.is_gone {
        "its file does not exist any more".to_owned()
    } else if plan.deletes_file {
        "its file was created by `connect` and is deleted".to_owned()
    } else if plan.is_exact {
        "its file is as it was before, byte for byte".to_owned()
    } else {
        let servers = match plan.put_back.len() {
            0 => None,
            1 => Some("1 server was put back".to_owned()),
            count => Some(format!("{count} servers were put back")),
        };
        let entry = (!plan.has_other_entry).then(|| "Pegboard's entry was removed".to_owned());
        let done: Vec<String> = entry.into_iter().chain(servers).collect();
        match done.is_empty() {
            true => "its file was changed since".to_owned(),
            false => format!("its file was changed since: {}", done.join(" and ")),
        }
    };
    if let Some(former) = &plan.former_content {
        how.push_str(&format!("; the former content is in {}", former.display()));
    }
    let good = output.paint(Paint::Good, "disconnected");
    output.note(&format!("{good} {name}: {how}"));
    let names = |names: &[String]| {
        let shown = names
            .iter()
            .map(|name| UntrustedText::new(name).shortened(60).to_string());
        shown.collect::<Vec<_>>().join(", ")
    };
    if !plan.put_back.is_empty() {
        output.note(&format!("  direct again: {}", names(&plan.put_back)));
    }
    if !plan.kept.is_empty() {
        output.note(&format!(
            "  not put back, because the file has other servers of these names: {}",
            names(&plan.kept)
        ));
    }
    if plan.has_other_entry {
        output.note("  the entry `pegboard` stays, because it is not Pegboard any more");
    }
}

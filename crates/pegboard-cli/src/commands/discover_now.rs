//! Discovers servers that were just added or trusted, and prints the result.

use pegboard::Configuration;
use pegboard_hub::{Hub, RefreshOutcome, RefreshScope};
use pegboard_model::ServerName;
use pegboard_store::ServerLogs;

use super::log_hints::log_hints;
use super::progress::progress;
use super::refresh::print_outcome;
use super::{CommandResult, Global, Output, builder, open, with_servers, working};
use crate::failure::Failure;
use crate::output::Paint;

/// Discovers the servers concurrently. A server that fails stays configured, and its status shows the error. The
/// highest exit code of all failures is returned.
pub(crate) fn discover(
    names: &[ServerName],
    configuration: Configuration,
    global: &Global,
    output: &Output,
) -> CommandResult {
    for name in names {
        super::server_name(name.as_str(), &configuration)?;
    }
    working(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let logs = pegboard.configuration().logs();
        with_servers(pegboard, |hub| async move {
            let outcomes = discovered(&hub, names, output).await?;
            for outcome in &outcomes {
                match output.json {
                    true => output.document(outcome)?,
                    false => print_outcome(outcome, output)?,
                }
                note_log(outcome, &logs, output);
            }
            result_of(&outcomes)
        })
        .await
    })
}

/// Prints what a server without tools has written.
pub(crate) fn note_log(outcome: &RefreshOutcome, logs: &ServerLogs, output: &Output) {
    if matches!(&outcome.result, Ok(found) if found.tools == 0)
        && let Ok(text) = logs.read(&outcome.server)
        && let Some(log_hints) = log_hints(&outcome.server, &text)
    {
        output.note(&format!(
            "{} server `{}` has no tools and wrote:\n    {}\n    {}",
            output.paint(Paint::Warn, "note:"),
            outcome.server,
            log_hints.lines.join("\n    "),
            log_hints.remedy
        ));
    }
}

/// The highest exit code of all failures.
pub(crate) fn result_of(outcomes: &[RefreshOutcome]) -> CommandResult {
    let faults = outcomes.iter().filter_map(RefreshOutcome::fault);
    let exit = faults.map(|error| error.reason.exit_code()).max();
    exit.map_or(Ok(()), |exit| Err(Failure::shown(exit)))
}

/// Discovers the servers concurrently, with a progress line.
pub(crate) async fn discovered(
    hub: &Hub,
    names: &[ServerName],
    output: &Output,
) -> Result<Vec<RefreshOutcome>, Failure> {
    let _bar = progress(hub, names.len(), output);
    let refresh = |name: &ServerName| {
        let (hub, which) = (hub.clone(), RefreshScope::One(name.clone()));
        tokio::spawn(async move { hub.refresh(which, true).await })
    };
    let work: Vec<_> = names.iter().map(refresh).collect();
    let mut outcomes = Vec::new();
    for refreshed in work {
        if let Ok(refreshed) = refreshed.await {
            outcomes.extend(refreshed?);
        }
    }
    Ok(outcomes)
}

//! `pegboard activity`: the activity log, without contents.

use clap::Args;
use pegboard_hub::Hub;
use pegboard_model::{Activity, Clock, UntrustedText};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder, load_config, open, reading};
use crate::failure::Failure;
use crate::format::ago;
use crate::output::Paint;

/// The number of entries read at a time.
const PAGE: usize = 1_000;
/// The number of characters shown of a client's name and version.
const CLIENT_CHARS: usize = 30;

#[derive(Args)]
pub(crate) struct ActivityArgs {
    /// Maximum number of entries
    #[arg(long, short = 'n', default_value_t = 50)]
    pub(crate) limit: usize,
    /// Only entries before the one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<u64>,
    /// Only entries of clients whose name starts like this, such as claude-code, cli or dashboard
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
}

#[derive(Serialize)]
struct Lines<'a> {
    activity: &'a [Activity],
}

pub(crate) fn run(args: &ActivityArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let lines = read(args, pegboard.hub()).await?;
        pegboard.shut_down().await;
        if output.json {
            return output.document(&Lines { activity: &lines });
        }
        if lines.is_empty() {
            output.note(match args.client {
                Some(_) => "No activity of this client.",
                None => "No activity yet.",
            });
            return Ok(());
        }
        let now = pegboard_hub::SystemClock.now();
        let rows = lines.iter().map(|line| row(line, now, output)).collect();
        let header = [
            "WHEN", "WHAT", "SERVER", "TOOL", "OUTCOME", "MS", "CLIENT", "SESSION",
        ];
        output.line(&output.table(&header, rows, 3))
    })
}

/// Reads the newest entries that are wanted. The log has a bounded number of entries, so the loop ends.
async fn read(args: &ActivityArgs, hub: &Hub) -> Result<Vec<Activity>, Failure> {
    let mut found = Vec::new();
    let mut before = args.before;
    while found.len() < args.limit {
        let wanted = match args.client {
            Some(_) => PAGE,
            None => (args.limit - found.len()).min(PAGE),
        };
        let page = hub.activity(wanted, before).await?;
        let is_last = page.len() < wanted;
        before = page.last().map(|line| line.id);
        found.extend(page.into_iter().filter(|line| is_wanted(args, line)));
        if is_last {
            break;
        }
    }
    found.truncate(args.limit);
    Ok(found)
}

fn is_wanted(args: &ActivityArgs, line: &Activity) -> bool {
    args.client.as_ref().is_none_or(|wanted| {
        let client = line.client.as_deref().unwrap_or_default();
        client.to_lowercase().starts_with(&wanted.to_lowercase())
    })
}

fn row(line: &Activity, now: pegboard_model::Timestamp, output: &Output) -> Vec<String> {
    let text = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        UntrustedText::new(text).to_string()
    };
    let client = line.client.as_deref().unwrap_or_default();
    let is_good = matches!(
        &*line.outcome,
        "ok" | "once" | "session" | "always" | "added" | "adjusted" | "redefined" | "removed"
    );
    let outcome = UntrustedText::new(&line.outcome).to_string();
    vec![
        ago(now, Some(line.at)),
        line.kind.as_str().to_owned(),
        line.server
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        text(&line.tool),
        match is_good {
            true => outcome,
            false => output.paint(Paint::Warn, &outcome),
        },
        line.duration_ms
            .map(|ms| ms.to_string())
            .unwrap_or_default(),
        UntrustedText::new(client)
            .shortened(CLIENT_CHARS)
            .to_string(),
        text(&line.session),
    ]
}

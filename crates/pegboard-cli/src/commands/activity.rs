//! `pegboard activity`: the activity log, without contents.

use pegboard_model::{Activity, Clock, UntrustedText};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder, load_config, open, reading};
use crate::args::ActivityArgs;
use crate::format::ago;
use crate::output::Paint;

#[derive(Serialize)]
struct Lines<'a> {
    activity: &'a [Activity],
}

pub(crate) fn run(args: &ActivityArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let lines = pegboard.hub().activity(args.limit, args.before).await?;
        pegboard.shut_down().await;
        if output.json {
            return output.document(&Lines { activity: &lines });
        }
        if lines.is_empty() {
            output.note("No activity yet.");
            return Ok(());
        }
        let now = pegboard_hub::SystemClock.now();
        let rows = lines.iter().map(|line| row(line, now, output)).collect();
        let header = ["WHEN", "WHAT", "SERVER", "TOOL", "OUTCOME", "MS", "SESSION"];
        output.line(&output.table(&header, rows, 3))
    })
}

fn row(line: &Activity, now: pegboard_model::Timestamp, output: &Output) -> Vec<String> {
    let text = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        UntrustedText::new(text).to_string()
    };
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
        text(&line.session),
    ]
}

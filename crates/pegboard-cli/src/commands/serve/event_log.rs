//! Prints events of servers as they happen.

use pegboard_model::{Event, EventKind, UntrustedText};

use crate::format::count;
use crate::output::{Output, Paint};

pub(super) async fn print_events(
    mut events: tokio::sync::broadcast::Receiver<Event>,
    output: &Output,
) {
    use tokio::sync::broadcast::error::RecvError;
    loop {
        match events.recv().await {
            Ok(event) => print_event(&event, output),
            Err(RecvError::Lagged(lost)) => output.note(&format!("({lost} events not shown)")),
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}

fn print_event(event: &Event, output: &Output) {
    if output.json {
        output.note_json(event);
        return;
    }
    match &event.kind {
        EventKind::ServerDiscovered {
            server,
            tools,
            duration_ms,
        } => {
            let mark = output.paint(Paint::Good, "✓");
            output.note(&format!(
                "{mark} {server}: {} ({duration_ms} ms)",
                count(*tools, "tool")
            ));
        }
        EventKind::ServerFailed {
            server,
            error,
            reason,
        } => {
            let mark = output.paint(Paint::Bad, "✗");
            output.note(&format!(
                "{mark} {server}: {} [{reason}]",
                UntrustedText::new(error.lines().next().unwrap_or_default())
            ));
        }
        EventKind::ServerNotStored {
            server,
            error,
            reason,
        } => {
            let mark = output.paint(Paint::Warn, "!");
            output.note(&format!(
                "{mark} {server}: its list is not stored: {} [{reason}]",
                UntrustedText::new(error)
            ));
        }
        EventKind::ServerRemoved { server, removed } => {
            output.note(&format!("- {server}: {} removed", count(*removed, "tool")));
        }
        EventKind::ApprovalRequested { id, tool, way, .. } if way == "inbox" => {
            let mark = output.paint(Paint::Warn, "?");
            output.note(&format!(
                "{mark} {} waits for approval: `pegboard approvals allow {id}`",
                UntrustedText::new(tool)
            ));
        }
        EventKind::ServerStopped { server, why } if why == "crashed" => {
            output.note(&format!(
                "{} {server} exited unexpectedly",
                output.paint(Paint::Warn, "!")
            ));
        }
        _ => {}
    }
}

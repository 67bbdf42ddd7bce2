//! Handling of undiscovered servers in commands that only read.

use pegboard_catalog::Catalog;
use pegboard_hub::Hub;
use pegboard_model::{ServerName, UntrustedText};

use super::progress::progress;
use crate::output::{Output, Paint};

/// Discovers the servers that were never tried, or only the given one. On a terminal, the command shows progress and
/// waits until each server's own timeout; otherwise it waits for `answer_deadline`. It never waits for a server whose
/// last attempt failed.
pub(crate) async fn discover_untried(hub: &Hub, only: Option<&ServerName>, output: &Output) {
    if output.is_interactive() {
        let untried = hub.undiscovered(only).len();
        if untried > 0 {
            let _bar = progress(hub, untried, output);
            hub.wait_for_first_discoveries(only).await;
        }
    }
    hub.ensure_server_known(only, None).await;
}

/// Prints which servers' tools are missing from the output, why, and what to run.
pub(crate) fn note_missing(hub: &Hub, catalog: &Catalog, output: &Output) {
    let note = output.paint(Paint::Warn, "note:");
    let names = hub.undiscovered(None);
    let text: Vec<_> = names.iter().map(|name| name.as_str()).collect();
    match text.as_slice() {
        [] => {}
        [name] => output.note(&format!(
            "{note} not discovered yet: {name}. Run `pegboard refresh {name}`, which waits for it."
        )),
        names => output.note(&format!(
            "{note} not discovered yet: {}. Run `pegboard refresh`, which waits for them.",
            names.join(", ")
        )),
    }
    let unknown = catalog
        .servers()
        .filter(|entry| entry.is_offered() && !entry.record.is_known());
    for entry in unknown {
        if let Some(error) = &entry.record.last_error {
            let first = error.message.lines().next().unwrap_or_default();
            output.note(&format!(
                "{note} {} [{}]",
                UntrustedText::new(first),
                error.reason
            ));
        }
    }
}

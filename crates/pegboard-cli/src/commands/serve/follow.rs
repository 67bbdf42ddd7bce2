//! Reactions to changes while Pegboard runs: config files, trust, secrets, tokens, and stale lists.

use std::time::Duration;

use pegboard::dashboard::ConfigReloader;
use pegboard_config::Severity;
use pegboard_gateway::http::{self, Access};
use pegboard_hub::Hub;
use pegboard_model::ServerName;
use tokio::sync::Notify;

use crate::output::{Output, Paint};

/// The delay of work that no client waits for, so that the first clients get their first responses earlier.
pub(crate) const STARTUP_GRACE: Duration = Duration::from_secs(1);
/// The interval of housekeeping.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(30);

/// Marks stale lists and refreshes old ones, forever.
pub(crate) async fn run_housekeeping(hub: &Hub) {
    hub.index_meaning_in_background();
    let mut tick = tokio::time::interval(HOUSEKEEPING_INTERVAL);
    loop {
        tick.tick().await;
        hub.mark_stale();
        hub.refresh_stale_in_background();
    }
}

/// Applies each change of a config file and prints the result, forever.
pub(crate) async fn follow_config(
    reload: &ConfigReloader,
    access: Option<&Access>,
    changed: &Notify,
    output: &Output,
) {
    loop {
        changed.notified().await;
        if let Some(access) = access {
            follow_tokens(reload, access, output);
        }
        let reloaded = reload.apply().await;
        for problem in reloaded
            .problems
            .iter()
            .filter(|p| p.severity != Severity::Advice)
        {
            output.note(&output.paint(Paint::Warn, &problem.to_string()));
        }
        let Some(change) = reloaded.change else {
            output.note("config: not applied until the file can be read");
            continue;
        };
        let names = |names: &[ServerName]| {
            names
                .iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (word, servers) in [
            ("new", &change.added),
            ("removed", &change.removed),
            ("redefined", &change.redefined),
            ("changed", &change.adjusted),
        ] {
            if !servers.is_empty() {
                output.note(&format!("config: {word} {}", names(servers)));
            }
        }
    }
}

/// Applies rotated tokens. If a token is missing or unreadable, the current one stays in use.
fn follow_tokens(reload: &ConfigReloader, access: &Access, output: &Output) {
    let state = reload.state_dir();
    match http::stored_admin_token(state) {
        Ok(None) => {}
        Ok(Some(token)) => {
            reload.redact(&token);
            access.set_admin_token(&token);
        }
        Err(error) => output.note(&output.paint(Paint::Warn, &error.to_string())),
    }
    if !access.needs_token() {
        return;
    }
    match http::stored_token(state) {
        Ok(None) => {}
        Ok(Some(token)) => {
            reload.redact(&token);
            access.set_token(&token);
        }
        Err(error) => output.note(&output.paint(Paint::Warn, &error.to_string())),
    }
}

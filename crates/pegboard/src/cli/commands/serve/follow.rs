//! What changes while Pegboard runs: config files, agreements, secrets, the token, and time.

use std::time::Duration;

use pegboard_config::{Problem, Severity};
use pegboard_gateway::Gateway;
use pegboard_gateway::http::{self, Access};
use pegboard_hub::Hub;
use pegboard_model::ServerName;
use tokio::sync::Notify;

use crate::Pegboard;
use crate::cli::output::{Output, Paint};

/// What no client waits for begins when the first ones have their first answers.
pub(crate) const FIRST_ANSWERS: Duration = Duration::from_secs(1);
/// How often stale marks and old lists are looked after.
const HOUSEKEEPING: Duration = Duration::from_secs(30);

/// Marks lists that got stale, and renews old ones.
pub(crate) async fn keep_house(hub: &Hub) {
    hub.keep_meaning_ready();
    let mut tick = tokio::time::interval(HOUSEKEEPING);
    loop {
        tick.tick().await;
        hub.mark_stale();
        hub.touch();
    }
}

/// Takes over each change of a config file. A file that cannot be read changes nothing, because it is
/// most likely half written; a mistake in one server costs only that server.
pub(crate) async fn follow_config(
    pegboard: &Pegboard,
    gateway: &Gateway,
    access: Option<&Access>,
    changed: &Notify,
    output: &Output,
) {
    loop {
        changed.notified().await;
        if let Some(access) = access {
            follow_token(pegboard, access, output);
        }
        let loaded = pegboard.configured().read_again();
        for problem in loaded
            .problems
            .iter()
            .filter(|p| p.severity != Severity::Advice)
        {
            output.note(&output.paint(Paint::Warn, &problem.to_string()));
        }
        let unreadable = |p: &Problem| p.severity == Severity::Error && p.server.is_none();
        if loaded.problems.iter().any(unreadable) {
            output.note("config: nothing is changed until the file can be read");
            continue;
        }
        pegboard.observed().learn(loaded.servers.values());
        gateway.set_profiles(crate::profiles(&loaded.profiles));
        pegboard.hub().set_rules(loaded.rules.clone());
        let change = pegboard.hub().apply(loaded.servers.into_values()).await;
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

/// A token that cannot be read changes nothing: the one in use still counts.
fn follow_token(pegboard: &Pegboard, access: &Access, output: &Output) {
    if !access.needs_token() {
        return;
    }
    match http::token(pegboard.configured().state.path()) {
        Ok(token) => {
            pegboard.observed().learn_one(&token);
            access.set_token(&token);
        }
        Err(error) => output.note(&output.paint(Paint::Warn, &error.to_string())),
    }
}

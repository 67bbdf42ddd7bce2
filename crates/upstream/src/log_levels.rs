//! The log level of a legacy server that several sessions share: the most verbose one that any of them wants. Each
//! session filters what it receives.

use std::sync::{Arc, Mutex, PoisonError};

use crate::contract::{Caller, Listener};

/// All levels, the most verbose first.
const LEVELS: &[&str] = &[
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
/// The maximum number of remembered sessions. The oldest is forgotten first.
const MAX_SESSIONS: usize = 64;

/// The levels that sessions want.
#[derive(Default)]
pub(crate) struct LogLevels(Mutex<Vec<WantedLevel>>);

struct WantedLevel {
    session: Box<str>,
    /// The position in `LEVELS`.
    level: usize,
    /// Returns whether the session still exists. Without it, the level counts until another session makes a call.
    listener: Option<Arc<dyn Listener>>,
}

impl LogLevels {
    /// Records the level that the caller's session wants. Returns the level to set at the server.
    pub(crate) fn set<'l>(&self, caller: Option<&Arc<dyn Caller>>, level: &'l str) -> &'l str {
        let position = LEVELS.iter().position(|known| *known == level);
        let (Some(caller), Some(position)) = (caller, position) else {
            return level;
        };
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = caller.session();
        wanted.retain(|held| {
            let is_connected = |listener: &Arc<dyn Listener>| listener.is_connected();
            *held.session == *session || held.listener.as_ref().is_some_and(is_connected)
        });
        match wanted.iter_mut().find(|held| *held.session == *session) {
            Some(held) => held.level = position,
            None => {
                if wanted.len() >= MAX_SESSIONS {
                    wanted.remove(0);
                }
                wanted.push(WantedLevel {
                    session: session.into(),
                    level: position,
                    listener: caller.listener(),
                });
            }
        }
        let lowest = wanted.iter().map(|held| held.level).min();
        lowest
            .and_then(|lowest| LEVELS.get(lowest).copied())
            .unwrap_or(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Client;
    use crate::testing::ClientAnswer::Never;

    #[test]
    fn r_gate_04_the_most_verbose_level_of_the_connected_sessions_is_set() {
        let levels = LogLevels::default();
        let (a, b) = (Client::new("a", Never), Client::new("b", Never));
        let caller = |client: &Arc<Client>| Arc::clone(client) as Arc<dyn Caller>;
        assert_eq!(levels.set(Some(&caller(&a)), "warning"), "warning");
        assert_eq!(levels.set(Some(&caller(&b)), "debug"), "debug");
        assert_eq!(levels.set(Some(&caller(&a)), "error"), "debug");
        assert_eq!(levels.set(Some(&caller(&b)), "info"), "info");
        assert_eq!(levels.set(None, "emergency"), "emergency");
        assert_eq!(levels.set(Some(&caller(&a)), "loud"), "loud");
        drop(b);
        assert_eq!(levels.set(Some(&caller(&a)), "error"), "error");
    }
}

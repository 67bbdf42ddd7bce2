//! Resource subscriptions, and the notifications requested from a modern server.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pegboard_jsonrpc::push_quoted;
use tokio::sync::watch;

use crate::capabilities::ServerCapabilities;

/// The request that subscribes to notifications of a modern server.
pub(crate) const LISTEN: &str = "subscriptions/listen";
/// How long a modern server may take to acknowledge a changed request before it is assumed to know it.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(2);

/// The subscriptions of one connection.
pub(crate) struct Subscriptions {
    uris: Mutex<BTreeSet<String>>,
    /// Counts the changes of the set.
    version: watch::Sender<u64>,
    /// The newest version that the server has acknowledged.
    acknowledged: watch::Sender<u64>,
    limit: usize,
}

/// The limit on subscriptions is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Subscriptions {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            uris: Mutex::default(),
            version: watch::channel(1).0,
            acknowledged: watch::channel(0).0,
            limit,
        }
    }

    /// Checks whether one more resource can be subscribed to.
    pub(crate) fn check_room(&self, uri: &str) -> Result<(), TooMany> {
        let uris = self.lock();
        if uris.len() < self.limit || uris.contains(uri) {
            Ok(())
        } else {
            Err(TooMany)
        }
    }

    /// Adds or removes a subscription. Returns whether that is a change.
    pub(crate) fn set(&self, uri: &str, watch: bool) -> Result<bool, TooMany> {
        let mut uris = self.lock();
        let is_changed = match watch {
            true if uris.contains(uri) => false,
            true if uris.len() >= self.limit => return Err(TooMany),
            true => uris.insert(uri.to_owned()),
            false => uris.remove(uri),
        };
        if is_changed {
            self.version.send_modify(|version| *version += 1);
        }
        Ok(is_changed)
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    /// Notifies of changes of the set.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Returns the version of the set and the `params` members that request it; `None` if there is nothing to request.
    pub(crate) fn members(&self, capabilities: ServerCapabilities) -> (u64, Option<String>) {
        let uris = self.lock();
        let mut filter = String::new();
        for (name, is_wanted) in [
            ("toolsListChanged", capabilities.tools_changed),
            ("promptsListChanged", capabilities.prompts_changed),
            ("resourcesListChanged", capabilities.resources_changed),
        ] {
            if is_wanted {
                let comma = if filter.is_empty() { "" } else { "," };
                filter.push_str(&format!(r#"{comma}"{name}":true"#));
            }
        }
        for (place, uri) in uris.iter().enumerate() {
            filter.push_str(match (place, filter.is_empty()) {
                (0, true) => r#""resourceSubscriptions":["#,
                (0, false) => r#","resourceSubscriptions":["#,
                _ => ",",
            });
            push_quoted(&mut filter, uri);
        }
        if !uris.is_empty() {
            filter.push(']');
        }
        let version = *self.version.borrow();
        let members = format!(r#""notifications":{{{filter}}}"#);
        (version, (!filter.is_empty()).then_some(members))
    }

    /// Records that the server knows this version.
    pub(crate) fn acknowledge(&self, version: u64) {
        self.acknowledged
            .send_if_modified(|known| version > std::mem::replace(known, version.max(*known)));
    }

    /// Waits until the server knows the current version, or a timeout has passed.
    pub(crate) async fn wait_acknowledged(&self) {
        let version = *self.version.borrow();
        let mut acknowledged = self.acknowledged.subscribe();
        let known = acknowledged.wait_for(|known| *known >= version);
        let _ = tokio::time::timeout(ACKNOWLEDGED_WITHIN, known).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(capabilities: &str) -> ServerCapabilities {
        ServerCapabilities::read(Some(capabilities))
    }

    #[test]
    fn r_gate_03_a_modern_server_is_asked_for_what_it_declares_and_what_is_watched() {
        let subscriptions = Subscriptions::new(2);
        assert_eq!(subscriptions.members(declared("{}")), (1, None));
        let all = declared(
            r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}}"#,
        );
        assert_eq!(
            subscriptions.members(all).1.unwrap(),
            r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#
        );
        assert_eq!(subscriptions.set("b\"c", true), Ok(true));
        assert_eq!(subscriptions.set("a", true), Ok(true));
        assert_eq!(subscriptions.set("a", true), Ok(false));
        assert_eq!(subscriptions.set("c", true), Err(TooMany));
        assert_eq!(
            subscriptions.check_room("c"),
            Err(TooMany),
            "and no more than the limit"
        );
        let (version, members) = subscriptions.members(declared("{}"));
        let expected = r#""notifications":{"resourceSubscriptions":["a","b\"c"]}"#;
        assert_eq!((version, members.as_deref()), (3, Some(expected)));
        assert_eq!(subscriptions.set("a", false), Ok(true));
        assert_eq!(subscriptions.set("a", false), Ok(false));
        assert_eq!(subscriptions.uris(), ["b\"c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_acknowledges_causes_a_short_delay() {
        let subscriptions = Subscriptions::new(1);
        let begun = tokio::time::Instant::now();
        subscriptions.wait_acknowledged().await;
        assert_eq!(begun.elapsed(), ACKNOWLEDGED_WITHIN);
        subscriptions.acknowledge(1);
        subscriptions.wait_acknowledged().await;
        assert_eq!(begun.elapsed(), ACKNOWLEDGED_WITHIN);
    }
}

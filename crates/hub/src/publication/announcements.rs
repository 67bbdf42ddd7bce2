//! Announcements of running servers, and notifications when prompts or resources change.

use pegboard_catalog::ServerEntry;
use pegboard_model::{Offers, ServerName};
use pegboard_upstream::Announcement;
use tokio::sync::broadcast;

use crate::hub::{Hub, Inner};
use crate::slots::ServerSlot;

/// Announcements that a slow subscriber may lag behind before it loses the oldest.
pub(super) const SUBSCRIBER_BACKLOG: usize = 256;

impl Hub {
    /// Subscribes to the servers' announcements. A list change is announced after the catalog has the new list, so
    /// that a subscriber that lists again sees the change.
    pub fn announcements(&self) -> broadcast::Receiver<(ServerName, Announcement)> {
        self.inner.catalog.announcements.subscribe()
    }
}

/// List changes that a server announced and that subscribers have not been notified of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingNotices {
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Inner {
    pub(crate) fn announce(&self, server: &ServerName, announcement: Announcement) {
        // An error means that there are no subscribers.
        let _ = self
            .catalog
            .announcements
            .send((server.clone(), announcement));
    }

    /// Announces which of a server's prompts and resources changed between two entries. A server that is not offered
    /// counts as empty.
    pub(crate) fn announce_list_changes(
        &self,
        server: &ServerName,
        before: Option<&ServerEntry>,
        after: Option<&ServerEntry>,
    ) {
        let none = Offers::default();
        let of = |entry: Option<&ServerEntry>| {
            let offered = entry.filter(|entry| entry.is_offered());
            offered.map(|entry| entry.record.offers.clone())
        };
        let (before, after) = (of(before), of(after));
        let before = before.as_deref().unwrap_or(&none);
        let after = after.as_deref().unwrap_or(&none);
        self.notify_list_changes(
            server,
            PendingNotices {
                prompts: before.prompts != after.prompts,
                resources: before.resources != after.resources
                    || before.templates != after.templates,
            },
        );
    }

    /// Announces the changes that are still pending after the lists were fetched because of a `list_changed`
    /// notification.
    pub(crate) fn announce_pending(&self, slot: &ServerSlot) {
        let pending = slot.list_changes().pending();
        self.notify_list_changes(slot.server(), pending);
    }

    fn notify_list_changes(&self, server: &ServerName, due: PendingNotices) {
        for slot in self.slots.of_server(server) {
            slot.list_changes().clear_pending(due);
        }
        if due.prompts {
            self.announce(server, Announcement::PromptsChanged);
        }
        if due.resources {
            self.announce(server, Announcement::ResourcesChanged);
        }
    }
}

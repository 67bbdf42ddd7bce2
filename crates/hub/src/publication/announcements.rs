//! Telling whoever asks what running servers announce, and which lists beside tools are other than before.

use pegboard_catalog::ServerEntry;
use pegboard_model::{Offers, ServerName};
use pegboard_upstream::Announcement;
use tokio::sync::broadcast;

use crate::hub::{Hub, Inner};
use crate::slots::ServerSlot;

/// Announcements that a slow listener may fall behind before it loses the oldest.
pub(super) const SUBSCRIBER_BACKLOG: usize = 256;

impl Hub {
    /// What servers announce from now on. That a list changed is told when the catalog has the new one, so that
    /// whoever hears it and lists sees the change.
    pub fn announcements(&self) -> broadcast::Receiver<(ServerName, Announcement)> {
        self.inner.catalog.announcements.subscribe()
    }
}

/// Changes that a server told of and that were not passed on yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingNotices {
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Inner {
    pub(crate) fn announce(&self, server: &ServerName, announcement: Announcement) {
        // Nobody listening is no fault.
        let _ = self
            .catalog
            .announcements
            .send((server.clone(), announcement));
    }

    /// Tells which lists beside tools differ between two entries of a server, as far as they are offered.
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

    /// Passes on what is still owed after a list was fetched because the server told of a change.
    pub(crate) fn announce_pending(&self, slot: &ServerSlot) {
        let pending = slot.list_changes().pending();
        self.notify_list_changes(slot.server(), pending);
    }

    fn notify_list_changes(&self, server: &ServerName, due: PendingNotices) {
        if let Some(slot) = self.slots.get(server) {
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

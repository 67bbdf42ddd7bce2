//! Clients that are notified when lists change or a resource is updated.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use pegboard_catalog::exposed_uri;
use pegboard_hub::{Announcement, FirstSnapshot};
use pegboard_model::ServerName;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;

use crate::conversation::{MessageSink, lock};
use crate::gateway::Shared;
use crate::members::quoted;
use crate::surface::Surface;
use crate::view::View;

/// The notifications that a client subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubscriptionFilter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resource_list: bool,
    /// Watched resources, under the URIs the client used.
    pub(crate) resources: Vec<String>,
}

impl SubscriptionFilter {
    /// All list changes, which every legacy client gets.
    pub(crate) fn every_list() -> Self {
        Self {
            tools: true,
            prompts: true,
            resource_list: true,
            resources: Vec::new(),
        }
    }
}

/// All subscribers.
#[derive(Default)]
pub(crate) struct Subscribers {
    next: AtomicU64,
    all: Mutex<HashMap<u64, Subscriber>>,
    is_watching: AtomicBool,
    changed: Arc<Notify>,
}

struct Subscriber {
    profile: String,
    /// The id of a modern client's `subscriptions/listen` request. `None` for a legacy client.
    subscription: Option<Box<RawValue>>,
    filter: SubscriptionFilter,
    sink: Arc<dyn MessageSink>,
    /// The lists that the client was last notified about.
    seen: LastNotified,
}

/// The lists that a client already knows.
#[derive(Clone)]
pub(crate) enum LastNotified {
    ListBytes(ListBytes),
    /// The lists of the first snapshot, which may not be loaded yet.
    Snapshot(FirstSnapshot),
}

impl LastNotified {
    fn now(shared: &Shared, view: &View) -> Self {
        match shared.hub.is_catalog_loaded() {
            true => Self::ListBytes(ListBytes::of(&view.surface(&shared.hub))),
            false => Self::Snapshot(shared.hub.first_snapshot()),
        }
    }

    /// Resolves to lists. `present` is the current surface of the view.
    fn lists(&self, view: &View, present: &Surface) -> ListBytes {
        match self {
            Self::ListBytes(lists) => lists.clone(),
            Self::Snapshot(snapshot) => {
                let then = snapshot.get().unwrap_or(&present.source);
                let profile = view.profile.clone();
                ListBytes::of(&Surface::new(then.clone(), profile, Some(present)))
            }
        }
    }
}

/// The serialized lists of a profile, for comparison.
#[derive(Clone)]
pub(crate) struct ListBytes {
    tools: Bytes,
    prompts: Bytes,
    resources: Bytes,
    templates: Bytes,
}

impl ListBytes {
    fn of(surface: &Surface) -> Self {
        Self {
            tools: surface.tools(),
            prompts: surface.prompts(),
            resources: surface.resources(),
            templates: surface.templates(),
        }
    }
}

/// Whether two lists differ. Lists reused between snapshots share a buffer, which makes the comparison cheap.
fn differ(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) != (other.as_ptr(), other.len()) && one != other
}

/// Keeps a subscription until dropped.
pub(crate) struct SubscriptionGuard {
    shared: Weak<Shared>,
    id: u64,
}

impl SubscriptionGuard {
    /// The lists that its client already knows.
    pub(crate) fn seen(&self) -> Option<LastNotified> {
        let shared = self.shared.upgrade()?;
        let all = lock(&shared.subscribers.all);
        all.get(&self.id).map(|subscriber| subscriber.seen.clone())
    }

    /// Replaces the watched resources. Pending list notifications are kept.
    pub(crate) fn watch(&self, resources: Vec<String>) {
        if let Some(shared) = self.shared.upgrade()
            && let Some(subscriber) = lock(&shared.subscribers.all).get_mut(&self.id)
        {
            subscriber.filter.resources = resources;
        }
    }
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            lock(&shared.subscribers.all).remove(&self.id);
        }
    }
}

impl Subscribers {
    /// Adds a subscriber. One that reconnects is notified of changes since `seen`.
    pub(crate) fn add(
        &self,
        shared: &Arc<Shared>,
        profile: &str,
        subscription: Option<&RawValue>,
        filter: SubscriptionFilter,
        sink: &Arc<dyn MessageSink>,
        seen: Option<LastNotified>,
    ) -> SubscriptionGuard {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(view) = shared.view(profile) {
            let was_away = seen.is_some();
            let subscriber = Subscriber {
                profile: profile.to_owned(),
                subscription: subscription.map(RawValue::to_owned),
                filter,
                sink: sink.clone(),
                seen: seen.unwrap_or_else(|| LastNotified::now(shared, &view)),
            };
            lock(&self.all).insert(id, subscriber);
            self.watch(shared);
            if was_away {
                self.wake();
            }
        }
        SubscriptionGuard {
            shared: Arc::downgrade(shared),
            id,
        }
    }

    /// Compares the lists again, for example after the profiles changed.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Starts the task that follows the hub's events, once.
    fn watch(&self, shared: &Arc<Shared>) {
        if self.is_watching.swap(true, Ordering::AcqRel) {
            return;
        }
        let (weak, changed) = (Arc::downgrade(shared), self.changed.clone());
        let mut events = shared.hub.subscribe();
        let mut announcements = shared.hub.announcements();
        tokio::spawn(async move {
            loop {
                let update = tokio::select! {
                    event = events.recv() => match event {
                        Err(RecvError::Closed) => return,
                        _ => None,
                    },
                    () = changed.notified() => None,
                    announcement = announcements.recv() => match announcement {
                        Ok((server, Announcement::ResourceUpdated { uri })) => Some((server, uri)),
                        Ok(_) | Err(RecvError::Lagged(_)) => None,
                        Err(RecvError::Closed) => return,
                    },
                };
                let Some(shared) = weak.upgrade() else { return };
                match update {
                    Some((server, uri)) => shared
                        .subscribers
                        .notify_resource_update(&shared, &server, &uri),
                    None => {
                        // One comparison covers all pending events.
                        while events.try_recv().is_ok() {}
                        shared.subscribers.notify_list_changes(&shared);
                    }
                }
            }
        });
    }

    fn notify_list_changes(&self, shared: &Shared) {
        let mut now: HashMap<String, (Arc<View>, Arc<Surface>)> = HashMap::new();
        let mut all = lock(&self.all);
        for subscriber in all.values_mut() {
            let (view, surface) = match now.get(&subscriber.profile) {
                Some(shown) => shown,
                None => {
                    let Some(view) = shared.view(&subscriber.profile) else {
                        continue;
                    };
                    let surface = view.surface(&shared.hub);
                    now.entry(subscriber.profile.clone())
                        .or_insert((view, surface))
                }
            };
            let lists = ListBytes::of(surface);
            let (seen, filter) = (subscriber.seen.lists(view, surface), &subscriber.filter);
            let resources = differ(&seen.resources, &lists.resources)
                || differ(&seen.templates, &lists.templates);
            for (method, is_changed) in [
                ("tools", filter.tools && differ(&seen.tools, &lists.tools)),
                (
                    "prompts",
                    filter.prompts && differ(&seen.prompts, &lists.prompts),
                ),
                ("resources", filter.resource_list && resources),
            ] {
                if is_changed {
                    subscriber.notify(&format!("notifications/{method}/list_changed"), None);
                }
            }
            subscriber.seen = LastNotified::ListBytes(lists);
        }
    }

    fn notify_resource_update(&self, shared: &Shared, server: &ServerName, uri: &str) {
        let exposed = exposed_uri(server, uri);
        for subscriber in lock(&self.all).values() {
            let profile = shared
                .view(&subscriber.profile)
                .map(|view| view.profile.clone());
            if !profile.is_some_and(|profile| profile.holds(server)) {
                continue;
            }
            let named = |watched: &&String| **watched == exposed || **watched == uri;
            if let Some(watched) = subscriber.filter.resources.iter().find(named) {
                subscriber.notify("notifications/resources/updated", Some(watched));
            }
        }
    }
}

impl Subscriber {
    fn notify(&self, method: &str, uri: Option<&str>) {
        let mut members = Vec::new();
        if let Some(subscription) = &self.subscription {
            members.push(format!(
                r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}}"#
            ));
        }
        if let Some(uri) = uri {
            members.push(format!(r#""uri":{}"#, quoted(uri)));
        }
        let params = match members.is_empty() {
            true => String::new(),
            false => format!(r#","params":{{{}}}"#, members.join(",")),
        };
        self.sink.send(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#
        ));
    }
}

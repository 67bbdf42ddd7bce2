//! A profile with its lists as of now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use pegboard_hub::Hub;

use crate::profile::Profile;
use crate::surface::Surface;

/// A profile, and the lists made from the last snapshot that it was asked about.
pub(crate) struct View {
    pub(crate) profile: Arc<Profile>,
    surface: ArcSwapOption<Surface>,
    /// How often its tools were listed since that was last asked for.
    lists: AtomicU64,
    /// What is the same over every snapshot, made without one.
    outline: OnceLock<Arc<Surface>>,
}

impl View {
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile: Arc::new(profile),
            surface: ArcSwapOption::empty(),
            lists: AtomicU64::new(0),
            outline: OnceLock::new(),
        }
    }

    /// Its tools were listed.
    pub(crate) fn count_list(&self) {
        self.lists.fetch_add(1, Ordering::Relaxed);
    }

    /// How often its tools were listed since this was last asked.
    pub(crate) fn take_lists(&self) -> u64 {
        self.lists.swap(0, Ordering::Relaxed)
    }

    /// What answers a handshake and `tools/list`. A fixed profile needs no catalog for that, so one that nobody
    /// has read yet stays unread.
    pub(crate) fn outline(&self, hub: &Hub) -> Arc<Surface> {
        if hub.is_catalog_loaded() || !self.profile.is_fixed() {
            return self.surface(hub);
        }
        let made = || Arc::new(Surface::new(Arc::default(), self.profile.clone(), None));
        self.outline.get_or_init(made).clone()
    }

    /// The lists over the present snapshot.
    pub(crate) fn surface(&self, hub: &Hub) -> Arc<Surface> {
        let catalog = hub.catalog();
        let former = self.surface.load_full();
        if let Some(surface) = &former
            && Arc::ptr_eq(&surface.source, &catalog)
        {
            return surface.clone();
        }
        let surface = Surface::new(catalog, self.profile.clone(), former.as_deref());
        let surface = Arc::new(surface);
        self.surface.store(Some(surface.clone()));
        surface
    }
}

//! A profile with its cached lists.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use pegboard_hub::Hub;

use crate::profile::Profile;
use crate::surface::Surface;

/// A profile and the surface built from the latest snapshot that was requested.
pub(crate) struct View {
    pub(crate) profile: Arc<Profile>,
    surface: ArcSwapOption<Surface>,
    /// `tools/list` requests since the last [`View::take_lists`].
    lists: AtomicU64,
    /// The surface of a fixed profile, built without a snapshot.
    handshake_surface: OnceLock<Arc<Surface>>,
}

impl View {
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile: Arc::new(profile),
            surface: ArcSwapOption::empty(),
            lists: AtomicU64::new(0),
            handshake_surface: OnceLock::new(),
        }
    }

    /// Counts a `tools/list` request.
    pub(crate) fn count_list(&self) {
        self.lists.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns and resets the number of `tools/list` requests.
    pub(crate) fn take_lists(&self) -> u64 {
        self.lists.swap(0, Ordering::Relaxed)
    }

    /// The surface for the handshake and `tools/list`. A fixed profile does not need the catalog for it, so an unloaded
    /// catalog stays unloaded.
    pub(crate) fn handshake_surface(&self, hub: &Hub) -> Arc<Surface> {
        if hub.is_catalog_loaded() || !self.profile.is_fixed() {
            return self.surface(hub);
        }
        let made = || Arc::new(Surface::new(Arc::default(), self.profile.clone(), None));
        self.handshake_surface.get_or_init(made).clone()
    }

    /// The surface over the current snapshot.
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

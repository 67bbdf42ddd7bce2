//! The current snapshot. The first one is built on demand: a gateway's handshake does not depend on it, and reading
//! the store takes longer than the handshake.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::{ArcSwap, Guard};
use pegboard_catalog::Catalog;

use crate::sync::lock;

/// The snapshot that a hub starts with; empty until it is built.
pub type FirstSnapshot = Arc<OnceLock<Arc<Catalog>>>;

pub(super) struct CatalogSnapshots {
    present: ArcSwap<Catalog>,
    is_made: AtomicBool,
    /// Taken by the thread that builds the first snapshot, and locked meanwhile, so that other readers wait for it.
    unmade: Mutex<Option<DeferredCatalog>>,
}

struct DeferredCatalog {
    make: Box<dyn FnOnce() -> Catalog + Send>,
    first: FirstSnapshot,
}

impl CatalogSnapshots {
    /// Starts with a snapshot that `make` builds on demand. `make` must not read the current snapshot.
    pub(super) fn deferred(make: impl FnOnce() -> Catalog + Send + 'static) -> Self {
        Self {
            present: ArcSwap::default(),
            is_made: AtomicBool::new(false),
            unmade: Mutex::new(Some(DeferredCatalog {
                make: Box::new(make),
                first: FirstSnapshot::default(),
            })),
        }
    }

    /// Whether the first snapshot is built.
    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    /// Returns the first snapshot, or the current one if the first is already built.
    pub(super) fn first(&self) -> FirstSnapshot {
        match &*lock(&self.unmade) {
            Some(unmade) => unmade.first.clone(),
            None => Arc::new(OnceLock::from(self.present.load_full())),
        }
    }

    pub(super) fn load(&self) -> Guard<Arc<Catalog>> {
        self.made().load()
    }

    pub(super) fn load_full(&self) -> Arc<Catalog> {
        self.made().load_full()
    }

    pub(super) fn store(&self, next: Arc<Catalog>) {
        self.made().store(next);
    }

    fn made(&self) -> &ArcSwap<Catalog> {
        if !self.is_made() {
            let mut held = lock(&self.unmade);
            if let Some(unmade) = held.take() {
                let first = Arc::new((unmade.make)());
                self.present.store(first.clone());
                // This is the only place that sets it.
                let _ = unmade.first.set(first);
                self.is_made.store(true, Ordering::Release);
            }
        }
        &self.present
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn the_first_snapshot_is_made_once_and_only_when_it_is_asked_for() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let snapshots = CatalogSnapshots::deferred(|| {
            MADE.fetch_add(1, Ordering::Relaxed);
            Catalog::default()
        });
        let first = snapshots.first();
        assert!(!snapshots.is_made() && first.get().is_none());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| drop(snapshots.load()));
            }
        });
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
        let made = snapshots.load_full();
        assert!(Arc::ptr_eq(first.get().unwrap(), &made));
        snapshots.store(Arc::default());
        assert!(
            Arc::ptr_eq(first.get().unwrap(), &made),
            "the first snapshot does not change"
        );
        let later = snapshots.first();
        assert!(Arc::ptr_eq(later.get().unwrap(), &snapshots.load_full()));
    }
}

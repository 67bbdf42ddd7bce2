//! The present snapshot of all that is known. The first one is made when somebody asks for it: what a gateway says
//! of itself does not depend on it, and reading the store takes longer than saying that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::{ArcSwap, Guard};
use pegboard_catalog::Catalog;

use crate::sync::lock;

/// The snapshot that a hub begins with; empty until somebody asked for it.
pub type FirstSnapshot = Arc<OnceLock<Arc<Catalog>>>;

pub(super) struct CatalogSnapshots {
    present: ArcSwap<Catalog>,
    is_made: AtomicBool,
    /// Taken by whoever makes the first one, and held meanwhile: all others wait for it.
    unmade: Mutex<Option<DeferredCatalog>>,
}

struct DeferredCatalog {
    make: Box<dyn FnOnce() -> Catalog + Send>,
    first: FirstSnapshot,
}

impl CatalogSnapshots {
    /// Begins with a snapshot that is still to be made. Making it must not ask for the present one.
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

    /// Whether asking for the present one costs nothing.
    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    /// The first snapshot, or the present one if the first was made already.
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
                // Nobody else fills it.
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
            "what somebody began with stays as it was"
        );
        let later = snapshots.first();
        assert!(Arc::ptr_eq(later.get().unwrap(), &snapshots.load_full()));
    }
}

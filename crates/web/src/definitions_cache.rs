//! Rendered definitions of the current catalog. A model's calls need the same definitions as its request, and rendering
//! all tools for each call would be slow.

use std::sync::{Arc, Mutex, PoisonError};

use pegboard_agent::{Definitions, Loading};
use pegboard_catalog::Catalog;
use pegboard_formats::Format;

/// Kept definitions. Programs use one or two formats; each entry can hold a copy of all definitions.
const CAPACITY: usize = 4;

/// The definitions that were rendered last. Entries of an earlier catalog are dropped.
#[derive(Default)]
pub(crate) struct DefinitionsCache {
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    catalog: Arc<Catalog>,
    format: Format,
    loading: Loading,
    definitions: Arc<Definitions>,
}

impl DefinitionsCache {
    /// Returns the definitions of a catalog, rendering them if they are not cached.
    pub(crate) fn of(
        &self,
        catalog: &Arc<Catalog>,
        format: Format,
        loading: Loading,
    ) -> Arc<Definitions> {
        let is_wanted = |entry: &&Entry| {
            Arc::ptr_eq(&entry.catalog, catalog)
                && entry.format == format
                && entry.loading == loading
        };
        let lock = || self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = lock().iter().find(is_wanted) {
            return entry.definitions.clone();
        }
        // Rendered without the lock: other formats do not wait for it.
        let definitions = Arc::new(Definitions::of(catalog, format, loading));
        let mut entries = lock();
        entries.retain(|entry| Arc::ptr_eq(&entry.catalog, catalog) && !is_wanted(&entry));
        if entries.len() >= CAPACITY {
            entries.remove(0);
        }
        entries.push(Entry {
            catalog: catalog.clone(),
            format,
            loading,
            definitions: definitions.clone(),
        });
        definitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_rendered_once_per_catalog_format_and_loading() {
        let cache = DefinitionsCache::default();
        let (one, two) = (Arc::<Catalog>::default(), Arc::<Catalog>::default());
        let of = |catalog| cache.of(catalog, Format::Anthropic, Loading::Meta);
        let first = of(&one);
        assert!(Arc::ptr_eq(&first, &of(&one)));
        let all = cache.of(&one, Format::Anthropic, Loading::All);
        assert!(!Arc::ptr_eq(&first, &all));
        assert!(Arc::ptr_eq(&first, &of(&one)));
        assert!(!Arc::ptr_eq(&first, &of(&two)));
        // The entries of the earlier catalog are gone.
        assert_eq!(cache.entries.lock().unwrap().len(), 1);
        for format in Format::all() {
            cache.of(&two, format, Loading::All);
        }
        assert_eq!(cache.entries.lock().unwrap().len(), CAPACITY);
    }
}

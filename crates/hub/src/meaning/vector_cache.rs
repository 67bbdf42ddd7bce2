//! The stored form of vectors: for each tool a hash of its text and the bytes of its vectors.

use std::collections::HashMap;

use super::EncoderInput;

const KEY_BYTES: usize = 16;

/// The hash of the text that a tool's vectors were computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextKey([u8; KEY_BYTES]);

impl TextKey {
    pub(super) fn of(tool: &EncoderInput) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [&tool.server, &tool.name, &tool.description] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut key = [0; KEY_BYTES];
        hasher.finalize_xof().fill(&mut key);
        Self(key)
    }
}

/// The vectors of one server's tools.
#[derive(Default)]
pub(super) struct VectorCache(HashMap<TextKey, Box<[u8]>>);

impl VectorCache {
    /// Reads stored vectors. An incomplete row at the end is ignored.
    pub(super) fn read(bytes: &[u8], row: usize) -> Self {
        let rows = bytes.chunks_exact(KEY_BYTES + row).filter_map(|chunk| {
            let (key, vectors) = chunk.split_at_checked(KEY_BYTES)?;
            Some((TextKey(key.try_into().ok()?), vectors.into()))
        });
        Self(rows.collect())
    }

    pub(super) fn has(&self, key: &TextKey) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn add(&mut self, key: TextKey, vectors: Vec<u8>) {
        self.0.insert(key, vectors.into());
    }

    pub(super) fn get(&self, key: &TextKey) -> Option<&[u8]> {
        self.0.get(key).map(AsRef::as_ref)
    }

    /// Returns the vectors of these tools, concatenated; `None` if some are missing.
    pub(super) fn all_of(&self, keys: &[TextKey]) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        for key in keys {
            all.extend_from_slice(self.0.get(key)?);
        }
        Some(all)
    }

    /// Encodes the vectors of these tools for the store, as far as they exist.
    pub(super) fn written(&self, keys: &[TextKey]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for key in keys {
            if let Some(vectors) = self.0.get(key) {
                bytes.extend_from_slice(&key.0);
                bytes.extend_from_slice(vectors);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, description: &str) -> EncoderInput {
        EncoderInput {
            server: "s".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
        }
    }

    #[test]
    fn stored_entries_are_read_again_and_a_damaged_end_is_dropped_alone() {
        let keys = [TextKey::of(&words("a", "x")), TextKey::of(&words("b", "x"))];
        let mut kept = VectorCache::default();
        kept.add(keys[0], vec![1, 2, 3]);
        kept.add(keys[1], vec![4, 5, 6]);
        let mut bytes = kept.written(&keys);
        assert_eq!(
            VectorCache::read(&bytes, 3).all_of(&keys),
            Some(vec![1, 2, 3, 4, 5, 6])
        );
        bytes.pop();
        let broken = VectorCache::read(&bytes, 3);
        assert!(broken.has(&keys[0]) && !broken.has(&keys[1]));
        assert_eq!(broken.all_of(&keys), None);
    }

    #[test]
    fn other_words_have_another_key() {
        assert_ne!(
            TextKey::of(&words("ab", "c")),
            TextKey::of(&words("a", "bc"))
        );
        assert_eq!(TextKey::of(&words("a", "b")), TextKey::of(&words("a", "b")));
    }
}

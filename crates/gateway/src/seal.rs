//! Seals values that clients carry for us, so that they cannot be modified or used for another purpose.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of the authentication tag.
const TAG_BYTES: usize = 16;

/// Seals values with a key that survives restarts.
#[derive(Clone)]
pub(crate) struct Sealer {
    key: [u8; 32],
}

impl Sealer {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let key = blake3::derive_key("pegboard gateway seal v1", key);
        Self { key }
    }

    /// Serializes a value with a tag that is valid for this purpose only.
    pub(crate) fn seal(&self, purpose: &str, value: &impl Serialize) -> Option<String> {
        let mut bytes = serde_json::to_vec(value).ok()?;
        let tag = self.tag(purpose, &bytes);
        bytes.extend_from_slice(&tag);
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Verifies and deserializes a value. Returns `None` if it was not sealed with this key for this purpose.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: &str, text: &str) -> Option<T> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (value, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        let expected = self.tag(purpose, value);
        // `blake3::Hash` compares in constant time.
        if blake3::Hash::from_bytes(padded(&expected)) != blake3::Hash::from_bytes(padded(tag)) {
            return None;
        }
        serde_json::from_slice(value).ok()
    }

    fn tag(&self, purpose: &str, value: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(value);
        let mut tag = [0; TAG_BYTES];
        hasher.finalize_xof().fill(&mut tag);
        tag
    }
}

fn padded(tag: &[u8]) -> [u8; 32] {
    let mut all = [0; 32];
    for (place, byte) in all.iter_mut().zip(tag) {
        *place = *byte;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sealed_values_open_and_only_for_their_purpose() {
        let sealer = Sealer::new(&[7; 32]);
        let text = sealer.seal("state", &("github", 5)).unwrap();
        assert_eq!(sealer.open("state", &text), Some(("github".to_owned(), 5)));
        assert_eq!(sealer.open::<(String, u32)>("session", &text), None);
        assert_eq!(
            Sealer::new(&[8; 32]).open::<(String, u32)>("state", &text),
            None
        );
        for at in 0..text.len() {
            let mut forged = text.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            if forged != text {
                assert_eq!(sealer.open::<(String, u32)>("state", &forged), None, "{at}");
            }
        }
        assert_eq!(sealer.open::<(String, u32)>("state", ""), None);
    }
}

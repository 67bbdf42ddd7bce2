//! The system keychain, if the feature `keyring` is enabled and a keychain exists.

use std::path::Path;

use pegboard_model::Secret;

/// The secrets of one state folder in the keychain. Without the feature, nothing is stored.
#[derive(Clone, Debug)]
pub(crate) struct Keychain {
    /// Distinguishes state folders, so that a test folder never overwrites a real secret.
    #[cfg_attr(not(feature = "keyring"), allow(dead_code))]
    owner: String,
}

impl Keychain {
    pub(crate) fn new(state_dir: &Path) -> Self {
        let hash = blake3::hash(state_dir.to_string_lossy().as_bytes()).to_hex();
        Self {
            owner: hash.as_str().get(..12).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(feature = "keyring")]
impl Keychain {
    fn entry(&self, name: &str) -> Option<keyring::Entry> {
        keyring::Entry::new("pegboard", &format!("{name}@{}", self.owner)).ok()
    }

    /// Stores a value. Returns `false` if no keychain accepts it.
    pub(crate) fn set(&self, name: &str, value: &Secret) -> bool {
        self.entry(name)
            .is_some_and(|entry| entry.set_password(value.reveal()).is_ok())
    }

    pub(crate) fn get(&self, name: &str) -> Option<Secret> {
        self.entry(name)?.get_password().ok().map(Secret::new)
    }

    pub(crate) fn remove(&self, name: &str) {
        // The name is removed from our file in any case; a value without a name is never read again.
        let _ = self.entry(name).map(|entry| entry.delete_credential());
    }
}

#[cfg(not(feature = "keyring"))]
impl Keychain {
    pub(crate) fn set(&self, _name: &str, _value: &Secret) -> bool {
        false
    }

    pub(crate) fn get(&self, _name: &str) -> Option<Secret> {
        None
    }

    pub(crate) fn remove(&self, _name: &str) {}
}

/// The keychain's entry for the key that seals logins.
#[derive(Clone, Debug)]
pub struct LoginKeychain(Keychain);

impl LoginKeychain {
    /// The name of the entry; names of secrets cannot contain a colon.
    const NAME: &'static str = "key:logins";

    /// Opens the keychain of a state folder. Returns `None` if Pegboard was built without keychains.
    pub fn of(state_dir: &Path) -> Option<Self> {
        cfg!(feature = "keyring").then(|| Self(Keychain::new(state_dir)))
    }

    /// Returns the stored key, in hexadecimal digits.
    pub fn load(&self) -> Option<Secret> {
        self.0.get(Self::NAME)
    }

    /// Stores a key. Returns whether the keychain accepted it.
    pub fn store(&self, key: &Secret) -> bool {
        self.0.set(Self::NAME, key)
    }
}

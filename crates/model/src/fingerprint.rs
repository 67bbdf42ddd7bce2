//! Typed hashes.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! hash_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(drop)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(|()| serde::de::Error::custom("not a 64-digit hex hash"))
                } else {
                    <[u8; 32]>::deserialize(deserializer).map(Self)
                }
            }
        }
    };
}

hash_type! {
    /// Hash of a tool's definition in canonical JSON; key order does not matter.
    Fingerprint
}

hash_type! {
    /// Keyed hash of a server's definition (command, args, env, cwd, url, headers). It covers secrets, which cannot be
    /// guessed from it without the key.
    ConfigHash
}

/// The key of every [`ConfigHash`] on this machine. It is stored in a separate file, never in the store.
#[derive(Clone)]
pub struct HashKey(pub [u8; 32]);

impl HashKey {
    /// Keyed hash of a list of parts. The length of each part is hashed too, so that no two lists collide.
    pub fn hash<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(***)")
    }
}

//! Seals: keyed hashes that only this machine's key can produce.

use pegboard_model::{HashKey, ServerName};

/// Separates the key of the seals from other uses of the machine's key.
const PURPOSE: &str = "pegboard store: seal of a server's record, version 1";

/// Seals records and verifies seals.
pub(crate) struct Sealer(HashKey);

impl Sealer {
    pub(crate) fn new(key: &HashKey) -> Self {
        Self(HashKey(blake3::derive_key(PURPOSE, &key.0)))
    }

    /// The seal of a record. It covers the server's name, so that a record cannot be moved to another server.
    pub(crate) fn seal(&self, server: &ServerName, body: &[u8]) -> [u8; 32] {
        self.0.hash([server.as_str().as_bytes(), body])
    }

    /// The seal of other data of a server; `parts` identify the data.
    pub(crate) fn seal_parts<const N: usize>(
        &self,
        server: &ServerName,
        parts: [&[u8]; N],
        body: &[u8],
    ) -> [u8; 32] {
        let named = [b"part".as_slice(), server.as_str().as_bytes()];
        self.0.hash(named.into_iter().chain(parts).chain([body]))
    }

    pub(crate) fn verify_parts<const N: usize>(
        &self,
        server: &ServerName,
        parts: [&[u8]; N],
        body: &[u8],
        seal: &[u8],
    ) -> bool {
        is_same(self.seal_parts(server, parts, body), seal)
    }

    pub(crate) fn verify(&self, server: &ServerName, body: &[u8], seal: &[u8]) -> bool {
        is_same(self.seal(server, body), seal)
    }
}

fn is_same(expected: [u8; 32], seal: &[u8]) -> bool {
    // Comparing hashes takes constant time.
    <[u8; 32]>::try_from(seal)
        .is_ok_and(|seal| blake3::Hash::from(expected) == blake3::Hash::from(seal))
}

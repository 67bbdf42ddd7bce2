//! Random values and hashes of a login.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_model::Secret;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a `state` and of a PKCE verifier.
const RANDOM_BYTES: usize = 32;

/// Returns 32 random bytes in base64url; `None` if the system has no random numbers.
pub(crate) fn random_text() -> Option<Secret> {
    let mut bytes = [0; RANDOM_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

/// Returns the SHA-256 hash of a text in base64url, as PKCE wants it.
pub(crate) fn sha256_text(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

/// Returns a hash of fields, in hexadecimal digits. The length of each field is hashed too.
pub(crate) fn hash_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    let hash = digest(&SHA256, &bytes);
    let half = hash.as_ref().iter().take(16);
    half.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_auth_01_the_challenge_is_the_one_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            sha256_text(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_ne!(random_text(), random_text());
        assert_eq!(random_text().unwrap().reveal().len(), 43);
        assert_ne!(hash_fields(["ab", "c"]), hash_fields(["a", "bc"]));
    }
}

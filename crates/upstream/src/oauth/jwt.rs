//! Signs client assertions (RFC 7523), and reads claims for display.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pegboard_model::Secret;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde::Deserialize;
use serde_json::json;

use super::random::random_text;

/// How long an assertion is valid, in seconds.
const LIFETIME: u64 = 120;
/// The largest token whose claims are read.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A private key. It has no `Debug`.
enum SigningKey {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads a PKCS #8 key in PEM: ECDSA P-256, RSA or Ed25519.
    fn from_pem(pem: &Secret) -> Option<Self> {
        let body: String = pem
            .reveal()
            .replace("\\n", "\n")
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("-----"))
            .collect();
        let der = STANDARD.decode(body).ok()?;
        let random = SystemRandom::new();
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random) {
            return Some(Self::Ecdsa(key));
        }
        if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Some(Self::Ed25519(key));
        }
        RsaKeyPair::from_pkcs8(&der)
            .ok()
            .map(|key| Self::Rsa(Box::new(key)))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ecdsa(_) => "ES256",
            Self::Rsa(_) => "RS256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Ecdsa(key) => Some(key.sign(&random, message).ok()?.as_ref().to_vec()),
            Self::Ed25519(key) => Some(key.sign(message).as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .ok()?;
                Some(signature)
            }
        }
    }
}

/// Signs an assertion with which a client authenticates itself. `None` if the key cannot be used.
pub(crate) fn client_assertion(
    key: &Secret,
    client_id: &str,
    audience: &str,
    now_seconds: u64,
) -> Option<Secret> {
    let key = SigningKey::from_pem(key)?;
    let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now_seconds,
        "exp": now_seconds + LIFETIME,
        "jti": random_text()?.reveal(),
    });
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encode(&header), encode(&claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())?);
    Some(Secret::new(format!("{message}.{signature}")))
}

/// The claims that are used for display and as a hint. Their signature is not verified: the token came directly from
/// the token endpoint, and nothing is decided by them.
#[derive(Default, Deserialize)]
pub(crate) struct ShownClaims {
    #[serde(default)]
    pub(crate) email: Option<String>,
    #[serde(default)]
    pub(crate) preferred_username: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) exp: Option<u64>,
}

impl ShownClaims {
    /// Reads the claims of a token, if it is a JWT.
    pub(crate) fn of(token: &str) -> Option<Self> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let mut parts = token.split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&claims).ok()
    }

    /// The name of the account.
    pub(crate) fn account(self) -> Option<String> {
        let name = self.email.or(self.preferred_username).or(self.name)?;
        Some(super::failure::shown(name.trim())).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ED25519, KeyPair, UnparsedPublicKey};

    #[test]
    fn r_auth_01_an_assertion_is_signed_and_names_client_and_audience() {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(document.as_ref())
        );
        let signed = client_assertion(&Secret::new(pem), "client-1", "https://as", 1000).unwrap();
        let (message, signature) = signed.reveal().rsplit_once('.').unwrap();
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, key.public_key().as_ref());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        public.verify(message.as_bytes(), &signature).unwrap();
        let claims = message.split_once('.').unwrap().1;
        let claims: serde_json::Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!(claims["iss"], "client-1");
        assert_eq!(claims["sub"], "client-1");
        assert_eq!(claims["aud"], "https://as");
        assert_eq!(claims["exp"], 1120);
        assert!(client_assertion(&Secret::new("no key"), "c", "a", 0).is_none());
    }

    #[test]
    fn claims_are_read_only_from_a_jwt() {
        let token = format!(
            "h.{}.s",
            URL_SAFE_NO_PAD.encode(r#"{"email":"a@b","exp":7}"#)
        );
        assert_eq!(ShownClaims::of(&token).unwrap().exp, Some(7));
        assert_eq!(
            ShownClaims::of(&token).unwrap().account().as_deref(),
            Some("a@b")
        );
        for bad in [
            "",
            "opaque",
            "a.b",
            "a.!.c",
            &format!("a.{}.c", "x".repeat(MAX_TOKEN_BYTES)),
        ] {
            assert!(ShownClaims::of(bad).is_none(), "{bad}");
        }
    }
}

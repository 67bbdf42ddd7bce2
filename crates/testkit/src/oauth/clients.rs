//! OAuth clients.

use url::Url;

/// How a client proves its identity at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// Only its id.
    None,
    /// Its secret in the `Authorization` header.
    Basic,
    /// Its secret in the form.
    Post,
    /// A signed assertion.
    PrivateKeyJwt,
}

impl AuthMethod {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::None, "none"),
        (Self::Basic, "client_secret_basic"),
        (Self::Post, "client_secret_post"),
        (Self::PrivateKeyJwt, "private_key_jwt"),
    ];

    /// The name in metadata.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(method, _)| *method == self)
            .map_or("none", |(_, name)| name)
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(method, _)| *method)
    }
}

/// A client that the authorization server knows.
#[derive(Clone, Debug)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// `client_secret`.
    pub secret: Option<String>,
    /// The only accepted method.
    pub method: AuthMethod,
    /// The accepted redirect URIs; any if empty.
    pub redirects: Vec<String>,
    /// For assertions: the public key, an uncompressed point of P-256.
    pub public_key: Option<Vec<u8>>,
    /// When the secret expires, in milliseconds since 1970.
    pub(super) secret_expires: Option<u64>,
}

impl Client {
    /// A configured client without a secret.
    pub fn public(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            secret: None,
            method: AuthMethod::None,
            redirects: Vec::new(),
            public_key: None,
            secret_expires: None,
        }
    }

    /// A configured client with a secret.
    pub fn confidential(id: &str, secret: &str, method: AuthMethod) -> Self {
        Self {
            secret: Some(secret.to_owned()),
            method,
            ..Self::public(id)
        }
    }

    /// A configured client that signs assertions with the key that belongs to this point.
    pub fn signing(id: &str, public_key: &[u8]) -> Self {
        Self {
            method: AuthMethod::PrivateKeyJwt,
            public_key: Some(public_key.to_vec()),
            ..Self::public(id)
        }
    }

    /// The same client with these redirect URIs only.
    #[must_use]
    pub fn with_redirects(mut self, redirects: &[&str]) -> Self {
        self.redirects = super::behaviour::words(redirects);
        self
    }
}

/// How redirect URIs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectRule {
    /// As texts: the port counts, as FastMCP and others do.
    Exact,
    /// Any port of a loopback address, as RFC 8252 asks for.
    AnyLoopbackPort,
}

impl RedirectRule {
    /// Whether a redirect URI of a request is one of a client's.
    pub(super) fn accepts(self, client: &Client, redirect: &str) -> bool {
        client.redirects.is_empty()
            || client.redirects.iter().any(|known| {
                known == redirect
                    || self == Self::AnyLoopbackPort && portless(known) == portless(redirect)
            })
    }
}

/// A loopback address without its port; other addresses as they are.
fn portless(uri: &str) -> String {
    let Ok(mut url) = Url::parse(uri) else {
        return uri.to_owned();
    };
    if matches!(url.host_str(), Some("127.0.0.1" | "[::1]")) {
        let _ = url.set_port(None);
    }
    url.into()
}

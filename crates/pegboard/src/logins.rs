//! The logins to remote servers, stored in the state directory.

use std::sync::Arc;

use async_trait::async_trait;
use pegboard_config::LoginKeychain;
use pegboard_model::{Secret, ToolResult};
use pegboard_store::{KeyHolder, LoginFiles, StateDir};
use pegboard_upstream::{LoginKey, LoginStore, Logins, StoredLogin};
use serde::Deserialize;
use tokio::sync::watch;

use crate::telemetry::Telemetry;

/// Logins in sealed files. Every token that is read or written is redacted from logs and traces from then on.
struct StoredLogins {
    files: LoginFiles,
    telemetry: Arc<Telemetry>,
}

/// Opens the logins of a state directory.
pub(crate) fn open(
    state: &StateDir,
    secrets: Arc<dyn pegboard_model::SecretLookup>,
    telemetry: Arc<Telemetry>,
) -> Logins {
    let keychain = LoginKeychain::of(state.path());
    let keychain = keychain.map(|keychain| Arc::new(Keychain(keychain)) as Arc<dyn KeyHolder>);
    let files = LoginFiles::open(state, keychain);
    Logins::new(Arc::new(StoredLogins { files, telemetry }), secrets)
}

impl StoredLogins {
    fn learn(&self, secret: &Secret) {
        #[derive(Deserialize)]
        struct Tokens {
            access_token: String,
            refresh_token: Option<String>,
            client_secret: Option<String>,
        }
        let Ok(tokens) = serde_json::from_str::<Tokens>(secret.reveal()) else {
            return;
        };
        let all = [
            Some(tokens.access_token),
            tokens.refresh_token,
            tokens.client_secret,
        ];
        for token in all.into_iter().flatten().filter(|token| !token.is_empty()) {
            self.telemetry.learn_secret(&Secret::new(token));
        }
    }
}

#[async_trait]
impl LoginStore for StoredLogins {
    fn version(&self, key: &LoginKey) -> Option<u64> {
        self.files.version(&key.server, &key.binding)
    }

    fn read_info(&self, key: &LoginKey) -> ToolResult<Option<String>> {
        self.files.read_info(&key.server, &key.binding)
    }

    fn read(&self, key: &LoginKey) -> ToolResult<Option<StoredLogin>> {
        let read = self.files.read(&key.server, &key.binding)?;
        Ok(read.map(|(info, secret)| {
            self.learn(&secret);
            StoredLogin { info, secret }
        }))
    }

    fn write(&self, key: &LoginKey, login: &StoredLogin) -> ToolResult<()> {
        self.learn(&login.secret);
        self.files
            .write(&key.server, &key.binding, &login.info, &login.secret)
    }

    fn remove(&self, key: &LoginKey) -> ToolResult<bool> {
        self.files.remove(&key.server, &key.binding)
    }

    async fn lock(&self, key: &LoginKey) -> ToolResult<Box<dyn Send>> {
        Ok(Box::new(self.files.lock(&key.server).await?))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.files.changes())
    }
}

/// The system keychain as the holder of the key.
struct Keychain(LoginKeychain);

impl KeyHolder for Keychain {
    fn load(&self) -> Option<[u8; 32]> {
        let text = self.0.load()?;
        let digits = text.reveal();
        let mut key = [0; 32];
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        (digits.len() == 64).then_some(key)
    }

    fn store(&self, key: &[u8; 32]) -> bool {
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.store(&Secret::new(digits))
    }
}

//! Where logins are stored.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pegboard_model::{Secret, ToolResult};
use tokio::sync::watch;

use super::login::LoginKey;

/// A login as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLogin {
    /// What may be shown, as JSON.
    pub info: String,
    /// The tokens, as JSON. A store must seal them.
    pub secret: Secret,
}

/// Stores logins for all processes of a user.
///
/// # Errors
/// All operations fail if the storage cannot be used.
#[async_trait]
pub trait LoginStore: Send + Sync {
    /// A number that changes whenever the login is written; `None` if there is none. Must be cheap: it is called
    /// before every request.
    fn version(&self, key: &LoginKey) -> Option<u64>;

    /// Reads what may be shown of a login, without opening a keychain.
    fn read_info(&self, key: &LoginKey) -> ToolResult<Option<String>>;

    /// Reads a login.
    fn read(&self, key: &LoginKey) -> ToolResult<Option<StoredLogin>>;

    /// Writes a login durably. It is on disk when this returns.
    fn write(&self, key: &LoginKey, login: &StoredLogin) -> ToolResult<()>;

    /// Removes a login. Returns whether there was one.
    fn remove(&self, key: &LoginKey) -> ToolResult<bool>;

    /// Waits until this caller alone may change the login, among all processes. Dropping the result releases it.
    async fn lock(&self, key: &LoginKey) -> ToolResult<Box<dyn Send>>;

    /// Notifies of logins that any process wrote or removed; `None` if the store cannot.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

/// Logins of this process only.
#[derive(Default)]
pub struct MemoryLogins {
    logins: Mutex<HashMap<LoginKey, (u64, StoredLogin)>>,
    lock: Arc<tokio::sync::Mutex<()>>,
    changes: watch::Sender<u64>,
}

impl MemoryLogins {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<LoginKey, (u64, StoredLogin)>) -> T) -> T {
        work(&mut self.logins.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl LoginStore for MemoryLogins {
    fn version(&self, key: &LoginKey) -> Option<u64> {
        self.with(|logins| logins.get(key).map(|(version, _)| *version))
    }

    fn read_info(&self, key: &LoginKey) -> ToolResult<Option<String>> {
        Ok(self.with(|logins| logins.get(key).map(|(_, login)| login.info.clone())))
    }

    fn read(&self, key: &LoginKey) -> ToolResult<Option<StoredLogin>> {
        Ok(self.with(|logins| logins.get(key).map(|(_, login)| login.clone())))
    }

    fn write(&self, key: &LoginKey, login: &StoredLogin) -> ToolResult<()> {
        self.changes.send_modify(|count| *count += 1);
        let version = *self.changes.borrow();
        self.with(|logins| logins.insert(key.clone(), (version, login.clone())));
        Ok(())
    }

    fn remove(&self, key: &LoginKey) -> ToolResult<bool> {
        self.changes.send_modify(|count| *count += 1);
        Ok(self.with(|logins| logins.remove(key).is_some()))
    }

    async fn lock(&self, _key: &LoginKey) -> ToolResult<Box<dyn Send>> {
        Ok(Box::new(Arc::clone(&self.lock).lock_owned().await))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }
}

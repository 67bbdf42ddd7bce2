//! Logins to remote servers that a person starts in the dashboard or over the API.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pegboard_hub::{Hub, RefreshScope};
use pegboard_model::{ServerName, ServerSpec, ToolError, ToolResult};
use pegboard_upstream::{LoginOptions, Logins, LogoutOutcome};
use pegboard_web::{LoginAttempt, StartedLogin};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The logins that were started here.
pub(crate) struct ServerLogins {
    logins: Logins,
    hub: Hub,
    started: Arc<Mutex<HashMap<ServerName, Attempt>>>,
}

enum Attempt {
    Waiting(AbortHandle),
    Failed(ToolError),
}

impl ServerLogins {
    pub(crate) fn new(logins: Logins, hub: Hub) -> Self {
        Self {
            logins,
            hub,
            started: Arc::default(),
        }
    }

    /// Starts a login. One that waits for the browser already is ended.
    pub(crate) async fn begin(&self, spec: &ServerSpec) -> ToolResult<StartedLogin> {
        if let Some(Attempt::Waiting(task)) = self.with(|started| started.remove(&spec.name)) {
            task.abort();
            // The port of a registered client is free only when the task has ended.
            tokio::task::yield_now().await;
        }
        let pending = self.logins.begin(spec, &LoginOptions::default()).await?;
        let started = StartedLogin {
            url: pending.url().to_owned(),
            issuer: pending.issuer().to_owned(),
            scopes: pending.scopes().to_vec(),
        };
        let (hub, name, attempts) = (self.hub.clone(), spec.name.clone(), self.started.clone());
        let task = tokio::spawn(async move {
            let (_, pasted) = mpsc::channel(1);
            let done = pending.complete(pasted, |_| {}).await;
            {
                let mut attempts = attempts.lock().unwrap_or_else(PoisonError::into_inner);
                match &done {
                    Ok(_) => drop(attempts.remove(&name)),
                    Err(error) => {
                        drop(attempts.insert(name.clone(), Attempt::Failed(error.clone())))
                    }
                }
            }
            if done.is_ok() {
                // The result is in the server's status.
                let _ = hub.refresh(RefreshScope::One(name), true).await;
            }
        });
        let attempt = Attempt::Waiting(task.abort_handle());
        self.with(|started| started.insert(spec.name.clone(), attempt));
        Ok(started)
    }

    /// The login that was started here last, unless it succeeded.
    pub(crate) fn attempt(&self, server: &ServerName) -> Option<LoginAttempt> {
        self.with(|started| match started.get(server)? {
            Attempt::Waiting(task) if task.is_finished() => None,
            Attempt::Waiting(_) => Some(LoginAttempt::Waiting),
            Attempt::Failed(error) => Some(LoginAttempt::Failed(error.clone())),
        })
    }

    pub(crate) async fn logout(&self, spec: &ServerSpec) -> ToolResult<LogoutOutcome> {
        let done = self.logins.logout(spec).await?;
        // Shows that a login is required now.
        let _ = self
            .hub
            .refresh(RefreshScope::One(spec.name.clone()), true)
            .await;
        Ok(done)
    }

    /// Ends the login of a server that was removed.
    pub(crate) async fn forget(&self, spec: &ServerSpec) {
        self.with(|started| started.remove(&spec.name));
        if self.logins.version(spec).is_some() {
            let _ = self.logins.logout(spec).await;
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<ServerName, Attempt>) -> T) -> T {
        work(&mut self.started.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

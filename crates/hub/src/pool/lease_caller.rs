//! A client of a view, as the connection of a shared instance sees it.

use std::sync::Arc;

use async_trait::async_trait;
use pegboard_model::RpcError;
use pegboard_upstream::{Caller, ClientCapabilities, Listener};
use serde_json::value::RawValue;

/// A caller whose session has a name that is unique among all views.
pub(super) struct LeaseCaller {
    caller: Arc<dyn Caller>,
    session: Box<str>,
    /// Without roots, if the instance serves several projects.
    capabilities: ClientCapabilities,
}

impl LeaseCaller {
    pub(super) fn new(caller: Arc<dyn Caller>, session: &str, has_roots: bool) -> Self {
        let capabilities = match has_roots {
            true => caller.capabilities().clone(),
            false => caller.capabilities().without_roots(),
        };
        Self {
            session: session.into(),
            capabilities,
            caller,
        }
    }
}

#[async_trait]
impl Caller for LeaseCaller {
    fn session(&self) -> &str {
        &self.session
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        self.caller.wants_progress()
    }

    fn progress(&self, params: &RawValue) {
        self.caller.progress(params);
    }

    fn message(&self, params: &RawValue) {
        self.caller.message(params);
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        let listener = self.caller.listener()?;
        Some(Arc::new(LeaseListener {
            listener,
            session: self.session.clone(),
        }))
    }

    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.caller.send_request(method, params).await
    }
}

struct LeaseListener {
    listener: Arc<dyn Listener>,
    session: Box<str>,
}

impl Listener for LeaseListener {
    fn session(&self) -> &str {
        &self.session
    }

    fn is_connected(&self) -> bool {
        self.listener.is_connected()
    }

    fn message(&self, params: &RawValue) {
        self.listener.message(params);
    }
}

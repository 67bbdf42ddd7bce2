//! A view's connection to an instance, which other views may use too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{Reason, ShareScope, ToolError, ToolResult};
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, ForwardedRequest, Handshake, Health, OfferKind,
    RequestedFromClients, ToolListing, Upstream,
};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use super::PoolInner;
use super::instance::{Instance, KeyGate};
use super::lease_caller::LeaseCaller;
use crate::sync::lock;

/// How long a server may take to end the subscriptions of a lease that is released.
const UNWATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection of one view to an instance. Closing or dropping the last one ends the instance.
pub(super) struct Lease {
    parts: Arc<LeaseParts>,
    is_released: AtomicBool,
}

/// What outlives the lease until it is released.
pub(super) struct LeaseParts {
    pub(super) pool: Arc<PoolInner>,
    /// Taken by the release.
    pub(super) gate: Mutex<Option<Arc<KeyGate>>>,
    pub(super) instance: Arc<Instance>,
    pub(super) number: u64,
    pub(super) view: u64,
    /// `false`, then `true` once the view closed it.
    pub(super) closed: watch::Sender<bool>,
    /// Whether the release is complete.
    pub(super) released: watch::Sender<bool>,
}

impl Lease {
    pub(super) fn new(parts: LeaseParts) -> Self {
        parts.pool.leases.send_modify(|count| *count += 1);
        Self {
            parts: Arc::new(parts),
            is_released: AtomicBool::new(false),
        }
    }

    fn upstream(&self) -> &dyn Upstream {
        &*self.parts.instance.upstream
    }

    /// Begins the release, once. It continues even if no task waits for it.
    fn begin_release(&self) {
        if self.is_released.swap(true, Ordering::AcqRel) {
            return;
        }
        self.parts.closed.send_replace(true);
        let parts = self.parts.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(parts.release())),
            // Without a runtime the program is ending; dropping the connection ends the process.
            Err(_) => parts.abandon(),
        }
    }

    /// Runs a request on the instance: waits for a place, and ends early if the lease is closed.
    async fn run<F>(
        &self,
        mut options: CallOptions,
        send: impl FnOnce(CallOptions) -> F,
    ) -> ToolResult<CallOutcome>
    where
        F: Future<Output = ToolResult<CallOutcome>>,
    {
        let instance = &self.parts.instance;
        let session = self.session_of(&options);
        // Several projects have different roots, and an instance has one set of them.
        let has_roots = instance.sharing.scope != ShareScope::User || self.is_remote();
        options.caller = options
            .caller
            .map(|caller| Arc::new(LeaseCaller::new(caller, &session, has_roots)) as _);
        let mut closed = self.parts.closed.subscribe();
        let running = async {
            let places = &instance.places;
            if instance.upstream.requested().input {
                places.take_turns();
            }
            let _place = places.acquire(&session, options.timeout).await?;
            let result = send(options).await;
            instance.mark_used();
            result
        };
        tokio::select! {
            biased;
            result = running => result,
            _ = closed.wait_for(|closed| *closed) => Err(self.closed_error()),
        }
    }

    /// The name of a request's session, unique among all views. Requests without a client belong to the view.
    fn session_of(&self, options: &CallOptions) -> String {
        let session = options.caller.as_ref().map(|caller| caller.session());
        format!("{}/{}", self.parts.view, session.unwrap_or_default())
    }

    fn is_remote(&self) -> bool {
        self.upstream().health().pid.is_none()
    }

    fn closed_error(&self) -> ToolError {
        let server = &self.parts.instance.server;
        let message = format!("server `{server}` was stopped by Pegboard");
        ToolError::new(Reason::Cancelled, message).at_server(server)
    }

    fn is_closed(&self) -> bool {
        *self.parts.closed.borrow()
    }
}

impl LeaseParts {
    /// Gives the lease back. The last one ends the instance.
    async fn release(self: Arc<Self>) {
        let Some(gate) = lock(&self.gate).take() else {
            return;
        };
        let instance = &self.instance;
        {
            let _changing = gate.changing.lock().await;
            if instance.remove_lease(self.number) {
                instance.upstream.close().await;
                gate.remove(instance);
            }
        }
        if instance.upstream.is_alive() {
            let unwatch = instance.watches.release(&*instance.upstream, self.number);
            let _ = timeout(UNWATCH_TIMEOUT, unwatch).await;
        }
        self.finish(gate);
    }

    /// Gives the lease back without waiting for anything.
    fn abandon(&self) {
        let Some(gate) = lock(&self.gate).take() else {
            return;
        };
        if self.instance.remove_lease(self.number) {
            gate.remove(&self.instance);
        }
        self.finish(gate);
    }

    fn finish(&self, gate: Arc<KeyGate>) {
        self.pool.remove_unused(gate);
        self.released.send_replace(true);
        let leases = &self.pool.leases;
        leases.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.begin_release();
    }
}

#[async_trait]
impl Upstream for Lease {
    fn handshake(&self) -> &Handshake {
        self.upstream().handshake()
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.upstream().list_tools().await
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let upstream = self.upstream();
        let send = |options| upstream.call(tool, arguments, options);
        self.run(options, send).await
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let upstream = self.upstream();
        let send = |options| upstream.request(request, options);
        self.run(options, send).await
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        self.upstream().list_offers(kind).await
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.upstream().announcements()
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        if self.is_closed() {
            return Err(self.closed_error());
        }
        let parts = &self.parts;
        let watches = &parts.instance.watches;
        watches.set(self.upstream(), parts.number, uri, watch).await
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.upstream().list_changed()
    }

    fn is_alive(&self) -> bool {
        !self.is_closed() && self.upstream().is_alive()
    }

    async fn ended(&self) -> ToolError {
        let mut closed = self.parts.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => self.closed_error(),
            error = self.parts.instance.upstream.ended() => error,
        }
    }

    fn health(&self) -> Health {
        self.upstream().health()
    }

    fn requested(&self) -> RequestedFromClients {
        self.upstream().requested()
    }

    fn uses_old_sse(&self) -> bool {
        self.upstream().uses_old_sse()
    }

    fn recent_stderr(&self) -> String {
        self.upstream().recent_stderr()
    }

    async fn close(&self) {
        self.begin_release();
        let mut released = self.parts.released.subscribe();
        // The sender is owned by `self`, so this cannot fail.
        let _ = released.wait_for(|released| *released).await;
    }
}

//! The pool as one hub sees it: a connector that leases running instances.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{LoginState, Reason, ServerSpec, ShareScope, ToolError, ToolResult};
use pegboard_upstream::{Connect, ConnectHint, MachineLoad, Upstream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::info::LeaseInfo;
use super::instance::{Instance, KeyGate};
use super::key::{EnvironmentHash, InstanceKey, KeyParts};
use super::lease::{Lease, LeaseParts};
use super::{PoolInner, ViewContext};
use crate::discovery::timed_out;

/// One hub's view of the pool.
pub(super) struct PoolView {
    pool: Arc<PoolInner>,
    connector: Arc<dyn Connect>,
    context: ViewContext,
    environment: EnvironmentHash,
    number: u64,
}

impl PoolView {
    pub(super) fn new(
        pool: Arc<PoolInner>,
        connector: Arc<dyn Connect>,
        mut context: ViewContext,
    ) -> Self {
        let environment = EnvironmentHash::new(&context, &pool.hash_key);
        // Only PATH is needed later, to find programs. The other values are not kept.
        context.environment.retain(|name, _| name == "PATH");
        Self {
            number: pool.next_number(),
            pool,
            connector,
            context,
            environment,
        }
    }

    fn key(&self, spec: &ServerSpec, scope: ShareScope) -> InstanceKey {
        let is_shared = scope != ShareScope::Session;
        let parts = KeyParts {
            spec,
            scope,
            context: &self.context,
            environment: self.environment,
            unique: (!is_shared).then(|| self.pool.next_number()),
        };
        parts.key(&self.pool.hash_key)
    }

    /// Leases the live instance of a gate; `None` if there is none.
    fn lease_live(&self, gate: &Arc<KeyGate>, hint: &ConnectHint) -> ToolResult<Option<Lease>> {
        let live = gate.live().filter(|live| live.upstream.is_alive());
        let lease = live.map(|live| self.lease(gate, live, hint));
        lease.transpose()
    }

    fn lease(
        &self,
        gate: &Arc<KeyGate>,
        instance: Arc<Instance>,
        hint: &ConnectHint,
    ) -> ToolResult<Lease> {
        let number = self.pool.next_number();
        let info = LeaseInfo {
            view: self.context.name.clone(),
            session: hint.session.clone(),
        };
        instance.add_lease(number, info)?;
        Ok(Lease::new(LeaseParts {
            pool: self.pool.clone(),
            gate: Mutex::new(Some(gate.clone())),
            instance,
            number,
            view: self.number,
            closed: watch::Sender::new(false),
            released: watch::Sender::new(false),
        }))
    }

    /// Starts an instance. The caller holds the gate.
    async fn start(
        &self,
        gate: &Arc<KeyGate>,
        spec: &ServerSpec,
        hint: &ConnectHint,
        deadline: Instant,
    ) -> ToolResult<Lease> {
        if let Some(dead) = gate.live() {
            // Its leases report its end. Its process is gone before the next one starts.
            gate.remove(&dead);
            let _ = timeout_at(deadline, dead.upstream.close()).await;
        }
        let most = self.pool.limits.server_instances;
        if self.pool.live().len() >= most {
            let message = format!(
                "server `{}` is not started: {most} server instances are running already",
                spec.name
            );
            return Err(ToolError::new(Reason::Overloaded, message).at_server(&spec.name));
        }
        let budget = deadline.saturating_duration_since(Instant::now());
        let upstream = self.connector.connect(spec, hint, budget).await?;
        let instance = Arc::new(Instance::new(
            upstream,
            spec.name.clone(),
            hint.sharing.clone(),
            &self.pool.limits,
        ));
        gate.install(instance.clone());
        self.lease(gate, instance, hint)
    }

    async fn connect_at(
        &self,
        gate: &Arc<KeyGate>,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Lease> {
        let deadline = Instant::now() + budget;
        // Another view may be starting the instance. If it fails, this view tries for itself.
        let Ok(_changing) = timeout_at(deadline, gate.changing.lock()).await else {
            return Err(timed_out(spec, "a response", budget));
        };
        match self.lease_live(gate, hint)? {
            Some(lease) => Ok(lease),
            None => self.start(gate, spec, hint, deadline).await,
        }
    }
}

#[async_trait]
impl Connect for PoolView {
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        let gate = GateUse {
            gate: Some(self.pool.gate(self.key(spec, hint.sharing.scope))),
            pool: &self.pool,
        };
        let Some(used) = &gate.gate else {
            return Err(timed_out(spec, "a response", budget));
        };
        let lease = self.connect_at(used, spec, hint, budget).await?;
        Ok(Arc::new(lease))
    }

    fn login_state(&self, spec: &ServerSpec, failure: Option<Reason>) -> Option<LoginState> {
        self.connector.login_state(spec, failure)
    }

    fn login_version(&self, spec: &ServerSpec) -> Option<u64> {
        self.connector.login_version(spec)
    }

    fn login_changes(&self) -> Option<watch::Receiver<u64>> {
        self.connector.login_changes()
    }

    fn load(&self) -> MachineLoad {
        self.connector.load()
    }
}

/// A gate while a connection is opened. Dropping it removes the gate unless something else uses it.
struct GateUse<'a> {
    /// Only `None` while it is dropped.
    gate: Option<Arc<KeyGate>>,
    pool: &'a PoolInner,
}

impl Drop for GateUse<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            self.pool.remove_unused(gate);
        }
    }
}

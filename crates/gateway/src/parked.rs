//! Calls of modern clients that wait, in the middle, for answers to questions of a legacy server.
//!
//! Such a server asks inside its call; a modern client answers by calling again. Between the two the call is
//! parked here, for a limited time.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pegboard_hub::CallOutcome;
use pegboard_model::{Limits, ToolResult};
use tokio::sync::mpsc;

use crate::caller::{ClientCaller, InputRequest};
use crate::conversation::lock;
use crate::sessions::random_name;

/// How long a client may take to come back with its answers.
pub(crate) const PARK_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A call under way.
pub(crate) struct ParkedCall {
    pub(crate) work: Pin<Box<dyn Future<Output = ToolResult<CallOutcome>> + Send>>,
    /// The client, as the server may reach it.
    pub(crate) caller: Arc<ClientCaller>,
    pub(crate) questions: mpsc::UnboundedReceiver<InputRequest>,
    /// What the server asked and the client was told, by the key it answers with.
    pub(crate) open: BTreeMap<String, InputRequest>,
}

/// The calls that wait.
pub(crate) struct ParkedCalls {
    calls: Arc<Mutex<HashMap<String, ParkedEntry>>>,
    most: usize,
}

struct ParkedEntry {
    call: ParkedCall,
    until: Instant,
}

impl ParkedCalls {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            calls: Arc::default(),
            most: limits.parked_calls.max(1),
        }
    }

    /// Parks a call; `None` when too many wait already.
    pub(crate) fn park(&self, call: ParkedCall) -> Option<String> {
        let name = random_name();
        let until = Instant::now() + PARK_TIMEOUT;
        {
            let mut calls = lock(&self.calls);
            if calls.len() >= self.most {
                return None;
            }
            calls.insert(name.clone(), ParkedEntry { call, until });
        }
        // Dropping the call takes it back at the server.
        let (calls, forgotten) = (Arc::downgrade(&self.calls), name.clone());
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            if let Some(calls) = calls.upgrade() {
                let given_up = lock(&calls).remove(&forgotten);
                drop(given_up);
            }
        });
        Some(name)
    }

    /// Takes a call up again; `None` when it is gone.
    pub(crate) fn take(&self, name: &str) -> Option<ParkedCall> {
        let waiting = lock(&self.calls).remove(name)?;
        (waiting.until > Instant::now()).then_some(waiting.call)
    }

    /// Gives all of them up.
    pub(crate) fn close(&self) {
        let given_up = std::mem::take(&mut *lock(&self.calls));
        drop(given_up);
    }
}

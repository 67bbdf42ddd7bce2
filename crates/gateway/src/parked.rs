//! Calls of modern clients that are paused until the client provides input that a legacy server requested.
//!
//! A legacy server requests input during the call, and a modern client provides it by sending a new request. Between
//! the two, the call is parked here for a limited time.

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

/// How long a client may take to send its responses.
pub(crate) const PARK_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A call in progress.
pub(crate) struct ParkedCall {
    pub(crate) work: Pin<Box<dyn Future<Output = ToolResult<CallOutcome>> + Send>>,
    /// Through this the server reaches the client.
    pub(crate) caller: Arc<ClientCaller>,
    pub(crate) input_requests: mpsc::UnboundedReceiver<InputRequest>,
    /// Input requests that were sent to the client, by the key of their response.
    pub(crate) open_requests: BTreeMap<String, InputRequest>,
}

/// All parked calls.
pub(crate) struct ParkedCalls {
    calls: Arc<Mutex<HashMap<String, ParkedEntry>>>,
    max: usize,
}

struct ParkedEntry {
    call: ParkedCall,
    until: Instant,
}

impl ParkedCalls {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            calls: Arc::default(),
            max: limits.parked_calls.max(1),
        }
    }

    /// Parks a call and returns its name, or `None` if too many calls are parked.
    pub(crate) fn park(&self, call: ParkedCall) -> Option<String> {
        let name = random_name();
        let until = Instant::now() + PARK_TIMEOUT;
        {
            let mut calls = lock(&self.calls);
            if calls.len() >= self.max {
                return None;
            }
            calls.insert(name.clone(), ParkedEntry { call, until });
        }
        // Dropping the call cancels it at the server.
        let (calls, expired) = (Arc::downgrade(&self.calls), name.clone());
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            if let Some(calls) = calls.upgrade() {
                let dropped = lock(&calls).remove(&expired);
                drop(dropped);
            }
        });
        Some(name)
    }

    /// Removes a parked call to resume it. Returns `None` if it has expired.
    pub(crate) fn take(&self, name: &str) -> Option<ParkedCall> {
        let entry = lock(&self.calls).remove(name)?;
        (entry.until > Instant::now()).then_some(entry.call)
    }

    /// Drops all parked calls.
    pub(crate) fn close(&self) {
        let dropped = std::mem::take(&mut *lock(&self.calls));
        drop(dropped);
    }
}

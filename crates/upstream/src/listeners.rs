//! The sessions that have called a server since it started, for log messages between calls.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;

use crate::contract::{Caller, Listener};

/// The maximum number of remembered sessions. The oldest is forgotten first.
const MOST: usize = 64;

#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Arc<dyn Listener>>>);

impl Listeners {
    /// Remembers the session of a caller that can be reached after its call.
    pub(crate) fn add(&self, caller: &Arc<dyn Caller>) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_held = |held: &Arc<dyn Listener>| held.session() == caller.session();
        if listeners
            .iter()
            .any(|held| is_held(held) && held.is_connected())
        {
            return;
        }
        let Some(listener) = caller.listener() else {
            return;
        };
        listeners.retain(|held| held.is_connected());
        if listeners.len() >= MOST {
            listeners.remove(0);
        }
        listeners.push(listener);
    }

    /// Forwards a log message to all sessions.
    pub(crate) fn message(&self, params: &RawValue) {
        let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter() {
            listener.message(params);
        }
    }
}

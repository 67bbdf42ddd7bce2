//! Telling what happened.

use std::sync::Arc;

use pegboard_model::{Clock, Event, EventKind, TraceId};
use tokio::sync::broadcast;

/// Events that a slow listener may fall behind before it loses the oldest.
const LISTENER_BACKLOG: usize = 4096;

pub(crate) struct Events {
    clock: Arc<dyn Clock>,
    sender: broadcast::Sender<Event>,
}

impl Events {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            sender: broadcast::Sender::new(LISTENER_BACKLOG),
        }
    }

    pub(crate) fn tell(&self, trace: &TraceId, kind: EventKind) {
        let event = Event {
            at: self.clock.now(),
            trace: trace.clone(),
            kind,
        };
        tracing::debug!(target: "pegboard", trace = %event.trace, event = ?event.kind);
        // Nobody listening is no fault.
        let _ = self.sender.send(event);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.sender.subscribe()
    }
}

/// A new trace id. Without randomness the id is all zeros, which W3C trace context reads as "no trace".
pub(crate) fn new_trace() -> TraceId {
    let mut bytes = [0; 16];
    let _ = getrandom::fill(&mut bytes);
    TraceId::from_bytes(bytes)
}

//! A legacy session as servers may reach it between its calls.

use std::sync::{Arc, Mutex, Weak};

use pegboard_hub::Listener;
use serde_json::value::RawValue;

use crate::caller::graveness;
use crate::conversation::{Conversation, Outlet, lock};
use crate::level::Level;
use crate::relay::Relay;

/// Holds the session weakly: a server that runs on does not keep it in memory.
pub(crate) struct SessionListener {
    session: Box<str>,
    conversation: Weak<Conversation>,
    relay: Mutex<Relay>,
}

impl SessionListener {
    pub(crate) fn new(conversation: &Arc<Conversation>) -> Self {
        Self {
            session: conversation.session.0.as_str().into(),
            conversation: Arc::downgrade(conversation),
            relay: Mutex::new(Relay::of_session(&conversation.shared.limits)),
        }
    }
}

impl Listener for SessionListener {
    fn session(&self) -> &str {
        &self.session
    }

    fn is_connected(&self) -> bool {
        self.conversation.strong_count() > 0
    }

    fn message(&self, params: &RawValue) {
        let Some(conversation) = self.conversation.upgrade() else {
            return;
        };
        let Some(outlet) = conversation.standing_outlet() else {
            return;
        };
        let least = conversation.legacy.get().and_then(|legacy| legacy.level());
        let least = least.unwrap_or(Level::Debug);
        if graveness(params).is_none_or(|grave| grave < least) {
            return;
        }
        let mut relay = lock(&self.relay);
        // What was dropped in a flood is told with the first message after it.
        let report = relay.is_quiet().then(|| relay.take_report()).flatten();
        let is_admitted = relay.admits_message(params.get().len());
        drop(relay);
        if let Some(report) = report {
            send(&*outlet, &report);
        }
        if is_admitted {
            send(&*outlet, params.get());
        }
    }
}

fn send(outlet: &dyn Outlet, params: &str) {
    // A client that is gone or does not read misses it.
    let _ = outlet.send(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#
    ));
}

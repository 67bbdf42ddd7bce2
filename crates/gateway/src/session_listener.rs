//! Forwards log messages that servers send between calls to a legacy session.

use std::sync::{Arc, Mutex, Weak};

use pegboard_hub::Listener;
use serde_json::value::RawValue;

use crate::caller::severity;
use crate::conversation::{Conversation, MessageSink, lock};
use crate::level::Level;
use crate::notification_limiter::NotificationLimiter;

/// Receives a server's messages for one session. Weak, so that a running server does not keep the session in memory.
pub(crate) struct SessionListener {
    session: Box<str>,
    conversation: Weak<Conversation>,
    limiter: Mutex<NotificationLimiter>,
}

impl SessionListener {
    pub(crate) fn new(conversation: &Arc<Conversation>) -> Self {
        Self {
            session: conversation.session.0.as_str().into(),
            conversation: Arc::downgrade(conversation),
            limiter: Mutex::new(NotificationLimiter::for_session(
                &conversation.shared.limits,
            )),
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
        let Some(sink) = conversation.attached_sink() else {
            return;
        };
        let minimum = conversation.legacy.get().and_then(|legacy| legacy.level());
        let minimum = minimum.unwrap_or(Level::Debug);
        if severity(params).is_none_or(|severity| severity < minimum) {
            return;
        }
        let mut limiter = lock(&self.limiter);
        // Messages dropped in a flood are reported before the first message after it.
        let report = limiter.is_quiet().then(|| limiter.take_report()).flatten();
        let is_admitted = limiter.admits_message(params.get().len());
        drop(limiter);
        if let Some(report) = report {
            send(&*sink, &report);
        }
        if is_admitted {
            send(&*sink, params.get());
        }
    }
}

fn send(sink: &dyn MessageSink, params: &str) {
    // A client that is gone or not reading misses the message.
    let _ = sink.send(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#
    ));
}

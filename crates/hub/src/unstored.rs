//! Servers whose newest list could not be stored: it is served from memory and is lost when the program ends.

use std::collections::HashMap;
use std::sync::Mutex;

use pegboard_model::{ErrorSummary, EventKind, ServerName, ToolError, TraceId};

use crate::hub::Inner;
use crate::slot::lock;

/// One entry for each server at the most.
#[derive(Default)]
pub(crate) struct Unstored {
    faults: Mutex<HashMap<ServerName, ErrorSummary>>,
}

impl Unstored {
    pub(crate) fn fault_of(&self, server: &ServerName) -> Option<ErrorSummary> {
        lock(&self.faults).get(server).cloned()
    }

    pub(crate) fn forget(&self, server: &ServerName) {
        lock(&self.faults).remove(server);
    }
}

impl Inner {
    /// Remembers and reports whether a server's newest list was stored.
    pub(crate) fn record_stored(
        &self,
        server: &ServerName,
        stored: Result<(), &ToolError>,
        trace: &TraceId,
    ) {
        let Err(error) = stored else {
            return self.unstored.forget(server);
        };
        tracing::warn!(target: "pegboard", %server, "its list of tools was not stored: {error}");
        lock(&self.unstored.faults).insert(server.clone(), ErrorSummary::from(error));
        let kind = EventKind::ServerNotStored {
            server: server.clone(),
            reason: error.reason.code().to_owned(),
            error: error.message.clone(),
        };
        self.telemetry.emit(trace, kind);
    }
}

//! Servers whose newest list could not be stored. It is served from memory and lost when the program ends.

use std::collections::HashMap;
use std::sync::Mutex;

use pegboard_model::{ErrorSummary, EventKind, ServerName, ToolError, TraceId};

use super::CatalogPublisher;
use crate::hub::Inner;
use crate::sync::lock;

/// The last discovery of each server.
#[derive(Default)]
pub(super) struct Unstored {
    faults: Mutex<HashMap<ServerName, ErrorSummary>>,
}

impl Unstored {
    pub(super) fn forget(&self, server: &ServerName) {
        lock(&self.faults).remove(server);
    }
}

impl CatalogPublisher {
    /// Why the newest list of a server was not stored.
    pub(crate) fn not_stored(&self, server: &ServerName) -> Option<ErrorSummary> {
        lock(&self.unstored.faults).get(server).cloned()
    }
}

impl Inner {
    /// Records and reports whether a server's newest list was stored.
    pub(crate) fn record_stored(
        &self,
        server: &ServerName,
        stored: Result<(), &ToolError>,
        trace: &TraceId,
    ) {
        let Err(error) = stored else {
            return self.catalog.unstored.forget(server);
        };
        tracing::warn!(target: "pegboard", %server, "cannot store its list of tools: {error}");
        lock(&self.catalog.unstored.faults).insert(server.clone(), ErrorSummary::from(error));
        let kind = EventKind::ServerNotStored {
            server: server.clone(),
            reason: error.reason.code().to_owned(),
            error: error.message.clone(),
        };
        self.telemetry.emit(trace, kind);
    }
}

//! The records that discoveries read and produce.

use std::sync::Arc;

use pegboard_guard::admit_with_known;
use pegboard_model::{
    DiscoveryStatus, ErrorSummary, LearntFacts, Reason, ServerRecord, ServerSpec, Timestamp,
    ToolError, Transport,
};

use super::fetch::DiscoveryResponse;
use crate::hub::Inner;

impl Inner {
    /// Returns the record of a server under exactly this definition, or an empty one.
    pub(crate) fn known_record(&self, spec: &ServerSpec) -> Arc<ServerRecord> {
        let catalog = self.catalog.load();
        let record = catalog.server(&spec.name).map(|entry| entry.record.clone());
        record
            .filter(|record| record.config == spec.hash)
            .unwrap_or_else(|| Arc::new(ServerRecord::undiscovered(spec.name.clone(), spec.hash)))
    }

    /// Returns the record that another process stored while this one waited.
    pub(super) async fn found_elsewhere(
        &self,
        known: &ServerRecord,
        asked_at: Timestamp,
    ) -> Option<ServerRecord> {
        let record = self
            .store
            .load_server(&known.server, &known.config)
            .await
            .ok()??;
        let is_new = record.attempted_at > known.attempted_at;
        // An attempt that did not finish has no result.
        let has_ended = record.status != DiscoveryStatus::Never;
        (has_ended && is_new && record.attempted_at >= Some(asked_at)).then_some(record)
    }

    /// Returns the record under the server's previous definition if nothing is known under the current one.
    pub(super) async fn former_record(&self, known: &ServerRecord) -> Option<ServerRecord> {
        if known.is_known() {
            return None;
        }
        let former = self.store.load_former(&known.server, &known.config).await;
        // Without it, changes are not reported.
        former.ok().flatten()
    }

    pub(super) fn success_record(
        &self,
        spec: &ServerSpec,
        known: &ServerRecord,
        response: DiscoveryResponse,
    ) -> ServerRecord {
        let DiscoveryResponse {
            handshake,
            old_sse,
            listing,
            offers,
            session_resources,
        } = response;
        let over_http = matches!(spec.transport, Transport::Http { .. });
        let mut admission = admit_with_known(
            &spec.name,
            over_http,
            &listing.tools,
            &known.tools,
            &self.limits,
        );
        let offers = offers.admit(&known.offers, &mut admission.rejections, &self.limits);
        let offers = session_resources.without(offers);
        let now = self.clock.now();
        ServerRecord {
            server: spec.name.clone(),
            config: spec.hash,
            status: DiscoveryStatus::Success,
            discovered_at: Some(now),
            attempted_at: Some(now),
            last_error: None,
            era: Some(handshake.era),
            protocol_version: Some(handshake.protocol_version),
            // A modern server with a remembered era sends only its list, without a handshake.
            info: handshake.info.or_else(|| known.info.clone()),
            instructions: handshake
                .instructions
                .or_else(|| known.instructions.clone()),
            ttl_hint_ms: listing.ttl_ms,
            private: listing.private,
            tools: admission.tools.into(),
            rejections: admission.rejections.into(),
            capabilities: handshake
                .capabilities
                .or_else(|| known.capabilities.clone()),
            offers,
            // More may have been learnt while the lists were fetched.
            learnt: LearntFacts {
                old_sse,
                ..known.learnt.and(self.known_record(spec).learnt)
            },
        }
    }

    pub(crate) fn failure_record(
        &self,
        known: &Arc<ServerRecord>,
        error: &ToolError,
    ) -> ServerRecord {
        // The record may have been cleared since the discovery started.
        let catalog = self.catalog.load();
        let present = catalog.server(&known.server).map(|entry| &entry.record);
        let known = present
            .filter(|record| record.config == known.config)
            .unwrap_or(known);
        ServerRecord {
            status: DiscoveryStatus::Failed,
            attempted_at: Some(self.clock.now()),
            last_error: Some(ErrorSummary::from(error)),
            era: known.era.filter(|_| !may_be_era_mismatch(error.reason)),
            ..ServerRecord::clone(known)
        }
    }
}

pub(super) fn from_summary(summary: &ErrorSummary, spec: &ServerSpec) -> ToolError {
    ToolError::new(summary.reason, summary.message.clone())
        .at_server(&spec.name)
        .with_remedy(summary.remedy.clone())
}

/// Whether a wrong remembered era may be the cause. An update can change a server's era under the same definition,
/// and a server that is addressed in the wrong era refuses, stays silent or exits.
fn may_be_era_mismatch(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::VersionUnsupported
            | Reason::HandshakeFailed
            | Reason::DiscoveryFailed
            | Reason::DiscoveryTimeout
            | Reason::ServerExited
    )
}

//! Fetching the lists of a server.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{
    Era, Reason, ServerRecord, ServerSpec, Timeouts, ToolError, ToolResult, TraceId,
};
use pegboard_upstream::{Handshake, ToolListing};
use tokio::time::{Instant, timeout_at};

use super::Backoff;
use super::offers::{RawOffers, fetch_offers};
use super::session_resources::SessionResources;
use crate::hub::Inner;

/// Timeout of the first discovery of a server.
const FIRST_DISCOVERY_TIMEOUT: Duration = Duration::from_secs(120);
/// Everything that a server returned.
pub(super) struct DiscoveryResponse {
    pub(super) handshake: Handshake,
    /// Whether the server speaks the old HTTP+SSE transport.
    pub(super) old_sse: bool,
    pub(super) listing: ToolListing,
    pub(super) offers: RawOffers,
    pub(super) session_resources: Arc<SessionResources>,
}

/// Fetches and checks a server's lists. The check runs on a blocking thread, because many long lists can arrive at once
/// after a start.
pub(super) async fn fetch_and_admit(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &Arc<ServerRecord>,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<ServerRecord> {
    let response = fetch_with_era_retry(inner, spec, known, backoff, trace).await?;
    let _permit = inner.discovery.admit().await;
    let (hub, of, before) = (inner.clone(), spec.clone(), known.clone());
    let admitted = tokio::task::spawn_blocking(move || hub.success_record(&of, &before, response));
    admitted.await.map_err(|_| {
        let message = format!("the tools of server `{}` could not be checked", spec.name);
        ToolError::new(Reason::Internal, message).at_server(&spec.name)
    })
}

/// Fetches the lists, and retries once without the remembered era if that may be why the server exited.
async fn fetch_with_era_retry(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<DiscoveryResponse> {
    let response = fetch(inner, spec, known, backoff, trace).await;
    match &response {
        // A wrong legacy era is corrected by the connection itself.
        Err(error) if error.reason == Reason::ServerExited && known.era == Some(Era::Modern) => {
            let without_era = ServerRecord {
                era: None,
                ..known.clone()
            };
            fetch(inner, spec, &without_era, Backoff::Ignore, trace).await
        }
        _ => response,
    }
}

async fn fetch(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<DiscoveryResponse> {
    let timeout = discovery_timeout(spec, known);
    let deadline = Instant::now() + timeout;
    let slot = inner.slots.for_discovery(&spec.name, &spec.hash);
    let (hold, opened) = inner
        .acquire(&slot, spec, known, deadline, backoff, trace)
        .await?;
    let upstream = hold.upstream();
    let changes = upstream.list_changed();
    let list = || async {
        let listing = timeout_at(deadline, upstream.list_tools()).await;
        listing.unwrap_or_else(|_| Err(timed_out(spec, "its list of tools", timeout)))
    };
    let mut listing = list().await;
    if opened && listing.is_ok() && changes.has_changed().unwrap_or(false) {
        // The connection is about to close, so fetch the announced change now.
        listing = list().await;
    }
    let response = match listing {
        Ok(listing) => Ok(DiscoveryResponse {
            offers: fetch_offers(spec, known, upstream.as_ref(), deadline).await,
            session_resources: hold.running().session_resources.clone(),
            // Read last, because the era may have been corrected during the requests.
            handshake: upstream.handshake().clone(),
            old_sse: upstream.uses_old_sse(),
            listing,
        }),
        Err(error) => Err(error),
    };
    if let Err(error) = &response {
        slot.record_failure(&spec.hash, error);
    }
    let failed = response.is_err();
    inner.release_after_discovery(&slot, spec, hold, opened, failed, trace);
    response
}

/// The timeout of a discovery, counted from its own start. An undiscovered server gets more time: it may have to be
/// downloaded first, and other first starts compete with it. A configured timeout is never extended.
pub(super) fn discovery_timeout(spec: &ServerSpec, known: &ServerRecord) -> Duration {
    let own = spec.timeouts.discovery;
    let is_default = own == Timeouts::default().discovery;
    if is_default && !known.is_known() {
        FIRST_DISCOVERY_TIMEOUT
    } else {
        own
    }
}

pub(crate) fn timed_out(spec: &ServerSpec, what: &str, limit: Duration) -> ToolError {
    // Round to tenths.
    let tenths = (limit.as_secs_f32() * 10.0).round() / 10.0;
    let message = format!(
        "server `{}` did not send {what} within {tenths} s",
        spec.name
    );
    ToolError::new(Reason::DiscoveryTimeout, message).at_server(&spec.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::Timestamp;
    use pegboard_testkit::stdio_spec;

    #[track_caller]
    fn check(program: &str, configured: Option<u64>, is_known: bool, expected: u64) {
        let mut spec = stdio_spec("s", program, ["package"]);
        if let Some(seconds) = configured {
            spec.timeouts.discovery = Duration::from_secs(seconds);
        }
        let mut known = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
        known.discovered_at = is_known.then_some(Timestamp(1));
        let budget = discovery_timeout(&spec, &known);
        assert_eq!(budget, Duration::from_secs(expected), "{program}");
    }

    #[test]
    fn r_disc_13_the_first_discovery_may_take_longer_unless_a_limit_is_configured() {
        check("npx", None, false, 120);
        check("/usr/local/bin/uvx", None, false, 120);
        check("npx", None, true, 30);
        check("npx", Some(5), false, 5);
        check("npx", Some(300), false, 300);
        check("/usr/bin/server", None, false, 120);
        check("/usr/bin/server", None, true, 30);
        check("/usr/bin/server", Some(5), false, 5);
    }
}

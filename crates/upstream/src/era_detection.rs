//! Detects the protocol era of a server.

use std::future::Future;
use std::time::Duration;

use pegboard_jsonrpc::{RpcResponse, revision};
use pegboard_model::{Limits, Reason, ToolError, ToolResult};

use crate::contract::Handshake;
use crate::dialect::{ClientInfo, Dialect, initialize_params};
use crate::errors::ErrorContext;
use crate::handshake_outcome::{
    DiscoverOutcome, InitializeOutcome, classify_discover, classify_initialize, unsupported,
};

/// Silence after which the server may be one that ignores unknown requests. Its response is still awaited: a modern
/// server may just be slow to start.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a handshake failed, and whether a fresh process that gets `initialize` first may succeed: some servers exit, or
/// refuse everything, after a request they do not know.
#[derive(Debug)]
pub(crate) struct HandshakeFailure {
    pub(crate) error: ToolError,
    pub(crate) may_retry_initialize: bool,
}

/// Sends the handshake requests over a transport.
pub(crate) trait HandshakeTransport: Send + Sync {
    fn discover(&self, params: &str) -> impl Future<Output = ToolResult<RpcResponse>> + Send;

    fn initialize(&self, params: &str) -> impl Future<Output = ToolResult<RpcResponse>> + Send;

    /// Completes the handshake. A legacy server gets `notifications/initialized`.
    fn complete(&self, handshake: &Handshake) -> impl Future<Output = ()> + Send;

    /// Returns the number of lines so far that were not protocol messages.
    fn noise(&self) -> u64;
}

/// Performs the handshake with a server.
pub(crate) struct HandshakeClient<'a, D> {
    pub(crate) transport: &'a D,
    pub(crate) client: &'a ClientInfo,
    pub(crate) errors: &'a ErrorContext,
    pub(crate) limits: &'a Limits,
}

impl<D: HandshakeTransport> HandshakeClient<'_, D> {
    /// Detects the era of an unknown server.
    pub(crate) async fn detect_era(&self) -> Result<Handshake, HandshakeFailure> {
        let params = Dialect::modern(revision::MODERN, self.client).params("");
        let discover = self.transport.discover(&params);
        tokio::pin!(discover);
        let probed = tokio::select! {
            response = &mut discover => Some(response),
            () = tokio::time::sleep(PROBE_TIMEOUT) => None,
        };
        let handshake = match probed {
            Some(response) => match self.probed(response)? {
                Some(handshake) => handshake,
                None => self.initialize().await.map_err(probe_failure)?,
            },
            None => self.wait_for_either(discover).await?,
        };
        Ok(self.complete(handshake).await)
    }

    /// Performs the legacy handshake.
    pub(crate) async fn initialize_legacy(&self) -> ToolResult<Handshake> {
        let handshake = self.initialize().await?;
        Ok(self.complete(handshake).await)
    }

    async fn initialize(&self) -> ToolResult<Handshake> {
        let params = initialize_params(self.client);
        let response = self.transport.initialize(&params).await?;
        classify_initialize(response, self.limits).into_handshake(self.errors)
    }

    /// Waits for the responses to both requests. The first conclusive one decides.
    async fn wait_for_either(
        &self,
        mut discover: impl Future<Output = ToolResult<RpcResponse>> + Unpin + Send,
    ) -> Result<Handshake, HandshakeFailure> {
        let params = initialize_params(self.client);
        let initialize = self.transport.initialize(&params);
        tokio::pin!(initialize);
        let mut not_modern = false;
        let mut refusal: Option<InitializeOutcome> = None;
        loop {
            tokio::select! {
                biased;
                response = &mut discover, if !not_modern => match self.probed(response)? {
                    Some(handshake) => return Ok(handshake),
                    None => not_modern = true,
                },
                response = &mut initialize, if refusal.is_none() => {
                    let response = response.map_err(probe_failure)?;
                    match classify_initialize(response, self.limits) {
                        InitializeOutcome::Legacy(handshake) => return Ok(handshake),
                        // It is or may be modern; the late response to the first request says more.
                        outcome @ (InitializeOutcome::Modern(_) | InitializeOutcome::NoMethod(_)) => refusal = Some(outcome),
                        outcome => return outcome.into_handshake(self.errors).map_err(probe_failure),
                    }
                }
            }
            if not_modern && let Some(outcome) = refusal.take() {
                return outcome.into_handshake(self.errors).map_err(probe_failure);
            }
        }
    }

    /// Returns `None` if the server is not modern.
    fn probed(
        &self,
        response: ToolResult<RpcResponse>,
    ) -> Result<Option<Handshake>, HandshakeFailure> {
        match response {
            Err(error) if error.reason == Reason::FrameInvalid => Ok(None),
            Err(error) => Err(probe_failure(error)),
            Ok(response) => match classify_discover(&response, self.limits) {
                DiscoverOutcome::Modern(handshake) => Ok(Some(handshake)),
                DiscoverOutcome::Legacy => Ok(None),
                DiscoverOutcome::UnsupportedVersions(versions) => Err(HandshakeFailure {
                    error: unsupported(self.errors, &versions),
                    may_retry_initialize: false,
                }),
            },
        }
    }

    async fn complete(&self, mut handshake: Handshake) -> Handshake {
        self.transport.complete(&handshake).await;
        handshake.noise = self.transport.noise();
        handshake
    }
}

fn probe_failure(error: ToolError) -> HandshakeFailure {
    let may_retry_initialize =
        matches!(error.reason, Reason::ServerExited | Reason::HandshakeFailed);
    HandshakeFailure {
        error,
        may_retry_initialize,
    }
}

#[cfg(test)]
mod tests {
    use pegboard_model::Era;
    use tokio::time::Instant;

    use super::*;
    use crate::testing::{Peer, errors, pair};

    const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}"#;
    const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}"#;
    const NO_METHOD: &str = r#"{"code":-32601,"message":"Method not found"}"#;
    const WRONG_VERSION: &str =
        r#"{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}"#;

    /// Runs the detection against a scripted server. Returns the outcome and the elapsed seconds of paused time.
    async fn detect_era<S: Future<Output = Peer>>(
        script: impl FnOnce(Peer) -> S,
    ) -> (Result<Handshake, HandshakeFailure>, u64) {
        let (rpc, reading, peer) = pair();
        let client = ClientInfo {
            name: "pegboard".into(),
            version: "0".into(),
        };
        let (errors, limits) = (errors(), Limits::default());
        let handshake_client = HandshakeClient {
            transport: &*rpc,
            client: &client,
            errors: &errors,
            limits: &limits,
        };
        let begun = Instant::now();
        // What the supervisor does for a real process.
        let watch = async {
            let _ = reading.end.await;
            rpc.finish(errors.error(Reason::ServerExited, "ended"));
        };
        let detected = async {
            tokio::select! {
                biased;
                detected = handshake_client.detect_era() => detected,
                () = async { tokio::join!(watch, std::future::pending::<()>()); } => unreachable!(),
            }
        };
        let (detected, _peer) = tokio::join!(detected, script(peer));
        (detected, begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_12_a_modern_server_is_detected_by_one_request() {
        let (detected, _) = detect_era(|mut peer| async {
            let line = peer.line().await;
            assert!(
                line.contains("server/discover")
                    && line.contains("io.modelcontextprotocol/protocolVersion"),
                "{line}"
            );
            peer.result(1, DISCOVERED).await;
            peer
        })
        .await;
        let handshake = detected.unwrap();
        assert_eq!((handshake.era, handshake.list_changed), (Era::Modern, true));
    }

    #[tokio::test(start_paused = true)]
    async fn any_error_that_is_not_modern_means_legacy() {
        for code in [-32601, -32602, -32600, -32000, -32603, 0, 400, -32042] {
            let (detected, _) = detect_era(|mut peer| async move {
                let (id, _) = peer.request().await;
                peer.error(id, &format!("{{\"code\":{code},\"message\":\"?\"}}"))
                    .await;
                let (id, method) = peer.request().await;
                assert_eq!(method, "initialize");
                peer.result(id, INITIALIZED).await;
                assert!(peer.line().await.contains("notifications/initialized"));
                peer
            })
            .await;
            let handshake = detected.unwrap();
            assert_eq!(
                (handshake.era, handshake.protocol_version.as_str()),
                (Era::Legacy, "2025-06-18"),
                "{code}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_legacy_server_that_ignores_the_probe_delays_by_one_second() {
        let (detected, seconds) = detect_era(|mut peer| async {
            peer.request().await;
            let (id, method) = peer.request().await;
            assert_eq!(method, "initialize");
            peer.result(id, INITIALIZED).await;
            peer
        })
        .await;
        assert_eq!((detected.unwrap().era, seconds), (Era::Legacy, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_modern_server_may_need_twelve_seconds_to_start() {
        for first_refuses in [false, true] {
            let (detected, seconds) = detect_era(|mut peer| async move {
                tokio::time::sleep(Duration::from_secs(12)).await;
                let (discover, _) = peer.request().await;
                let (initialize, _) = peer.request().await;
                if first_refuses {
                    peer.error(initialize, WRONG_VERSION).await;
                    peer.result(discover, DISCOVERED).await;
                } else {
                    peer.result(discover, DISCOVERED).await;
                    peer.error(initialize, WRONG_VERSION).await;
                }
                peer
            })
            .await;
            let handshake = detected.unwrap();
            assert_eq!(
                (handshake.era, handshake.list_changed, seconds),
                (Era::Modern, true, 12)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_version_error_to_initialize_proves_a_modern_server() {
        let (detected, _) = detect_era(|mut peer| async {
            let (id, _) = peer.request().await;
            peer.error(id, NO_METHOD).await;
            let (id, _) = peer.request().await;
            peer.error(id, WRONG_VERSION).await;
            peer
        })
        .await;
        assert_eq!(detected.unwrap().era, Era::Modern);
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_or_a_refusal_after_the_probe_asks_for_a_fresh_process() {
        let (detected, _) = detect_era(|mut peer| async {
            peer.request().await;
            drop(peer);
            pair().2
        })
        .await;
        let failure = detected.unwrap_err();
        assert_eq!(
            (failure.error.reason, failure.may_retry_initialize),
            (Reason::ServerExited, true)
        );
        let (detected, _) = detect_era(|mut peer| async {
            let (id, _) = peer.request().await;
            peer.error(id, NO_METHOD).await;
            let (id, _) = peer.request().await;
            peer.error(id, r#"{"code":-32600,"message":"not now"}"#)
                .await;
            peer
        })
        .await;
        let failure = detected.unwrap_err();
        assert_eq!(
            (failure.error.reason, failure.may_retry_initialize),
            (Reason::HandshakeFailed, true)
        );
        assert!(failure.error.message.contains("not now"));
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_revisions_are_refused_with_the_known_ones() {
        for (method, response) in [
            ("server/discover", r#"{"supportedVersions":["2031-01-01"]}"#),
            ("initialize", r#"{"protocolVersion":"1999-01-01"}"#),
        ] {
            let (detected, _) = detect_era(|mut peer| async move {
                loop {
                    let (id, asked) = peer.request().await;
                    if asked == method {
                        peer.result(id, response).await;
                        return peer;
                    }
                    peer.error(id, NO_METHOD).await;
                }
            })
            .await;
            let error = detected.unwrap_err().error;
            assert_eq!(error.reason, Reason::VersionUnsupported);
            assert!(
                error.message.contains("2025-11-25") && error.message.contains("2026-07-28"),
                "{error}"
            );
        }
    }
}

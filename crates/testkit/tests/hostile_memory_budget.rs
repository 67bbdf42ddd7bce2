//! Memory used by many concurrent endless results. In its own process, because memory is measured for the whole
//! process, and memory that this test frees late would hide the use of other tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "hostile_upstream/harness.rs"]
mod harness;

use std::time::Duration;

use harness::{BUDGET, call_within, connector_with};
use pegboard_model::{Limits, Reason};
use pegboard_testkit::script::{HttpFaultKind, Moment};
use pegboard_testkit::{Script, own_peak_rss_kib, own_rss_kib};
use pegboard_upstream::{Connect as _, ConnectHint};
use serde_json::json;

#[tokio::test]
async fn r_sec_01_many_endless_results_at_once_share_one_budget() {
    const CALLS: usize = 32;
    for kind in [HttpFaultKind::EndlessBody, HttpFaultKind::EndlessEvent] {
        let server = Script::new()
            .tools(["a"])
            .http(Moment::Call, kind)
            .serve_http();
        let spec = server.spec("remote");
        let hint = ConnectHint::default();
        // An eighth of the usual sizes, for slow machines.
        let limits = Limits {
            result_bytes: 4 << 20,
            response_bytes_per_server: 16 << 20,
            response_bytes: 32 << 20,
            ..Limits::default()
        };
        let connector = connector_with(limits.clone());
        let upstream = connector.connect(&spec, &hint, BUDGET).await.unwrap();
        upstream.list_tools().await.unwrap();
        // Counted bytes may be in buffers of twice the size, and each connection has its own buffers.
        let most = (2 * limits.response_bytes_per_server + (CALLS << 20)) / 1024;
        let minute = Duration::from_secs(60);
        let calls = (0..CALLS).map(|_| call_within(&*upstream, "a", json!({}), minute));
        let calls = futures_util::future::join_all(calls);
        let before = own_rss_kib();
        let outcomes = calls.await;
        let grown = own_peak_rss_kib().saturating_sub(before);
        assert!(grown <= most as u64, "grew by {grown} KiB");
        let mut crowded = 0;
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            let is_crowded = error.reason == Reason::Overloaded;
            assert!(
                is_crowded || error.reason == Reason::HttpBodyTooLarge,
                "{error}"
            );
            crowded += usize::from(is_crowded);
        }
        assert!(crowded > 0, "the budget was never exhausted");
        upstream.close().await;
    }
}

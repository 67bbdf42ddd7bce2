//! Races between reloads, notifications, shutdowns and crashes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fake::{Behaviour, HubFixture, Servers, spec, wait_for};
use pegboard_hub::{
    ApprovalPrompt, Approver, CallRequest, Hub, HubSettings, PromptResponse, RefreshScope,
    SessionId,
};
use pegboard_model::{DiscoveryStatus, Era, ErrorClass, EventKind, Policy, Reason, ToolResult};
use pegboard_store::{MemoryStore, Store};
use pegboard_testkit::{FakeClock, server, wait_until, with_env};
use pegboard_upstream::CallOutcome;
use serde_json::value::RawValue;
use tokio::sync::Notify;

const LONG: Duration = Duration::from_secs(20);

async fn call(hub: &Hub, tool: &str) -> ToolResult<CallOutcome> {
    let request = CallRequest::new(
        SessionId("test".into()),
        tool,
        RawValue::from_string("{}".into()).unwrap(),
    );
    hub.call(&request).await
}

async fn is_discovering(fixture: &HubFixture, name: &str) {
    wait_until("it is being discovered", LONG, || {
        fixture.entry(name).status() == DiscoveryStatus::Discovering
    })
    .await;
}

#[tokio::test]
async fn r_disc_10_settings_changed_during_a_discovery_are_not_undone_by_its_end() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.set("a", Behaviour::hanging());
    fixture.servers.set("b", Behaviour::hanging());
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await });
    is_discovering(&fixture, "a").await;
    is_discovering(&fixture, "b").await;
    let mut disabled = spec("a");
    disabled.enabled = false;
    let mut guarded = spec("b");
    guarded.policy = Some(Policy::Deny);
    fixture.hub.apply([disabled, guarded]).await;
    assert_eq!(fixture.entry("b").status(), DiscoveryStatus::Discovering);
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    asked.await.unwrap().unwrap();
    assert!(!fixture.entry("a").spec.enabled, "it stays disabled");
    assert_eq!(
        fixture.entry("a").record.tools.len(),
        1,
        "its first list is kept"
    );
    assert_eq!(fixture.entry("b").spec.policy, Some(Policy::Deny));
    let denied = call(&fixture.hub, "b__two").await.unwrap_err();
    assert_eq!(denied.reason, Reason::PolicyDenied);
}

#[tokio::test]
async fn a_call_of_an_unknown_tool_starts_no_other_server() {
    let fixture = HubFixture::new(&["known", "other"]).await;
    fixture.servers.tools("known", &["one"]);
    let which = RefreshScope::One(server("known"));
    fixture.hub.refresh(which, true).await.unwrap();
    let error = call(&fixture.hub, "known__typo").await.unwrap_err();
    assert_eq!(error.reason, Reason::ToolUnknown);
    assert_eq!(fixture.servers.started("other"), 0);
    assert_eq!(fixture.servers.started("known"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_first_discovery_of_its_own_server_and_starts_no_other() {
    let settings = HubSettings {
        answer_deadline: Duration::from_millis(20),
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(vec![spec("slow"), spec("other")], settings).await;
    fixture.servers.set("slow", Behaviour::hanging());
    let hub = fixture.hub.clone();
    let called = tokio::spawn(async move { call(&hub, "slow__one").await });
    is_discovering(&fixture, "slow").await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    fixture.servers.tools("slow", &["one"]);
    called.await.unwrap().unwrap();
    assert_eq!(fixture.servers.started("other"), 0);
    assert_eq!(
        fixture.servers.started("slow"),
        1,
        "one start for the list and the call"
    );
}

#[tokio::test(start_paused = true)]
async fn r_reg_05_a_call_of_a_server_that_is_never_discovered_in_time_says_so() {
    let mut slow = spec("slow");
    slow.timeouts.call = Duration::from_secs(5);
    let fixture = HubFixture::with(vec![slow], HubSettings::default()).await;
    fixture.servers.set("slow", Behaviour::hanging());
    let begun = tokio::time::Instant::now();
    let error = call(&fixture.hub, "slow__one").await.unwrap_err();
    assert_eq!(error.code, ErrorClass::Unavailable, "{error}");
    assert!(error.retryable);
    assert_eq!(
        begun.elapsed().as_secs(),
        5,
        "no longer than a call may take"
    );
}

#[tokio::test]
async fn r_reg_05_a_call_of_a_server_that_cannot_be_discovered_gets_the_servers_failure() {
    let fixture = HubFixture::new(&["a"]).await;
    let broken = Behaviour::failing(Reason::SpawnNotFound);
    fixture.servers.set("a", broken);
    for _ in 0..3 {
        let error = call(&fixture.hub, "a__one").await.unwrap_err();
        assert_eq!(error.reason, Reason::SpawnNotFound);
        assert_eq!(error.code, ErrorClass::Unavailable);
    }
    assert_eq!(
        fixture.servers.started("a"),
        1,
        "it is not tried by each call"
    );
}

#[tokio::test(start_paused = true)]
async fn r_disc_07_a_server_is_not_started_again_by_what_it_announced_before_it_stopped() {
    let fixture = HubFixture::new(&["a"]).await;
    let mut announcements = Behaviour::with_tools(&["one"]);
    announcements.hang_list = true;
    fixture.servers.set("a", announcements);
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await });
    wait_until("it runs", LONG, || fixture.servers.listed("a") == 1).await;
    for _ in 0..5 {
        fixture.servers.announce_change("a");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fixture.servers.tools("a", &["one", "two"]);
    asked.await.unwrap().unwrap();
    assert_eq!(
        fixture.tools(),
        ["a__one", "a__two"],
        "refreshed while it runs"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(fixture.servers.started("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn r_disc_07_a_change_announced_while_the_old_list_is_under_way_is_not_lost() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    call(&fixture.hub, "a__one").await.unwrap();
    let mut slow = Behaviour::with_tools(&["one"]);
    slow.hang_list = true;
    fixture.servers.set("a", slow.clone());
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await });
    wait_until("the old list is under way", LONG, || {
        fixture.servers.listed("a") == 2
    })
    .await;
    fixture.servers.announce_change("a");
    tokio::time::sleep(Duration::from_millis(20)).await;
    fixture.servers.tools("a", &["one", "two"]);
    asked.await.unwrap().unwrap();
    wait_until("the change is seen", LONG, || fixture.tools().len() == 2).await;
}

#[tokio::test]
async fn r_sec_04_a_shutdown_during_the_start_for_a_call_leaves_nothing_running() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    wait_until("it is stopped", LONG, || !fixture.servers.is_running("a")).await;
    fixture.servers.set("a", Behaviour::hanging());
    let hub = fixture.hub.clone();
    let called = tokio::spawn(async move { call(&hub, "a__one").await });
    wait_until("it is starting", LONG, || fixture.servers.started("a") == 2).await;
    fixture.hub.shutdown().await;
    fixture.servers.tools("a", &["one"]);
    let error = called.await.unwrap().unwrap_err();
    assert_eq!(error.reason, Reason::Cancelled);
    assert!(!fixture.servers.is_running("a"));
}

#[tokio::test]
async fn r_disc_04_a_discovery_cancelled_by_a_shutdown_is_not_shown_as_in_progress() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", Behaviour::hanging());
    fixture.hub.session_started();
    is_discovering(&fixture, "a").await;
    fixture.hub.shutdown().await;
    assert_eq!(fixture.entry("a").status(), DiscoveryStatus::Never);
}

#[tokio::test]
async fn r_disc_05_a_corrected_definition_is_not_held_back_by_the_failures_of_the_old_one() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnNotFound));
    for _ in 0..8 {
        fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    }
    fixture.servers.tools("a", &["one"]);
    fixture
        .hub
        .apply([with_env(spec("a"), "FIXED", "yes")])
        .await;
    wait_until("it is discovered", Duration::from_secs(5), || {
        fixture.tools() == ["a__one"]
    })
    .await;
}

#[tokio::test]
async fn a_crash_that_a_call_notices_is_reported_and_counts_as_a_failure() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    let mut crashing = Behaviour::with_tools(&["one"]);
    crashing.crash_on_call = true;
    fixture.servers.set("a", crashing);
    let mut events = fixture.hub.subscribe();
    let error = call(&fixture.hub, "a__one").await.unwrap_err();
    assert_eq!(error.reason, Reason::ServerExited);
    let crashed =
        |kind: &EventKind| matches!(kind, EventKind::ServerStopped { why, .. } if why == "crashed");
    wait_for(&mut events, crashed).await;
    assert_eq!(fixture.hub.health()[0].failures, 1);
    let mut reasons = Vec::new();
    for _ in 0..5 {
        reasons.push(call(&fixture.hub, "a__one").await.unwrap_err().reason);
    }
    assert_eq!(reasons.last(), Some(&Reason::ServerBackoff), "{reasons:?}");
}

#[tokio::test]
async fn r_disc_04_a_server_left_alone_keeps_the_error_of_its_last_real_try() {
    let fixture = HubFixture::strict("a").await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnNotFound));
    for _ in 0..4 {
        fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    }
    let tried = fixture.entry("a").record.attempted_at;
    fixture.clock.advance(Duration::from_secs(1000));
    fixture.hub.ensure_known().await;
    let entry = fixture.entry("a");
    assert_eq!(
        entry.record.last_error.as_ref().unwrap().reason,
        Reason::SpawnNotFound
    );
    assert_eq!(entry.record.attempted_at, tried);
    assert_eq!(entry.status(), DiscoveryStatus::Failed);
}

#[tokio::test]
async fn r_disc_12_stale_marks_follow_the_clock_without_a_task() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.clock.advance(Duration::from_secs(3600));
    assert!(fixture.hub.health()[0].stale);
    fixture.hub.ensure_known().await;
    assert!(fixture.entry("a").stale);
}

#[tokio::test]
async fn a_list_that_fails_is_not_fetched_after_every_call() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    let mut unlistable = Behaviour::with_tools(&["one"]);
    unlistable.fail_list = Some(Reason::ListTooLarge);
    fixture.servers.set("a", unlistable);
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    let lists = fixture.servers.listed("a");
    for _ in 0..20 {
        call(&fixture.hub, "a__one").await.unwrap();
        tokio::task::yield_now().await;
    }
    fixture.hub.shutdown().await;
    assert_eq!(fixture.servers.listed("a"), lists);
}

/// An approver that takes as long as the test wants, and allows.
struct Slow {
    asked: Arc<Notify>,
    response: Arc<Notify>,
}

#[async_trait]
impl Approver for Slow {
    async fn ask(&self, _question: ApprovalPrompt) -> PromptResponse {
        self.asked.notify_one();
        self.response.notified().await;
        PromptResponse::Allow
    }
}

#[tokio::test]
async fn a_server_disabled_during_an_approval_is_not_called() {
    let (asked, response) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = Slow {
        asked: asked.clone(),
        response: response.clone(),
    };
    let mut guarded = spec("a");
    guarded.policy = Some(Policy::Ask);
    let lasting: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let clock = Arc::new(FakeClock::at(1_000));
    let (settings, servers) = (HubSettings::default(), Servers::new());
    servers.tools("a", &["one"]);
    let parts = (lasting, clock);
    let fixture = HubFixture::asking(vec![guarded.clone()], settings, servers, parts, slow).await;
    fixture.hub.ensure_known().await;
    let hub = fixture.hub.clone();
    let called = tokio::spawn(async move { call(&hub, "a__one").await });
    asked.notified().await;
    guarded.enabled = false;
    fixture.hub.apply([guarded]).await;
    response.notify_one();
    let error = called.await.unwrap().unwrap_err();
    assert_eq!(error.code, ErrorClass::Denied);
    assert!(fixture.servers.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r_disc_05_a_late_failure_of_an_old_definition_leaves_its_kept_tools() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    wait_until("it is stopped", LONG, || !fixture.servers.is_running("a")).await;
    fixture.servers.set("a", Behaviour::hanging());
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await });
    wait_until("it is starting", LONG, || fixture.servers.started("a") == 2).await;
    let mut other = with_env(spec("a"), "OTHER", "yes");
    other.enabled = false;
    fixture.hub.apply([other]).await;
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnFailed));
    asked.await.unwrap().unwrap();
    fixture.hub.apply([spec("a")]).await;
    assert_eq!(fixture.tools(), ["a__one"], "they were kept");
}

#[tokio::test]
async fn r_store_04_tools_cleared_during_a_discovery_stay_cleared_if_it_fails() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    wait_until("it is stopped", LONG, || !fixture.servers.is_running("a")).await;
    fixture.servers.set("a", Behaviour::hanging());
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await });
    wait_until("it is starting", LONG, || fixture.servers.started("a") == 2).await;
    fixture.hub.invalidate(&server("a")).await.unwrap();
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnFailed));
    asked.await.unwrap().unwrap();
    assert!(fixture.tools().is_empty());
    assert_eq!(fixture.entry("a").status(), DiscoveryStatus::Failed);
}

#[tokio::test]
async fn a_remembered_era_is_doubted_at_once_also_after_an_earlier_failure() {
    let fixture = HubFixture::strict("a").await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnFailed));
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    let mut ending = Behaviour::with_tools(&["one"]);
    ending.fail_list = Some(Reason::ServerExited);
    fixture.servers.set("a", ending);
    fixture.servers.hints.lock().unwrap().clear();
    fixture.clock.advance(Duration::from_secs(1000));
    fixture.hub.refresh_stale_in_background();
    let hints = || fixture.servers.hints.lock().unwrap().clone();
    wait_until("it is probed again", LONG, || hints().len() == 2).await;
    assert_eq!(hints(), [Some(Era::Modern), None]);
}

#[tokio::test]
async fn an_era_is_forgotten_with_a_failure_that_it_may_have_caused_and_kept_with_others() {
    for (reason, era) in [
        (Reason::DiscoveryTimeout, None),
        (Reason::DiscoveryFailed, None),
        (Reason::HandshakeFailed, None),
        (Reason::ConnectFailed, Some(Era::Modern)),
        (Reason::ListTooLarge, Some(Era::Modern)),
    ] {
        let fixture = HubFixture::new(&["a"]).await;
        fixture.servers.tools("a", &["one"]);
        fixture.hub.ensure_known().await;
        let mut failing = Behaviour::with_tools(&["one"]);
        failing.fail_list = Some(reason);
        fixture.servers.set("a", failing);
        fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
        assert_eq!(fixture.entry("a").record.era, era, "{reason}");
        assert_eq!(fixture.tools(), ["a__one"]);
    }
}

//! The first discovery of servers: how many start concurrently, which callers wait for them, and when they are
//! retried.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::atomic::Ordering;
use std::time::Duration;

use fake::{Behaviour, HubFixture, spec};
use pegboard_hub::{CallRequest, HubSettings, RefreshScope, SessionId};
use pegboard_model::{DiscoveryStatus, Reason};
use pegboard_testkit::{server, tool_json, wait_until, with_env};
use pegboard_upstream::processors;
use tokio::time::Instant;

const LONG: Duration = Duration::from_secs(60);

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("s{n:02}")).collect()
}

async fn bench_of(names: &[String]) -> HubFixture {
    let specs = names.iter().map(|name| spec(name)).collect();
    HubFixture::with(specs, HubSettings::default()).await
}

fn call(tool: &str) -> CallRequest {
    let arguments = serde_json::value::RawValue::from_string("{}".into()).unwrap();
    CallRequest::new(SessionId("test".into()), tool, arguments)
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_a_busy_machine_starts_twice_as_many_servers_as_it_has_processors() {
    let width = processors() * 2;
    let names = names(width * 3);
    let fixture = bench_of(&names).await;
    fixture.servers.is_busy.store(true, Ordering::Relaxed);
    for name in &names {
        fixture.servers.set(name, Behaviour::hanging());
    }
    let pending = fixture.hub.ensure_known().await;
    assert_eq!(pending.discovering.len(), names.len(), "all are named");
    let started = || fixture.servers.starts.lock().unwrap().len();
    assert_eq!(started(), width.min(64));
    let (starting, waiting) = fixture.hub.starts();
    assert_eq!(
        (starting.len(), starting.len() + waiting),
        (width.min(64), names.len())
    );
    assert!(starting[0].elapsed >= Duration::from_secs(1));

    for name in &names {
        fixture.servers.tools(name, &["one"]);
    }
    wait_until("all are discovered, one after the other", LONG, || {
        fixture.tools().len() == names.len()
    })
    .await;
    assert_eq!(fixture.hub.starts().1, 0);
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_an_idle_machine_starts_all_servers_within_a_moment() {
    let names = names(50);
    let fixture = bench_of(&names).await;
    for name in &names {
        fixture.servers.set(name, Behaviour::hanging());
    }
    let begun = Instant::now();
    fixture.hub.session_started();
    let started = || fixture.servers.starts.lock().unwrap().len();
    wait_until("all start", LONG, || started() == names.len()).await;
    assert!(
        begun.elapsed() < Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_a_call_starts_its_server_ahead_of_the_queue() {
    let names = names(processors() * 2 + 2);
    let fixture = bench_of(&names).await;
    fixture.servers.is_busy.store(true, Ordering::Relaxed);
    for name in &names {
        fixture.servers.set(name, Behaviour::hanging());
    }
    fixture.hub.session_started();
    let last = names.last().unwrap();
    wait_until("it waits for its turn", LONG, || {
        fixture.hub.starts().1 == 2
    })
    .await;
    assert_eq!(fixture.servers.started(last), 0);
    fixture.servers.tools(last, &["one"]);
    let begun = Instant::now();
    fixture
        .hub
        .call(&call(&format!("{last}__one")))
        .await
        .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_a_server_that_failed_is_never_waited_for_again() {
    let mut hanging = spec("bad");
    hanging.timeouts.discovery = Duration::from_secs(1);
    let fixture = HubFixture::with(vec![hanging.clone()], HubSettings::default()).await;
    fixture.servers.set("bad", Behaviour::hanging());
    let begun = Instant::now();
    fixture.hub.ensure_known().await;
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "the first try is waited for"
    );
    assert_eq!(fixture.entry("bad").status(), DiscoveryStatus::Failed);

    // Far beyond its TTL, in this process and the next.
    fixture.clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    fixture.hub.ensure_known().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(fixture.servers.started("bad"), 1);
    fixture.hub.refresh_stale_in_background();
    wait_until("it is retried in the background", LONG, || {
        fixture.hub.health()[0].failures == 2
    })
    .await;
    fixture.hub.shutdown().await;

    fixture.clock.advance(Duration::from_secs(3600));
    let next = fixture.reopened(vec![hanging]).await;
    next.servers.set("bad", Behaviour::hanging());
    let begun = Instant::now();
    next.hub.ensure_known().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(next.servers.started("bad"), 0);
    next.hub.refresh_stale_in_background();
    wait_until("it is retried in the background", LONG, || {
        next.servers.started("bad") == 1
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_a_server_that_overran_the_deadline_is_not_waited_for_by_the_next_process() {
    let fixture = HubFixture::new(&["slow"]).await;
    fixture.servers.set("slow", Behaviour::hanging());
    assert_eq!(
        fixture.hub.ensure_known().await.discovering,
        [server("slow")]
    );
    fixture.hub.shutdown().await;

    let next = fixture.reopened(vec![spec("slow")]).await;
    next.servers.set("slow", Behaviour::hanging());
    let begun = Instant::now();
    next.hub.ensure_known().await;
    assert_eq!(
        begun.elapsed(),
        Duration::ZERO,
        "another process waited before"
    );
    assert_eq!(next.entry("slow").status(), DiscoveryStatus::Never);
    assert_eq!(next.servers.started("slow"), 0);

    // A session discovers it in the background, and a call for it waits.
    next.servers.tools("slow", &["one"]);
    next.hub.session_started();
    wait_until("it is discovered", LONG, || next.tools() == ["slow__one"]).await;
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_an_unfinished_attempt_does_not_count_as_a_discovery() {
    let fixture = HubFixture::new(&["slow"]).await;
    fixture.servers.set("slow", Behaviour::hanging());
    fixture.hub.ensure_known().await;
    // Waits for the first one's discovery lock, which is released without a list.
    let next = fixture.reopened(vec![spec("slow")]).await;
    next.servers.tools("slow", &["one"]);
    let hub = next.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await.unwrap() });
    wait_until("it waits", LONG, || next.hub.starts().0.len() == 1).await;
    fixture.hub.shutdown().await;
    let outcomes = asked.await.unwrap();
    assert_eq!(outcomes[0].result.as_ref().unwrap().tools, 1);
}

#[tokio::test(start_paused = true)]
async fn r_disc_13_time_outs_are_retried_in_the_background_with_growing_pauses() {
    let mut slow = spec("slow");
    slow.timeouts.discovery = Duration::from_secs(1);
    let fixture = HubFixture::with(vec![slow], HubSettings::default()).await;
    fixture.servers.set("slow", Behaviour::hanging());
    fixture.hub.session_started();
    let failures = || fixture.hub.health()[0].failures;
    wait_until("the first try is over", LONG, || failures() == 1).await;
    let mut tries = Vec::new();
    for second in 1..=400 {
        fixture.clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = fixture.servers.started("slow");
        fixture.hub.refresh_stale_in_background();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if fixture.servers.started("slow") > before {
            tries.push(second);
        }
    }
    let pauses: Vec<_> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(tries[0] >= 29 && tries[0] <= 32, "{tries:?}");
    assert!(pauses[0] >= 59 && pauses[0] <= 63, "{tries:?}");
    assert!(pauses[1] >= 119 && pauses[1] <= 123, "{tries:?}");
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_without_a_need_nothing_is_retried() {
    let fixture = HubFixture::new(&["bad"]).await;
    fixture
        .servers
        .set("bad", Behaviour::failing(Reason::SpawnNotFound));
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    fixture.clock.advance(Duration::from_secs(24 * 3600));
    fixture.hub.refresh_stale_in_background();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(fixture.servers.started("bad"), 1, "no client is there");
    fixture.hub.discover_unknown_in_background();
    wait_until("a need retries it", LONG, || {
        fixture.servers.started("bad") == 2
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn r_disc_03_the_strict_rule_does_not_wait_for_a_server_that_failed() {
    let fixture = HubFixture::strict("a").await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.servers.set("a", Behaviour::hanging());
    fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    fixture.clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    fixture.hub.ensure_known().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(fixture.tools(), ["a__one"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_renewed_does_not_keep_its_server_running() {
    for announces in [false, true] {
        let mut short = spec("a");
        short.ttl = Duration::from_secs(1);
        short.timeouts.idle = Duration::from_secs(5);
        let fixture = HubFixture::with(vec![short], HubSettings::default()).await;
        fixture.servers.tools("a", &["one"]);
        fixture.hub.call(&call("a__one")).await.unwrap();
        let begun = Instant::now();
        while fixture.servers.is_running("a") && begun.elapsed() < LONG {
            fixture.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(900)).await;
            fixture.hub.refresh_stale_in_background();
            if announces && fixture.servers.is_running("a") {
                fixture.servers.announce_change("a");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(fixture.servers.listed("a") > 3, "its list was renewed");
        let ran = begun.elapsed();
        assert!(ran >= Duration::from_secs(4), "{ran:?}");
        assert!(
            ran <= Duration::from_secs(7),
            "{ran:?}, announces: {announces}"
        );
    }
}

#[tokio::test]
async fn r_disc_08_an_edited_definition_is_compared_with_the_list_before() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["kept", "gone", "other"]);
    fixture.hub.ensure_known().await;
    fixture.hub.shutdown().await;

    let edited = with_env(spec("a"), "VERSION", "2");
    let next = fixture.reopened(vec![edited]).await;
    let mut other = tool_json("other");
    other["description"] = "Does something else.".into();
    let tools = vec![tool_json("kept"), other, tool_json("new")];
    next.servers.set(
        "a",
        Behaviour {
            tools,
            ..Behaviour::default()
        },
    );
    assert!(
        next.tools().is_empty(),
        "never served under another definition"
    );
    let outcomes = next.hub.refresh(RefreshScope::All, false).await.unwrap();
    let delta = &outcomes[0].result.as_ref().unwrap().delta;
    assert_eq!(
        (delta.added.as_slice(), delta.removed.as_slice()),
        (&["new".to_owned()][..], &["gone".to_owned()][..])
    );
    assert_eq!(delta.changed[0].name, "other");
    assert_eq!(delta.unchanged, 1);
    let last = next.hub.last_delta(&server("a")).unwrap();
    assert_eq!(*last.delta, *delta);
}

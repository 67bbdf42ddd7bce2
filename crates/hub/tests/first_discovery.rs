//! The first discovery of servers: how many start concurrently, which callers wait for them, and when they are
//! retried.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops where something is not as it should be"
)]

mod fake;

use std::sync::atomic::Ordering;
use std::time::Duration;

use fake::{Behaviour, Bench, spec};
use pegboard_hub::{CallRequest, HubSettings, RefreshScope, SessionId};
use pegboard_model::{DiscoveryStatus, Reason};
use pegboard_testkit::{server, tool_json, wait_until, with_env};
use pegboard_upstream::processors;
use tokio::time::Instant;

const LONG: Duration = Duration::from_secs(60);

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("s{n:02}")).collect()
}

async fn bench_of(names: &[String]) -> Bench {
    let specs = names.iter().map(|name| spec(name)).collect();
    Bench::with(specs, HubSettings::default()).await
}

fn call(tool: &str) -> CallRequest {
    let arguments = serde_json::value::RawValue::from_string("{}".into()).unwrap();
    CallRequest::new(SessionId("test".into()), tool, arguments)
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_a_busy_machine_starts_twice_as_many_servers_as_it_has_processors() {
    let width = processors() * 2;
    let names = names(width * 3);
    let bench = bench_of(&names).await;
    bench.servers.is_busy.store(true, Ordering::Relaxed);
    for name in &names {
        bench.servers.set(name, Behaviour::hanging());
    }
    let pending = bench.hub.ensure_known().await;
    assert_eq!(pending.discovering.len(), names.len(), "all are named");
    let started = || bench.servers.starts.lock().unwrap().len();
    assert_eq!(started(), width.min(64));
    let (starting, waiting) = bench.hub.starts();
    assert_eq!(
        (starting.len(), starting.len() + waiting),
        (width.min(64), names.len())
    );
    assert!(starting[0].elapsed >= Duration::from_secs(1));

    for name in &names {
        bench.servers.tools(name, &["one"]);
    }
    wait_until("all are discovered, one after the other", LONG, || {
        bench.tools().len() == names.len()
    })
    .await;
    assert_eq!(bench.hub.starts().1, 0);
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_an_idle_machine_starts_all_servers_within_a_moment() {
    let names = names(50);
    let bench = bench_of(&names).await;
    for name in &names {
        bench.servers.set(name, Behaviour::hanging());
    }
    let begun = Instant::now();
    bench.hub.session_started();
    let started = || bench.servers.starts.lock().unwrap().len();
    wait_until("all start", LONG, || started() == names.len()).await;
    assert!(
        begun.elapsed() < Duration::from_millis(200),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn r_disc_02_a_call_starts_its_server_ahead_of_those_that_nobody_waits_for() {
    let names = names(processors() * 2 + 2);
    let bench = bench_of(&names).await;
    bench.servers.is_busy.store(true, Ordering::Relaxed);
    for name in &names {
        bench.servers.set(name, Behaviour::hanging());
    }
    bench.hub.session_started();
    let last = names.last().unwrap();
    wait_until("it waits for its turn", LONG, || bench.hub.starts().1 == 2).await;
    assert_eq!(bench.servers.started(last), 0);
    bench.servers.tools(last, &["one"]);
    let begun = Instant::now();
    bench
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
    let bench = Bench::with(vec![hanging.clone()], HubSettings::default()).await;
    bench.servers.set("bad", Behaviour::hanging());
    let begun = Instant::now();
    bench.hub.ensure_known().await;
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "the first try is waited for"
    );
    assert_eq!(bench.entry("bad").status(), DiscoveryStatus::Failed);

    // Far beyond its TTL, in this process and the next.
    bench.clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    bench.hub.ensure_known().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(bench.servers.started("bad"), 1);
    bench.hub.refresh_stale_in_background();
    wait_until("it is retried in the background", LONG, || {
        bench.hub.health()[0].failures == 2
    })
    .await;
    bench.hub.shutdown().await;

    bench.clock.advance(Duration::from_secs(3600));
    let next = bench.reopened(vec![hanging]).await;
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
    let bench = Bench::new(&["slow"]).await;
    bench.servers.set("slow", Behaviour::hanging());
    assert_eq!(bench.hub.ensure_known().await.discovering, [server("slow")]);
    bench.hub.shutdown().await;

    let next = bench.reopened(vec![spec("slow")]).await;
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
async fn r_disc_01_a_try_that_did_not_end_is_no_discovery_of_another_process() {
    let bench = Bench::new(&["slow"]).await;
    bench.servers.set("slow", Behaviour::hanging());
    bench.hub.ensure_known().await;
    // Waits for the first one's discovery lock, which is released without a list.
    let next = bench.reopened(vec![spec("slow")]).await;
    next.servers.tools("slow", &["one"]);
    let hub = next.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, true).await.unwrap() });
    wait_until("it waits", LONG, || next.hub.starts().0.len() == 1).await;
    bench.hub.shutdown().await;
    let outcomes = asked.await.unwrap();
    assert_eq!(outcomes[0].result.as_ref().unwrap().tools, 1);
}

#[tokio::test(start_paused = true)]
async fn r_disc_13_time_outs_are_retried_in_the_background_with_growing_pauses() {
    let mut slow = spec("slow");
    slow.timeouts.discovery = Duration::from_secs(1);
    let bench = Bench::with(vec![slow], HubSettings::default()).await;
    bench.servers.set("slow", Behaviour::hanging());
    bench.hub.session_started();
    let failures = || bench.hub.health()[0].failures;
    wait_until("the first try is over", LONG, || failures() == 1).await;
    let mut tries = Vec::new();
    for second in 1..=400 {
        bench.clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = bench.servers.started("slow");
        bench.hub.refresh_stale_in_background();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if bench.servers.started("slow") > before {
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
    let bench = Bench::new(&["bad"]).await;
    bench
        .servers
        .set("bad", Behaviour::failing(Reason::SpawnNotFound));
    bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    bench.clock.advance(Duration::from_secs(24 * 3600));
    bench.hub.refresh_stale_in_background();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.servers.started("bad"), 1, "no client is there");
    bench.hub.discover_unknown_in_background();
    wait_until("a need retries it", LONG, || {
        bench.servers.started("bad") == 2
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn r_disc_03_the_strict_rule_does_not_wait_for_a_server_that_failed() {
    let bench = Bench::strict("a").await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.servers.set("a", Behaviour::hanging());
    bench
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    bench.clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    bench.hub.ensure_known().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(bench.tools(), ["a__one"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_renewed_does_not_keep_its_server_running() {
    for announces in [false, true] {
        let mut short = spec("a");
        short.ttl = Duration::from_secs(1);
        short.timeouts.idle = Duration::from_secs(5);
        let bench = Bench::with(vec![short], HubSettings::default()).await;
        bench.servers.tools("a", &["one"]);
        bench.hub.call(&call("a__one")).await.unwrap();
        let begun = Instant::now();
        while bench.servers.is_running("a") && begun.elapsed() < LONG {
            bench.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(900)).await;
            bench.hub.refresh_stale_in_background();
            if announces && bench.servers.is_running("a") {
                bench.servers.announce_change("a");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(bench.servers.listed("a") > 3, "its list was renewed");
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
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["kept", "gone", "other"]);
    bench.hub.ensure_known().await;
    bench.hub.shutdown().await;

    let edited = with_env(spec("a"), "VERSION", "2");
    let next = bench.reopened(vec![edited]).await;
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

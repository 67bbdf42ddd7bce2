//! When servers are discovered, and how their lists are processed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops where something is not as it should be"
)]

mod fake;

use std::sync::Arc;
use std::time::Duration;

use fake::{Behaviour, Bench, Servers, event_names, spec, wait_for};
use pegboard_hub::{DiscoverySource, HubSettings, RefreshOnStart, RefreshScope};
use pegboard_model::{ActivityKind, DiscoveryStatus, EventKind, Reason};
use pegboard_store::{SqliteStore, StateDir};
use pegboard_testkit::{FakeClock, server, tool_json, wait_until, with_env};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn r_disc_01_nothing_starts_until_tools_are_needed_and_not_known() {
    let bench = Bench::new(&["a", "b"]).await;
    bench.servers.tools("a", &["one"]);
    bench.servers.tools("b", &["two"]);
    assert!(bench.tools().is_empty());
    assert!(
        bench.servers.starts.lock().unwrap().is_empty(),
        "opening starts nothing"
    );

    let pending = bench.hub.ensure_known().await;
    assert!(pending.discovering.is_empty());
    assert_eq!(bench.tools(), ["a__one", "b__two"]);

    bench.hub.ensure_known().await;
    assert_eq!(
        bench.servers.started("a"),
        1,
        "a known server is not asked again"
    );
    let stats = bench.hub.stats();
    assert_eq!((stats.hits, stats.misses, stats.tools), (2, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_a_server_that_hangs_is_waited_for_once() {
    let bench = Bench::new(&["slow"]).await;
    let hanging = Behaviour {
        hang: true,
        ..Behaviour::default()
    };
    bench.servers.set("slow", hanging);
    bench.hub.ensure_known().await;
    let begun = tokio::time::Instant::now();
    let pending = bench.hub.ensure_known().await;
    assert_eq!(pending.discovering, [server("slow")]);
    assert_eq!(begun.elapsed(), Duration::ZERO, "it was waited for before");
}

#[tokio::test]
async fn r_disc_01_the_answer_waits_for_a_short_deadline_and_names_the_rest() {
    let settings = HubSettings {
        answer_deadline: Duration::from_millis(100),
        ..HubSettings::default()
    };
    let bench = Bench::with(vec![spec("quick"), spec("slow")], settings).await;
    bench.servers.tools("quick", &["one"]);
    bench.servers.set(
        "slow",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );

    let pending = bench.hub.ensure_known().await;
    assert_eq!(pending.discovering, [server("slow")]);
    assert_eq!(bench.tools(), ["quick__one"]);
    assert_eq!(bench.entry("slow").status(), DiscoveryStatus::Discovering);

    bench.servers.tools("slow", &["late"]);
    wait_until("the slow server arrives by itself", LONG, || {
        bench.tools().len() == 2
    })
    .await;
    assert_eq!(bench.servers.started("slow"), 1);
}

#[tokio::test]
async fn r_disc_02_one_servers_failure_breaks_no_other() {
    let mut hanging = spec("hangs");
    hanging.timeouts.discovery = Duration::from_millis(100);
    let bench = Bench::with(
        vec![spec("good"), hanging, spec("bad")],
        HubSettings::default(),
    )
    .await;
    bench.servers.tools("good", &["one"]);
    bench.servers.set(
        "hangs",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let fail_connect = Some(Reason::SpawnNotFound);
    bench.servers.set(
        "bad",
        Behaviour {
            fail_connect,
            ..Behaviour::default()
        },
    );

    let outcomes = bench.hub.refresh(RefreshScope::All, false).await.unwrap();
    let reasons: Vec<_> = outcomes
        .iter()
        .map(|o| o.result.as_ref().err().map(|e| e.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            Some(Reason::SpawnNotFound),
            None,
            Some(Reason::DiscoveryTimeout)
        ]
    );
    assert_eq!(bench.tools(), ["good__one"]);
}

#[tokio::test]
async fn r_disc_03_a_failed_discovery_keeps_the_known_tools_and_marks_them_stale() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one", "two"]);
    bench.hub.ensure_known().await;
    let fail_list = Some(Reason::PaginationLoop);
    bench.servers.set(
        "a",
        Behaviour {
            fail_list,
            ..Behaviour::default()
        },
    );

    let outcomes = bench
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert_eq!(
        outcomes[0].result.as_ref().unwrap_err().reason,
        Reason::PaginationLoop
    );
    assert_eq!(bench.tools(), ["a__one", "a__two"]);
    let entry = bench.entry("a");
    assert!(entry.stale);
    assert_eq!(entry.status(), DiscoveryStatus::Failed);
    assert_eq!(
        entry.record.last_error.as_ref().unwrap().reason,
        Reason::PaginationLoop
    );

    bench.servers.tools("a", &["one"]);
    bench
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert!(!bench.entry("a").stale);
    assert_eq!(bench.entry("a").record.last_error, None);
}

#[tokio::test]
async fn r_disc_04_status_time_and_error_follow_each_discovery() {
    let bench = Bench::new(&["a"]).await;
    assert_eq!(bench.entry("a").status(), DiscoveryStatus::Never);
    bench.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let hub = bench.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, false).await });
    wait_until("it is being discovered", LONG, || {
        bench.entry("a").status() == DiscoveryStatus::Discovering
    })
    .await;
    bench.servers.tools("a", &["one"]);
    asked.await.unwrap().unwrap();
    let entry = bench.entry("a");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert_eq!(entry.record.discovered_at.unwrap().0, 1_000_000_000);
}

#[tokio::test]
async fn r_disc_05_a_changed_definition_is_discovered_anew_and_old_tools_are_not_served() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["old"]);
    bench.hub.ensure_known().await;
    bench.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let redefined = with_env(spec("a"), "TOKEN", "other");
    let change = bench.hub.apply([redefined]).await;
    assert_eq!(change.redefined, [server("a")]);
    assert!(
        bench.tools().is_empty(),
        "never served under another definition"
    );
    bench.servers.tools("a", &["new"]);
    wait_until("the new definition is discovered", LONG, || {
        bench.tools() == ["a__new"]
    })
    .await;

    let change = bench.hub.apply([spec("a")]).await;
    assert_eq!(change.redefined, [server("a")]);
    assert_eq!(
        bench.tools(),
        ["a__old"],
        "the first definition's tools were kept"
    );
}

#[tokio::test]
async fn r_disc_06_a_server_started_for_its_list_is_stopped_and_a_running_one_asked_in_place() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    wait_until("it is stopped", LONG, || !bench.servers.is_running("a")).await;

    bench.hub.call(&fake_call("a__one")).await.unwrap();
    assert!(bench.servers.is_running("a"));
    bench
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert!(bench.servers.is_running("a"));
    assert_eq!(
        bench.servers.started("a"),
        2,
        "once for the list, once for the call"
    );
    assert_eq!(bench.servers.listed("a"), 2);
}

#[tokio::test]
async fn r_disc_07_a_session_start_asks_in_the_background_what_the_setting_says() {
    for (setting, expected) in [
        (RefreshOnStart::Unknown, ["new"].as_slice()),
        (RefreshOnStart::Stale, ["new", "stale"].as_slice()),
        (RefreshOnStart::All, ["fresh", "new", "stale"].as_slice()),
    ] {
        let settings = HubSettings {
            refresh_on_start: setting,
            ..HubSettings::default()
        };
        let mut patient = spec("fresh");
        patient.ttl = Duration::from_secs(7200);
        let specs = vec![patient, spec("stale"), spec("new")];
        let bench = Bench::with(specs, settings).await;
        for name in ["fresh", "stale"] {
            bench
                .hub
                .refresh(RefreshScope::One(server(name)), true)
                .await
                .unwrap();
        }
        bench.servers.starts.lock().unwrap().clear();
        bench.clock.advance(Duration::from_secs(3600));
        bench.hub.session_started();
        let mut starts = Vec::new();
        wait_until("the background has asked", LONG, || {
            starts = bench.servers.starts.lock().unwrap().clone();
            starts.len() >= expected.len()
        })
        .await;
        starts.sort();
        assert_eq!(starts, expected, "{setting:?}");
    }
}

#[tokio::test]
async fn r_disc_07_list_changed_is_followed_at_once_and_floods_are_coalesced() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.hub.call(&fake_call("a__one")).await.unwrap();
    bench.servers.tools("a", &["one", "two"]);
    bench.servers.announce_change("a");
    wait_until("the change is seen", LONG, || bench.tools().len() == 2).await;

    let before = bench.servers.listed("a");
    for _ in 0..1000 {
        bench.servers.announce_change("a");
        tokio::task::yield_now().await;
    }
    wait_until("the flood is followed", LONG, || {
        bench.servers.listed("a") > before
    })
    .await;
    bench.servers.tools("a", &["one", "two", "three"]);
    bench.servers.announce_change("a");
    wait_until("a later change is seen", LONG, || bench.tools().len() == 3).await;
    let more = bench.servers.listed("a") - before;
    assert!(
        (2..=5).contains(&more),
        "{more} lists for a thousand and one notices"
    );
}

#[tokio::test]
async fn r_disc_08_refresh_gives_the_delta_and_force_passes_the_ttl() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["kept", "gone", "other"]);
    bench.hub.ensure_known().await;
    let mut other = tool_json("other");
    other["description"] = "Does something else.".into();
    let tools = vec![tool_json("kept"), other, tool_json("new")];
    bench.servers.set(
        "a",
        Behaviour {
            tools,
            ..Behaviour::default()
        },
    );

    let fresh = bench.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(fresh[0].source, DiscoverySource::Fresh);
    let forced = bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    let delta = &forced[0].result.as_ref().unwrap().delta;
    assert_eq!(delta.added, ["new"]);
    assert_eq!(delta.removed, ["gone"]);
    assert_eq!(delta.changed[0].name, "other");
    assert_eq!(delta.changed[0].fields, ["description"]);
    assert_eq!(delta.unchanged, 1);
}

#[tokio::test]
async fn r_disc_09_a_server_without_tools_is_a_success_with_zero_tools() {
    let bench = Bench::new(&["empty"]).await;
    bench.hub.ensure_known().await;
    let entry = bench.entry("empty");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert!(entry.record.tools.is_empty() && !entry.stale);
    bench.hub.ensure_known().await;
    assert_eq!(bench.servers.started("empty"), 1);
}

#[tokio::test]
async fn r_disc_10_a_disabled_servers_tools_leave_at_once_and_are_kept() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.hub.call(&fake_call("a__one")).await.unwrap();
    let mut events = bench.hub.subscribe();
    let mut disabled = spec("a");
    disabled.enabled = false;
    bench.hub.apply([disabled]).await;
    assert!(bench.tools().is_empty());
    assert!(!bench.servers.is_running("a"));
    let is_removal = |kind: &EventKind| matches!(kind, EventKind::ServerRemoved { .. });
    wait_for(&mut events, is_removal).await;

    let starts = bench.servers.started("a");
    bench.hub.apply([spec("a")]).await;
    assert_eq!(bench.tools(), ["a__one"]);
    assert_eq!(
        bench.servers.started("a"),
        starts,
        "re-enabling contacts no server"
    );
}

#[tokio::test]
async fn r_disc_11_concurrent_askers_share_one_discovery() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let callers: Vec<_> = (0..100)
        .map(|_| {
            let hub = bench.hub.clone();
            tokio::spawn(async move { hub.refresh(RefreshScope::One(server("a")), true).await })
        })
        .collect();
    wait_until("it was started", LONG, || bench.servers.started("a") > 0).await;
    bench.servers.tools("a", &["one"]);
    for caller in callers {
        assert_eq!(
            caller.await.unwrap().unwrap()[0]
                .result
                .as_ref()
                .unwrap()
                .tools,
            1
        );
    }
    assert_eq!(bench.servers.started("a"), 1);
}

#[tokio::test]
async fn r_disc_11_two_hubs_on_one_store_start_a_cold_server_once() {
    let first = Bench::new(&["a"]).await;
    let second = first.reopened(vec![spec("a")]).await;
    first.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    second.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let (one, two) = (first.hub.clone(), second.hub.clone());
    let one = tokio::spawn(async move { one.refresh(RefreshScope::All, true).await.unwrap() });
    let two = tokio::spawn(async move { two.refresh(RefreshScope::All, true).await.unwrap() });
    let starts = || first.servers.started("a") + second.servers.started("a");
    wait_until("one of them starts it", LONG, || starts() > 0).await;
    first.servers.tools("a", &["one"]);
    second.servers.tools("a", &["one"]);
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    assert_eq!(starts(), 1);
    assert_eq!(first.tools(), ["a__one"]);
    assert_eq!(second.tools(), ["a__one"]);
    let sources = [one[0].source, two[0].source];
    assert!(
        sources.contains(&DiscoverySource::Asked) && sources.contains(&DiscoverySource::Shared),
        "{sources:?}"
    );
}

#[tokio::test]
async fn r_disc_12_a_servers_own_ttl_is_honoured() {
    let bench = Bench::new(&["a"]).await;
    let behaviour = Behaviour {
        tools: vec![tool_json("one")],
        ttl_ms: Some(3_600_000),
        ..Behaviour::default()
    };
    bench.servers.set("a", behaviour);
    bench.hub.ensure_known().await;
    bench.clock.advance(Duration::from_secs(3000));
    let outcomes = bench.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Fresh);
    bench.clock.advance(Duration::from_secs(700));
    assert_eq!(bench.hub.mark_stale(), 1);
    assert!(bench.entry("a").stale);
    let outcomes = bench.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Asked);
}

#[tokio::test]
async fn reading_starts_no_known_server_until_it_is_very_old() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.clock.advance(Duration::from_secs(3600));
    bench.hub.refresh_stale_in_background();
    bench.hub.ensure_known().await;
    assert_eq!(
        bench.servers.started("a"),
        1,
        "stale and stopped: left alone"
    );

    let mut events = bench.hub.subscribe();
    bench.clock.advance(Duration::from_secs(24 * 3600));
    bench.hub.refresh_stale_in_background();
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ServerDiscovered { .. })
    })
    .await;
    assert_eq!(
        bench.servers.started("a"),
        2,
        "older than max_age: asked in the background"
    );
}

#[tokio::test]
async fn r_store_01_k09_a_clock_that_jumps_starts_no_storm_and_leaves_nothing_for_years() {
    const NOW: u64 = 1_000_000_000;
    const TEN_YEARS: u64 = 10 * 365 * 24 * 3600 * 1000;
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    let mut events = bench.hub.subscribe();
    bench.clock.set(NOW + TEN_YEARS);
    for _ in 0..100 {
        bench.hub.refresh_stale_in_background();
    }
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ServerDiscovered { .. })
    })
    .await;
    bench.hub.refresh_stale_in_background();
    assert_eq!(bench.servers.started("a"), 2, "one refresh for all needs");

    bench.clock.set(NOW);
    bench.hub.mark_stale();
    assert!(bench.entry("a").stale, "not fresh for ten years");
    let outcomes = bench.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Asked);
    assert!(!bench.entry("a").stale);
}

#[tokio::test]
async fn the_strict_rule_refreshes_before_it_answers() {
    let bench = Bench::strict("a").await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.servers.tools("a", &["one", "two"]);
    bench.clock.advance(Duration::from_secs(301));
    bench.hub.ensure_known().await;
    assert_eq!(bench.tools(), ["a__one", "a__two"]);
}

#[tokio::test]
async fn r_store_02_after_a_restart_the_catalog_is_there_and_the_era_is_remembered() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.hub.ensure_known().await;
    bench.hub.shutdown().await;

    let again = bench.reopened(vec![spec("a"), spec("b")]).await;
    assert_eq!(again.tools(), ["a__one"]);
    assert!(again.servers.starts.lock().unwrap().is_empty());
    again
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert_eq!(
        *again.servers.hints.lock().unwrap(),
        [Some(pegboard_model::Era::Modern)]
    );
}

#[tokio::test]
async fn r_store_04_invalidate_and_clear_forget_what_is_known() {
    let bench = Bench::new(&["a", "b"]).await;
    bench.servers.tools("a", &["one"]);
    bench.servers.tools("b", &["two"]);
    bench.hub.ensure_known().await;
    assert!(bench.hub.invalidate(&server("a")).await.unwrap());
    assert_eq!(bench.tools(), ["b__two"]);
    assert_eq!(bench.entry("a").status(), DiscoveryStatus::Never);
    assert_eq!(bench.hub.clear().await.unwrap(), 1);
    assert!(bench.tools().is_empty());
    assert!(bench.hub.stats().servers.is_empty());
    assert!(
        bench
            .reopened(vec![spec("a"), spec("b")])
            .await
            .tools()
            .is_empty()
    );
}

#[tokio::test]
async fn r_cfg_01_hot_reload_adds_and_removes_servers() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one"]);
    bench.servers.tools("b", &["two"]);
    bench.hub.ensure_known().await;
    let change = bench.hub.apply([spec("a"), spec("b")]).await;
    assert_eq!(change.added, [server("b")]);
    wait_until("the new server is discovered", LONG, || {
        bench.tools().len() == 2
    })
    .await;
    let change = bench.hub.apply([spec("b")]).await;
    assert_eq!(change.removed, [server("a")]);
    assert_eq!(bench.tools(), ["b__two"]);
    assert!(bench.hub.apply([spec("b")]).await.is_empty());
}

fn fake_call(tool: &str) -> pegboard_hub::CallRequest {
    let arguments = serde_json::value::RawValue::from_string("{}".into()).unwrap();
    pegboard_hub::CallRequest::new(pegboard_hub::SessionId("test".into()), tool, arguments)
}

#[tokio::test]
async fn r_sec_02_activity_says_which_tools_of_a_known_server_a_discovery_changed() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.tools("a", &["one", "two"]);
    bench.hub.ensure_known().await;
    let mut changed = tool_json("one");
    changed["description"] = "Now it does something else.".into();
    let tools =
        std::iter::once(changed).chain((1..=7).map(|n| tool_json(&format!("n{n}\u{202e}"))));
    let behaviour = Behaviour {
        tools: tools.collect(),
        ..Behaviour::default()
    };
    bench.servers.set("a", behaviour);
    for _ in 0..2 {
        bench
            .hub
            .refresh(RefreshScope::One(server("a")), true)
            .await
            .unwrap();
    }
    bench.hub.shutdown().await;
    let lines = bench.hub.activity(100, None).await.unwrap();
    let emitted: Vec<_> = lines
        .iter()
        .filter(|line| line.kind == ActivityKind::Discovery)
        .map(|line| (&*line.outcome, line.tool.as_deref()))
        .collect();
    let changes = "1 changed: one; 7 added: n1\\u{202e}, n2\\u{202e}, n3\\u{202e}, n4\\u{202e}, n5\\u{202e}, …; \
                   1 removed: two";
    // Newest first: no change, the change, and the first discovery.
    assert_eq!(
        emitted,
        [("ok", None), ("changed", Some(changes)), ("ok", None)]
    );
}

#[tokio::test]
async fn r_store_05_a_list_that_was_not_stored_is_served_and_reported_until_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let (store, _) = SqliteStore::open(&state).unwrap();
    let clock = Arc::new(FakeClock::at(1_000_000_000));
    let (specs, settings) = (vec![spec("a")], HubSettings::default());
    let bench = Bench::over(specs, settings, Servers::new(), Arc::new(store), clock).await;
    bench.servers.tools("a", &["one"]);
    let mut events = bench.hub.subscribe();
    // Not even root can write a record into a folder.
    let database = folder.path().join("pegboard.db");
    let aside = folder.path().join("aside");
    std::fs::rename(&database, &aside).unwrap();
    std::fs::create_dir(&database).unwrap();

    let outcomes = bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert_eq!(outcomes[0].result.as_ref().unwrap().tools, 1);
    let error = outcomes[0].not_stored.clone().unwrap();
    assert_eq!(error.reason, Reason::StoreIo);
    assert_eq!(bench.tools(), ["a__one"], "it is known nevertheless");
    let note = bench.hub.health()[0].not_stored.clone().unwrap();
    assert_eq!(note.reason, Reason::StoreIo);
    assert!(event_names(&mut events).contains("store.server.failed"));

    std::fs::remove_dir(&database).unwrap();
    std::fs::rename(&aside, &database).unwrap();
    let outcomes = bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert_eq!(outcomes[0].not_stored, None);
    assert_eq!(bench.hub.health()[0].not_stored, None);
    assert_eq!(bench.store.load().await.unwrap().records.len(), 1);
}

//! When servers are discovered, and how their lists are processed.

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

use fake::{Behaviour, HubFixture, Servers, event_names, spec, wait_for};
use pegboard_hub::{DiscoverySource, HubSettings, RefreshOnStart, RefreshScope};
use pegboard_model::{ActivityKind, DiscoveryStatus, EventKind, Reason};
use pegboard_store::{SqliteStore, StateDir};
use pegboard_testkit::{FakeClock, server, tool_json, wait_until, with_env};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn r_disc_01_nothing_starts_until_tools_are_needed_and_not_known() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    assert!(fixture.tools().is_empty());
    assert!(
        fixture.servers.starts.lock().unwrap().is_empty(),
        "opening starts nothing"
    );

    let pending = fixture.hub.ensure_known().await;
    assert!(pending.discovering.is_empty());
    assert_eq!(fixture.tools(), ["a__one", "b__two"]);

    fixture.hub.ensure_known().await;
    assert_eq!(
        fixture.servers.started("a"),
        1,
        "a known server is not asked again"
    );
    let stats = fixture.hub.stats();
    assert_eq!((stats.hits, stats.misses, stats.tools), (2, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_a_server_that_hangs_is_waited_for_once() {
    let fixture = HubFixture::new(&["slow"]).await;
    let hanging = Behaviour {
        hang: true,
        ..Behaviour::default()
    };
    fixture.servers.set("slow", hanging);
    fixture.hub.ensure_known().await;
    let begun = tokio::time::Instant::now();
    let pending = fixture.hub.ensure_known().await;
    assert_eq!(pending.discovering, [server("slow")]);
    assert_eq!(begun.elapsed(), Duration::ZERO, "it was waited for before");
}

#[tokio::test]
async fn r_disc_01_the_answer_waits_for_a_short_deadline_and_names_the_rest() {
    let settings = HubSettings {
        answer_deadline: Duration::from_millis(100),
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(vec![spec("quick"), spec("slow")], settings).await;
    fixture.servers.tools("quick", &["one"]);
    fixture.servers.set(
        "slow",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );

    let pending = fixture.hub.ensure_known().await;
    assert_eq!(pending.discovering, [server("slow")]);
    assert_eq!(fixture.tools(), ["quick__one"]);
    assert_eq!(fixture.entry("slow").status(), DiscoveryStatus::Discovering);

    fixture.servers.tools("slow", &["late"]);
    wait_until("the slow server arrives by itself", LONG, || {
        fixture.tools().len() == 2
    })
    .await;
    assert_eq!(fixture.servers.started("slow"), 1);
}

#[tokio::test]
async fn r_disc_02_one_servers_failure_breaks_no_other() {
    let mut hanging = spec("hangs");
    hanging.timeouts.discovery = Duration::from_millis(100);
    let fixture = HubFixture::with(
        vec![spec("good"), hanging, spec("bad")],
        HubSettings::default(),
    )
    .await;
    fixture.servers.tools("good", &["one"]);
    fixture.servers.set(
        "hangs",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let fail_connect = Some(Reason::SpawnNotFound);
    fixture.servers.set(
        "bad",
        Behaviour {
            fail_connect,
            ..Behaviour::default()
        },
    );

    let outcomes = fixture.hub.refresh(RefreshScope::All, false).await.unwrap();
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
    assert_eq!(fixture.tools(), ["good__one"]);
}

#[tokio::test]
async fn r_disc_03_a_failed_discovery_keeps_the_known_tools_and_marks_them_stale() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one", "two"]);
    fixture.hub.ensure_known().await;
    let fail_list = Some(Reason::PaginationLoop);
    fixture.servers.set(
        "a",
        Behaviour {
            fail_list,
            ..Behaviour::default()
        },
    );

    let outcomes = fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert_eq!(
        outcomes[0].result.as_ref().unwrap_err().reason,
        Reason::PaginationLoop
    );
    assert_eq!(fixture.tools(), ["a__one", "a__two"]);
    let entry = fixture.entry("a");
    assert!(entry.stale);
    assert_eq!(entry.status(), DiscoveryStatus::Failed);
    assert_eq!(
        entry.record.last_error.as_ref().unwrap().reason,
        Reason::PaginationLoop
    );

    fixture.servers.tools("a", &["one"]);
    fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert!(!fixture.entry("a").stale);
    assert_eq!(fixture.entry("a").record.last_error, None);
}

#[tokio::test]
async fn r_disc_04_status_time_and_error_follow_each_discovery() {
    let fixture = HubFixture::new(&["a"]).await;
    assert_eq!(fixture.entry("a").status(), DiscoveryStatus::Never);
    fixture.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.refresh(RefreshScope::All, false).await });
    wait_until("it is being discovered", LONG, || {
        fixture.entry("a").status() == DiscoveryStatus::Discovering
    })
    .await;
    fixture.servers.tools("a", &["one"]);
    asked.await.unwrap().unwrap();
    let entry = fixture.entry("a");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert_eq!(entry.record.discovered_at.unwrap().0, 1_000_000_000);
}

#[tokio::test]
async fn r_disc_05_a_changed_definition_is_discovered_again_and_old_tools_are_not_served() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["old"]);
    fixture.hub.ensure_known().await;
    fixture.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let redefined = with_env(spec("a"), "TOKEN", "other");
    let change = fixture.hub.apply([redefined]).await;
    assert_eq!(change.redefined, [server("a")]);
    assert!(
        fixture.tools().is_empty(),
        "never served under another definition"
    );
    fixture.servers.tools("a", &["new"]);
    wait_until("the new definition is discovered", LONG, || {
        fixture.tools() == ["a__new"]
    })
    .await;

    let change = fixture.hub.apply([spec("a")]).await;
    assert_eq!(change.redefined, [server("a")]);
    assert_eq!(
        fixture.tools(),
        ["a__old"],
        "the first definition's tools were kept"
    );
}

#[tokio::test]
async fn r_disc_06_a_server_started_for_discovery_is_stopped_and_a_running_one_is_reused() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    wait_until("it is stopped", LONG, || !fixture.servers.is_running("a")).await;

    fixture.hub.call(&fake_call("a__one")).await.unwrap();
    assert!(fixture.servers.is_running("a"));
    fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    assert!(fixture.servers.is_running("a"));
    assert_eq!(
        fixture.servers.started("a"),
        2,
        "once for the list, once for the call"
    );
    assert_eq!(fixture.servers.listed("a"), 2);
}

#[tokio::test]
async fn r_disc_07_a_session_start_refreshes_in_the_background_as_configured() {
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
        let fixture = HubFixture::with(specs, settings).await;
        for name in ["fresh", "stale"] {
            fixture
                .hub
                .refresh(RefreshScope::One(server(name)), true)
                .await
                .unwrap();
        }
        fixture.servers.starts.lock().unwrap().clear();
        fixture.clock.advance(Duration::from_secs(3600));
        fixture.hub.session_started();
        let mut starts = Vec::new();
        wait_until("the background has asked", LONG, || {
            starts = fixture.servers.starts.lock().unwrap().clone();
            starts.len() >= expected.len()
        })
        .await;
        starts.sort();
        assert_eq!(starts, expected, "{setting:?}");
    }
}

#[tokio::test]
async fn r_disc_07_list_changed_is_followed_at_once_and_floods_are_coalesced() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.hub.call(&fake_call("a__one")).await.unwrap();
    fixture.servers.tools("a", &["one", "two"]);
    fixture.servers.announce_change("a");
    wait_until("the change is seen", LONG, || fixture.tools().len() == 2).await;

    let before = fixture.servers.listed("a");
    for _ in 0..1000 {
        fixture.servers.announce_change("a");
        tokio::task::yield_now().await;
    }
    wait_until("the flood is followed", LONG, || {
        fixture.servers.listed("a") > before
    })
    .await;
    fixture.servers.tools("a", &["one", "two", "three"]);
    fixture.servers.announce_change("a");
    wait_until("a later change is seen", LONG, || {
        fixture.tools().len() == 3
    })
    .await;
    let more = fixture.servers.listed("a") - before;
    assert!(
        (2..=5).contains(&more),
        "{more} lists for a thousand and one notices"
    );
}

#[tokio::test]
async fn r_disc_08_refresh_gives_the_delta_and_force_passes_the_ttl() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["kept", "gone", "other"]);
    fixture.hub.ensure_known().await;
    let mut other = tool_json("other");
    other["description"] = "Does something else.".into();
    let tools = vec![tool_json("kept"), other, tool_json("new")];
    fixture.servers.set(
        "a",
        Behaviour {
            tools,
            ..Behaviour::default()
        },
    );

    let fresh = fixture.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(fresh[0].source, DiscoverySource::Fresh);
    let forced = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    let delta = &forced[0].result.as_ref().unwrap().delta;
    assert_eq!(delta.added, ["new"]);
    assert_eq!(delta.removed, ["gone"]);
    assert_eq!(delta.changed[0].name, "other");
    assert_eq!(delta.changed[0].fields, ["description"]);
    assert_eq!(delta.unchanged, 1);
}

#[tokio::test]
async fn r_disc_09_a_server_without_tools_is_a_success_with_zero_tools() {
    let fixture = HubFixture::new(&["empty"]).await;
    fixture.hub.ensure_known().await;
    let entry = fixture.entry("empty");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert!(entry.record.tools.is_empty() && !entry.stale);
    fixture.hub.ensure_known().await;
    assert_eq!(fixture.servers.started("empty"), 1);
}

#[tokio::test]
async fn r_disc_10_a_disabled_servers_tools_leave_at_once_and_are_kept() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.hub.call(&fake_call("a__one")).await.unwrap();
    let mut events = fixture.hub.subscribe();
    let mut disabled = spec("a");
    disabled.enabled = false;
    fixture.hub.apply([disabled]).await;
    assert!(fixture.tools().is_empty());
    assert!(!fixture.servers.is_running("a"));
    let is_removal = |kind: &EventKind| matches!(kind, EventKind::ServerRemoved { .. });
    wait_for(&mut events, is_removal).await;

    let starts = fixture.servers.started("a");
    fixture.hub.apply([spec("a")]).await;
    assert_eq!(fixture.tools(), ["a__one"]);
    assert_eq!(
        fixture.servers.started("a"),
        starts,
        "re-enabling contacts no server"
    );
}

#[tokio::test]
async fn r_disc_11_concurrent_callers_share_one_discovery() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set(
        "a",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    let callers: Vec<_> = (0..100)
        .map(|_| {
            let hub = fixture.hub.clone();
            tokio::spawn(async move { hub.refresh(RefreshScope::One(server("a")), true).await })
        })
        .collect();
    wait_until("it was started", LONG, || fixture.servers.started("a") > 0).await;
    fixture.servers.tools("a", &["one"]);
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
    assert_eq!(fixture.servers.started("a"), 1);
}

#[tokio::test]
async fn r_disc_11_two_hubs_on_one_store_start_a_cold_server_once() {
    let first = HubFixture::new(&["a"]).await;
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
        sources.contains(&DiscoverySource::Discovered)
            && sources.contains(&DiscoverySource::Shared),
        "{sources:?}"
    );
}

#[tokio::test]
async fn r_disc_12_a_servers_own_ttl_is_honoured() {
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        tools: vec![tool_json("one")],
        ttl_ms: Some(3_600_000),
        ..Behaviour::default()
    };
    fixture.servers.set("a", behaviour);
    fixture.hub.ensure_known().await;
    fixture.clock.advance(Duration::from_secs(3000));
    let outcomes = fixture.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Fresh);
    fixture.clock.advance(Duration::from_secs(700));
    assert_eq!(fixture.hub.mark_stale(), 1);
    assert!(fixture.entry("a").stale);
    let outcomes = fixture.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Discovered);
}

#[tokio::test]
async fn reading_starts_no_known_server_until_it_is_very_old() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.clock.advance(Duration::from_secs(3600));
    fixture.hub.refresh_stale_in_background();
    fixture.hub.ensure_known().await;
    assert_eq!(
        fixture.servers.started("a"),
        1,
        "stale and stopped: left alone"
    );

    let mut events = fixture.hub.subscribe();
    fixture.clock.advance(Duration::from_secs(24 * 3600));
    fixture.hub.refresh_stale_in_background();
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ServerDiscovered { .. })
    })
    .await;
    assert_eq!(
        fixture.servers.started("a"),
        2,
        "older than max_age: asked in the background"
    );
}

#[tokio::test]
async fn r_store_01_k09_a_clock_jump_starts_no_refresh_storm_and_blocks_no_refresh() {
    const NOW: u64 = 1_000_000_000;
    const TEN_YEARS: u64 = 10 * 365 * 24 * 3600 * 1000;
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    let mut events = fixture.hub.subscribe();
    fixture.clock.set(NOW + TEN_YEARS);
    for _ in 0..100 {
        fixture.hub.refresh_stale_in_background();
    }
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ServerDiscovered { .. })
    })
    .await;
    fixture.hub.refresh_stale_in_background();
    assert_eq!(fixture.servers.started("a"), 2, "one refresh for all needs");

    fixture.clock.set(NOW);
    fixture.hub.mark_stale();
    assert!(fixture.entry("a").stale, "not fresh for ten years");
    let outcomes = fixture.hub.refresh(RefreshScope::All, false).await.unwrap();
    assert_eq!(outcomes[0].source, DiscoverySource::Discovered);
    assert!(!fixture.entry("a").stale);
}

#[tokio::test]
async fn the_strict_rule_refreshes_before_it_answers() {
    let fixture = HubFixture::strict("a").await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.servers.tools("a", &["one", "two"]);
    fixture.clock.advance(Duration::from_secs(301));
    fixture.hub.ensure_known().await;
    assert_eq!(fixture.tools(), ["a__one", "a__two"]);
}

#[tokio::test]
async fn r_store_02_after_a_restart_the_catalog_is_there_and_the_era_is_remembered() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.hub.shutdown().await;

    let again = fixture.reopened(vec![spec("a"), spec("b")]).await;
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
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    fixture.hub.ensure_known().await;
    assert!(fixture.hub.invalidate(&server("a")).await.unwrap());
    assert_eq!(fixture.tools(), ["b__two"]);
    assert_eq!(fixture.entry("a").status(), DiscoveryStatus::Never);
    assert_eq!(fixture.hub.clear().await.unwrap(), 1);
    assert!(fixture.tools().is_empty());
    assert!(fixture.hub.stats().servers.is_empty());
    assert!(
        fixture
            .reopened(vec![spec("a"), spec("b")])
            .await
            .tools()
            .is_empty()
    );
}

#[tokio::test]
async fn r_cfg_01_hot_reload_adds_and_removes_servers() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    fixture.hub.ensure_known().await;
    let change = fixture.hub.apply([spec("a"), spec("b")]).await;
    assert_eq!(change.added, [server("b")]);
    wait_until("the new server is discovered", LONG, || {
        fixture.tools().len() == 2
    })
    .await;
    let change = fixture.hub.apply([spec("b")]).await;
    assert_eq!(change.removed, [server("a")]);
    assert_eq!(fixture.tools(), ["b__two"]);
    assert!(fixture.hub.apply([spec("b")]).await.is_empty());
}

fn fake_call(tool: &str) -> pegboard_hub::CallRequest {
    let arguments = serde_json::value::RawValue::from_string("{}".into()).unwrap();
    pegboard_hub::CallRequest::new(pegboard_hub::SessionId("test".into()), tool, arguments)
}

#[tokio::test]
async fn r_sec_02_activity_says_which_tools_of_a_known_server_a_discovery_changed() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one", "two"]);
    fixture.hub.ensure_known().await;
    let mut changed = tool_json("one");
    changed["description"] = "Now it does something else.".into();
    let tools =
        std::iter::once(changed).chain((1..=7).map(|n| tool_json(&format!("n{n}\u{202e}"))));
    let behaviour = Behaviour {
        tools: tools.collect(),
        ..Behaviour::default()
    };
    fixture.servers.set("a", behaviour);
    for _ in 0..2 {
        fixture
            .hub
            .refresh(RefreshScope::One(server("a")), true)
            .await
            .unwrap();
    }
    fixture.hub.shutdown().await;
    let lines = fixture.hub.activity(100, None).await.unwrap();
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
    let fixture = HubFixture::over(specs, settings, Servers::new(), Arc::new(store), clock).await;
    fixture.servers.tools("a", &["one"]);
    let mut events = fixture.hub.subscribe();
    // Not even root can write a record into a folder.
    let database = folder.path().join("pegboard.db");
    let aside = folder.path().join("aside");
    std::fs::rename(&database, &aside).unwrap();
    std::fs::create_dir(&database).unwrap();

    let outcomes = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert_eq!(outcomes[0].result.as_ref().unwrap().tools, 1);
    let error = outcomes[0].not_stored.clone().unwrap();
    assert_eq!(error.reason, Reason::StoreIo);
    assert_eq!(fixture.tools(), ["a__one"], "it is known nevertheless");
    let note = fixture.hub.health()[0].not_stored.clone().unwrap();
    assert_eq!(note.reason, Reason::StoreIo);
    assert!(event_names(&mut events).contains("store.server.failed"));

    std::fs::remove_dir(&database).unwrap();
    std::fs::rename(&aside, &database).unwrap();
    let outcomes = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert_eq!(outcomes[0].not_stored, None);
    assert_eq!(fixture.hub.health()[0].not_stored, None);
    assert_eq!(fixture.store.load().await.unwrap().records.len(), 1);
}

//! Prompts, resources and templates are discovered along with the tools, and stored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops where something is not as it should be"
)]

mod fake;

use std::time::Duration;

use fake::{Behaviour, Bench, spec};
use pegboard_hub::{Announcement, CallRequest, HubSettings, RefreshScope, SessionId};
use pegboard_model::{DiscoveryStatus, Reason, ServerName};
use pegboard_testkit::{tool_json, wait_until};
use pegboard_upstream::OfferKind;
use serde_json::json;
use serde_json::value::RawValue;

const LONG: Duration = Duration::from_secs(30);

fn offering() -> Behaviour {
    Behaviour {
        tools: vec![tool_json("one")],
        prompts: vec![json!({"name": "write"}), json!({"name": "plan"})],
        resources: vec![json!({"uri": "test://1", "name": "One"})],
        templates: vec![json!({"uriTemplate": "test://{id}", "name": "Any"})],
        ..Behaviour::default()
    }
}

/// All prompts, resources and templates, in one line.
fn listed(bench: &Bench) -> String {
    let catalog = bench.hub.catalog();
    let prompts = catalog.prompts().map(|view| view.offer.key.clone());
    let resources = catalog.resources().map(|view| view.offer.key.clone());
    let templates = catalog.templates().map(|view| view.offer.key.clone());
    let all: Vec<String> = prompts.chain(resources).chain(templates).collect();
    all.join(" ")
}

async fn call(bench: &Bench, tool: &str) {
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let request = CallRequest::new(SessionId("test".into()), tool, arguments);
    bench.hub.call(&request).await.unwrap();
}

#[tokio::test]
async fn r_gate_03_offers_are_discovered_with_the_tools_and_outlast_a_restart() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.set("a", offering());
    bench.hub.ensure_known().await;
    assert_eq!(listed(&bench), "plan write test://1 test://{id}");
    assert_eq!(bench.tools(), ["a__one"]);
    let again = bench.reopened(vec![spec("a")]).await;
    assert_eq!(listed(&again), "plan write test://1 test://{id}");
    assert_eq!(again.servers.started("a"), 0, "listing starts nothing");
}

#[tokio::test]
async fn r_gate_03_only_what_is_declared_is_asked_for() {
    let bench = Bench::new(&["a", "b", "c"]).await;
    for (server, capabilities) in [
        ("a", Some(r#"{"tools":{}}"#)),
        ("b", Some(r#"{"prompts":{}}"#)),
        ("c", None),
    ] {
        let behaviour = Behaviour {
            capabilities,
            ..offering()
        };
        bench.servers.set(server, behaviour);
    }
    bench.hub.ensure_known().await;
    let asked = |server: &str| -> Vec<OfferKind> {
        let lists = bench.servers.offer_lists.lock().unwrap();
        let of_server = lists.iter().filter(|(name, _)| name == server);
        of_server.map(|(_, kind)| *kind).collect()
    };
    assert_eq!(asked("a"), []);
    assert_eq!(asked("b"), [OfferKind::Prompts]);
    assert_eq!(
        asked("c"),
        [
            OfferKind::Prompts,
            OfferKind::Resources,
            OfferKind::Templates
        ]
    );
    assert_eq!(
        bench.entry("b").record.capabilities.as_deref(),
        Some(r#"{"prompts":{}}"#)
    );
}

#[tokio::test]
async fn r_gate_03_a_server_with_prompts_and_no_tools_is_known() {
    let bench = Bench::new(&["a"]).await;
    let behaviour = Behaviour {
        tools: Vec::new(),
        ..offering()
    };
    bench.servers.set("a", behaviour);
    bench.hub.ensure_known().await;
    let entry = bench.entry("a");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert_eq!(entry.record.tools.len(), 0);
    assert_eq!(entry.record.offers.prompts.len(), 2);
}

#[tokio::test]
async fn r_gate_03_a_list_that_fails_keeps_the_known_one_and_the_tools_come_anyway() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.set("a", offering());
    bench.hub.ensure_known().await;
    bench.servers.set(
        "a",
        Behaviour {
            tools: vec![tool_json("one"), tool_json("two")],
            fail_offers: true,
            ..offering()
        },
    );
    let outcomes = bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(outcomes[0].result.is_ok(), "{outcomes:?}");
    assert_eq!(bench.tools(), ["a__one", "a__two"]);
    assert_eq!(listed(&bench), "plan write test://1 test://{id}");
    assert_eq!(bench.entry("a").status(), DiscoveryStatus::Success);
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_tools_do_not_wait_for_a_list_that_never_comes() {
    let bench = Bench::new(&["a"]).await;
    let behaviour = Behaviour {
        hang_offers: true,
        ..offering()
    };
    bench.servers.set("a", behaviour);
    let begun = tokio::time::Instant::now();
    let outcomes = bench.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(outcomes[0].result.is_ok(), "{outcomes:?}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(bench.tools(), ["a__one"]);
    assert_eq!(listed(&bench), "");
}

#[tokio::test]
async fn r_sec_01_a_bad_offer_is_left_out_and_named() {
    let bench = Bench::new(&["a"]).await;
    let behaviour = Behaviour {
        prompts: vec![json!({"name": "good"}), json!({"name": 7}), json!("text")],
        resources: vec![json!({"uri": "test://1"}), json!({"uri": "test://1"})],
        ..Behaviour::with_tools(&["one"])
    };
    bench.servers.set("a", behaviour);
    bench.hub.ensure_known().await;
    assert_eq!(listed(&bench), "good test://1");
    let reasons: Vec<Reason> = bench
        .entry("a")
        .record
        .rejections
        .iter()
        .map(|rejection| rejection.reason)
        .collect();
    assert_eq!(
        reasons,
        [
            Reason::ToolRejectedName,
            Reason::ToolMalformed,
            Reason::ToolDuplicate
        ]
    );
}

#[tokio::test]
async fn r_gate_03_a_changed_list_is_fetched_and_told_once_it_can_be_read() {
    let bench = Bench::new(&["a"]).await;
    bench.servers.set("a", offering());
    bench.hub.ensure_known().await;
    call(&bench, "a__one").await;
    let mut announcements = bench.hub.announcements();
    bench.servers.change("a", |behaviour| {
        behaviour.prompts = vec![json!({"name": "fresh"})];
    });
    bench.servers.emit("a", Announcement::PromptsChanged);
    let announced = tokio::time::timeout(LONG, announcements.recv()).await;
    let announced = announced.unwrap().unwrap();
    let server = ServerName::parse("a").unwrap();
    assert_eq!(announced, (server.clone(), Announcement::PromptsChanged));
    assert_eq!(listed(&bench), "fresh test://1 test://{id}");

    // Also if the server announces a change that is none; a flood is followed a few times.
    let before = bench.servers.listed("a");
    for _ in 0..100 {
        bench.servers.emit("a", Announcement::ResourcesChanged);
        tokio::task::yield_now().await;
    }
    let announced = tokio::time::timeout(LONG, announcements.recv()).await;
    assert_eq!(
        announced.unwrap().unwrap(),
        (server, Announcement::ResourcesChanged)
    );
    let more = bench.servers.listed("a") - before;
    assert!(
        (1..=4).contains(&more),
        "{more} lists for a hundred notices"
    );
}

#[tokio::test]
async fn r_gate_03_taking_a_server_away_tells_that_its_lists_changed() {
    let bench = Bench::new(&["a", "b"]).await;
    bench.servers.set("a", offering());
    bench.servers.tools("b", &["two"]);
    bench.hub.ensure_known().await;
    let mut announcements = bench.hub.announcements();
    bench.hub.apply(vec![spec("a")]).await;
    assert!(announcements.try_recv().is_err(), "`b` had only tools");
    let mut disabled = spec("a");
    disabled.enabled = false;
    bench.hub.apply(vec![disabled]).await;
    let announced = [announcements.try_recv(), announcements.try_recv()];
    let announced = announced.map(|announced| announced.unwrap().1);
    let both = [Announcement::PromptsChanged, Announcement::ResourcesChanged];
    assert_eq!(announced, both);
    bench.hub.apply(vec![spec("a")]).await;
    let back = [announcements.try_recv(), announcements.try_recv()];
    assert_eq!(back.map(|announced| announced.unwrap().1), both);
    assert_eq!(listed(&bench), "plan write test://1 test://{id}");
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_an_announcement_starts_nothing() {
    let mut brief = spec("a");
    brief.timeouts.idle = Duration::from_millis(50);
    let bench = Bench::with(vec![brief], HubSettings::default()).await;
    bench.servers.set("a", offering());
    call(&bench, "a__one").await;
    let lists = bench.servers.listed("a");
    bench.servers.emit("a", Announcement::PromptsChanged);
    wait_until("the first notice is followed", LONG, || {
        bench.servers.listed("a") > lists
    })
    .await;
    // The next one is followed only after a pause, when the idle server has stopped.
    bench.servers.emit("a", Announcement::PromptsChanged);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!bench.servers.is_running("a"));
    assert_eq!(bench.servers.started("a"), 1, "the call, and no more");
}

/// A resource that a call creates is read through its link. It ends with the process, so later clients must not see
/// it.
#[tokio::test]
async fn r_gate_03_resources_of_a_session_are_not_listed_for_later_clients() {
    for is_listed_first in [true, false] {
        let bench = Bench::new(&["a"]).await;
        bench.servers.set("a", offering());
        bench.hub.ensure_known().await;
        call(&bench, "a__one").await;
        bench.servers.change("a", |behaviour| {
            behaviour.resources.push(json!({"uri": "test://session/2"}));
            behaviour.resources.push(json!({"uri": "test://shared"}));
            behaviour.links = vec!["test://session/2", "test://1"];
        });
        // A server may announce its list before or after the result that links the resource.
        let refresh = || async {
            let one = RefreshScope::One(ServerName::parse("a").unwrap());
            bench.hub.refresh(one, true).await.unwrap();
        };
        if is_listed_first {
            refresh().await;
            assert!(listed(&bench).contains("test://session/2"));
        }
        call(&bench, "a__one").await;
        let without = "plan write test://1 test://shared test://{id}";
        if !is_listed_first {
            refresh().await;
        }
        assert_eq!(listed(&bench), without);
        let linked = bench
            .hub
            .linked_server(&SessionId("test".into()), "test://session/2");
        assert!(linked.is_some(), "its session may read it");
        refresh().await;
        assert_eq!(listed(&bench), without, "for the life of the process");
        assert!(bench.servers.is_running("a"));
        bench.hub.shutdown().await;
        let later = bench.reopened(vec![spec("a")]).await;
        assert_eq!(listed(&later), without, "after a restart");
    }
}

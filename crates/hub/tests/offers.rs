//! Prompts, resources and templates are discovered along with the tools, and stored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::time::Duration;

use fake::{Behaviour, HubFixture, spec};
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
fn listed(fixture: &HubFixture) -> String {
    let catalog = fixture.hub.catalog();
    let prompts = catalog.prompts().map(|view| view.offer.key.clone());
    let resources = catalog.resources().map(|view| view.offer.key.clone());
    let templates = catalog.templates().map(|view| view.offer.key.clone());
    let all: Vec<String> = prompts.chain(resources).chain(templates).collect();
    all.join(" ")
}

async fn call(fixture: &HubFixture, tool: &str) {
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let request = CallRequest::new(SessionId("test".into()), tool, arguments);
    fixture.hub.call(&request).await.unwrap();
}

#[tokio::test]
async fn r_gate_03_offers_are_discovered_with_the_tools_and_outlast_a_restart() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", offering());
    fixture.hub.ensure_known().await;
    assert_eq!(listed(&fixture), "plan write test://1 test://{id}");
    assert_eq!(fixture.tools(), ["a__one"]);
    let again = fixture.reopened(vec![spec("a")]).await;
    assert_eq!(listed(&again), "plan write test://1 test://{id}");
    assert_eq!(again.servers.started("a"), 0, "listing starts nothing");
}

#[tokio::test]
async fn r_gate_03_only_declared_lists_are_fetched() {
    let fixture = HubFixture::new(&["a", "b", "c"]).await;
    for (server, capabilities) in [
        ("a", Some(r#"{"tools":{}}"#)),
        ("b", Some(r#"{"prompts":{}}"#)),
        ("c", None),
    ] {
        let behaviour = Behaviour {
            capabilities,
            ..offering()
        };
        fixture.servers.set(server, behaviour);
    }
    fixture.hub.ensure_known().await;
    let asked = |server: &str| -> Vec<OfferKind> {
        let lists = fixture.servers.offer_lists.lock().unwrap();
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
        fixture.entry("b").record.capabilities.as_deref(),
        Some(r#"{"prompts":{}}"#)
    );
}

#[tokio::test]
async fn r_gate_03_a_server_with_prompts_and_no_tools_is_known() {
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        tools: Vec::new(),
        ..offering()
    };
    fixture.servers.set("a", behaviour);
    fixture.hub.ensure_known().await;
    let entry = fixture.entry("a");
    assert_eq!(entry.status(), DiscoveryStatus::Success);
    assert_eq!(entry.record.tools.len(), 0);
    assert_eq!(entry.record.offers.prompts.len(), 2);
}

#[tokio::test]
async fn r_gate_03_a_list_that_fails_keeps_the_known_one_and_the_tools_come_anyway() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", offering());
    fixture.hub.ensure_known().await;
    fixture.servers.set(
        "a",
        Behaviour {
            tools: vec![tool_json("one"), tool_json("two")],
            fail_offers: true,
            ..offering()
        },
    );
    let outcomes = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(outcomes[0].result.is_ok(), "{outcomes:?}");
    assert_eq!(fixture.tools(), ["a__one", "a__two"]);
    assert_eq!(listed(&fixture), "plan write test://1 test://{id}");
    assert_eq!(fixture.entry("a").status(), DiscoveryStatus::Success);
}

#[tokio::test(start_paused = true)]
async fn r_disc_01_tools_do_not_wait_for_a_list_that_never_comes() {
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        hang_offers: true,
        ..offering()
    };
    fixture.servers.set("a", behaviour);
    let begun = tokio::time::Instant::now();
    let outcomes = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(outcomes[0].result.is_ok(), "{outcomes:?}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(fixture.tools(), ["a__one"]);
    assert_eq!(listed(&fixture), "");
}

#[tokio::test]
async fn r_sec_01_a_bad_offer_is_left_out_and_named() {
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        prompts: vec![json!({"name": "good"}), json!({"name": 7}), json!("text")],
        resources: vec![json!({"uri": "test://1"}), json!({"uri": "test://1"})],
        ..Behaviour::with_tools(&["one"])
    };
    fixture.servers.set("a", behaviour);
    fixture.hub.ensure_known().await;
    assert_eq!(listed(&fixture), "good test://1");
    let reasons: Vec<Reason> = fixture
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
async fn r_gate_03_a_changed_list_is_fetched_and_announced_once_it_can_be_read() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", offering());
    fixture.hub.ensure_known().await;
    call(&fixture, "a__one").await;
    let mut announcements = fixture.hub.announcements();
    fixture.servers.change("a", |behaviour| {
        behaviour.prompts = vec![json!({"name": "fresh"})];
    });
    fixture.servers.emit("a", Announcement::PromptsChanged);
    let announced = tokio::time::timeout(LONG, announcements.recv()).await;
    let announced = announced.unwrap().unwrap();
    let server = ServerName::parse("a").unwrap();
    assert_eq!(announced, (server.clone(), Announcement::PromptsChanged));
    assert_eq!(listed(&fixture), "fresh test://1 test://{id}");

    // Also if the server announces a change that is none; a flood is followed a few times.
    let before = fixture.servers.listed("a");
    for _ in 0..100 {
        fixture.servers.emit("a", Announcement::ResourcesChanged);
        tokio::task::yield_now().await;
    }
    let announced = tokio::time::timeout(LONG, announcements.recv()).await;
    assert_eq!(
        announced.unwrap().unwrap(),
        (server, Announcement::ResourcesChanged)
    );
    let more = fixture.servers.listed("a") - before;
    assert!(
        (1..=4).contains(&more),
        "{more} lists for a hundred notices"
    );
}

#[tokio::test]
async fn r_gate_03_removing_a_server_announces_that_its_lists_changed() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.set("a", offering());
    fixture.servers.tools("b", &["two"]);
    fixture.hub.ensure_known().await;
    let mut announcements = fixture.hub.announcements();
    fixture.hub.apply(vec![spec("a")]).await;
    assert!(announcements.try_recv().is_err(), "`b` had only tools");
    let mut disabled = spec("a");
    disabled.enabled = false;
    fixture.hub.apply(vec![disabled]).await;
    let announced = [announcements.try_recv(), announcements.try_recv()];
    let announced = announced.map(|announced| announced.unwrap().1);
    let both = [Announcement::PromptsChanged, Announcement::ResourcesChanged];
    assert_eq!(announced, both);
    fixture.hub.apply(vec![spec("a")]).await;
    let back = [announcements.try_recv(), announcements.try_recv()];
    assert_eq!(back.map(|announced| announced.unwrap().1), both);
    assert_eq!(listed(&fixture), "plan write test://1 test://{id}");
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_an_announcement_starts_nothing() {
    let mut brief = spec("a");
    brief.timeouts.idle = Duration::from_millis(50);
    let fixture = HubFixture::with(vec![brief], HubSettings::default()).await;
    fixture.servers.set("a", offering());
    call(&fixture, "a__one").await;
    let lists = fixture.servers.listed("a");
    fixture.servers.emit("a", Announcement::PromptsChanged);
    wait_until("the first notice is followed", LONG, || {
        fixture.servers.listed("a") > lists
    })
    .await;
    // The next one is followed only after a pause, when the idle server has stopped.
    fixture.servers.emit("a", Announcement::PromptsChanged);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!fixture.servers.is_running("a"));
    assert_eq!(fixture.servers.started("a"), 1, "the call, and no more");
}

/// A resource that a call creates is read through its link. It ends with the process, so later clients must not see
/// it.
#[tokio::test]
async fn r_gate_03_resources_of_a_session_are_not_listed_for_later_clients() {
    for is_listed_first in [true, false] {
        let fixture = HubFixture::new(&["a"]).await;
        fixture.servers.set("a", offering());
        fixture.hub.ensure_known().await;
        call(&fixture, "a__one").await;
        fixture.servers.change("a", |behaviour| {
            behaviour.resources.push(json!({"uri": "test://session/2"}));
            behaviour.resources.push(json!({"uri": "test://shared"}));
            behaviour.links = vec!["test://session/2", "test://1"];
        });
        // A server may announce its list before or after the result that links the resource.
        let refresh = || async {
            let one = RefreshScope::One(ServerName::parse("a").unwrap());
            fixture.hub.refresh(one, true).await.unwrap();
        };
        if is_listed_first {
            refresh().await;
            assert!(listed(&fixture).contains("test://session/2"));
        }
        call(&fixture, "a__one").await;
        let without = "plan write test://1 test://shared test://{id}";
        if !is_listed_first {
            refresh().await;
        }
        assert_eq!(listed(&fixture), without);
        let linked = fixture
            .hub
            .linked_server(&SessionId("test".into()), "test://session/2");
        assert!(linked.is_some(), "its session may read it");
        refresh().await;
        assert_eq!(listed(&fixture), without, "for the life of the process");
        assert!(fixture.servers.is_running("a"));
        fixture.hub.shutdown().await;
        let later = fixture.reopened(vec![spec("a")]).await;
        assert_eq!(listed(&later), without, "after a restart");
    }
}

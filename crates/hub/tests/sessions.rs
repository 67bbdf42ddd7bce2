//! Connected sessions, last changes, and catalogs of servers that are not configured.

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

use fake::{HubFixture, spec};
use pegboard_hub::{ClientTransport, RefreshScope, SessionId};
use pegboard_model::{GlobalRules, ServerName};

#[tokio::test]
async fn r_api_03_sessions_are_bounded_and_silent_clients_are_forgotten() {
    let fixture = HubFixture::new(&["one"]).await;
    let (hub, clock) = (&fixture.hub, &fixture.clock);
    let open = |number: usize| {
        let id = SessionId(format!("s{number}"));
        hub.session_opened(&id, ClientTransport::Stdio, None, "");
        clock.advance(Duration::from_secs(1));
        id
    };
    let first = open(0);
    for number in 1..1_001 {
        open(number);
    }
    let sessions = hub.sessions();
    assert_eq!(sessions.len(), 1_000);
    assert!(
        sessions.iter().all(|session| session.id != first),
        "it gave way"
    );
    assert_eq!(sessions[0].id.0, "s1000", "the newest first");

    let presence = hub.open_or_find_client("key", "work", || Some("client 1".into()));
    hub.record_session_request(&presence, true);
    hub.record_session_request(
        &hub.open_or_find_client("key", "work", || panic!("it is known")),
        false,
    );
    let seen = hub
        .sessions()
        .into_iter()
        .find(|session| session.transport == ClientTransport::HttpModern);
    let seen = seen.unwrap();
    assert_eq!((seen.calls, seen.client.as_deref()), (1, Some("client 1")));
    clock.advance(Duration::from_secs(3_600));
    let left = hub.sessions();
    assert!(
        left.iter()
            .all(|session| session.transport == ClientTransport::Stdio)
    );
    hub.session_ended(&SessionId("s1000".to_owned()));
    assert_eq!(hub.sessions().len(), left.len() - 1);
}

#[tokio::test]
async fn r_api_06_the_last_discovery_of_a_server_is_remembered_while_it_is_there() {
    let fixture = HubFixture::new(&["one"]).await;
    let (hub, one) = (&fixture.hub, ServerName::parse("one").unwrap());
    assert!(hub.last_delta(&one).is_none());
    fixture.servers.tools("one", &["read", "write"]);
    hub.refresh(RefreshScope::One(one.clone()), true)
        .await
        .unwrap();
    assert_eq!(hub.last_delta(&one).unwrap().delta.added, ["read", "write"]);
    fixture.servers.tools("one", &["read"]);
    hub.refresh(RefreshScope::One(one.clone()), true)
        .await
        .unwrap();
    assert_eq!(hub.last_delta(&one).unwrap().delta.removed, ["write"]);
    hub.refresh(RefreshScope::One(one.clone()), true)
        .await
        .unwrap();
    let last = hub.last_delta(&one).unwrap().delta;
    assert!(last.is_empty() && last.unchanged == 1, "{last:?}");
    hub.apply([]).await;
    assert!(hub.last_delta(&one).is_none());
}

#[tokio::test]
async fn r_api_02_tools_of_other_servers_are_read_without_starting_any() {
    let fixture = HubFixture::new(&["one", "two"]).await;
    let hub = &fixture.hub;
    for name in ["one", "two"] {
        fixture.servers.tools(name, &["read"]);
    }
    hub.refresh(RefreshScope::All, true).await.unwrap();
    let starts = fixture.servers.started("one");
    let others = [spec("one"), spec("unseen")];
    let catalog = hub.catalog_for(others, &GlobalRules::default()).await;
    let names: Vec<_> = catalog
        .tools()
        .map(|tool| tool.exposed().to_string())
        .collect();
    assert_eq!(names, ["one__read"]);
    assert_eq!(catalog.servers().count(), 2);
    assert_eq!(
        hub.catalog().servers().count(),
        2,
        "the hub has its own still"
    );
    assert_eq!(fixture.servers.started("one"), starts);
    hub.apply([spec("one")]).await;
    let two = ServerName::parse("two").unwrap();
    let one = ServerName::parse("one").unwrap();
    assert!(hub.forget_removed(&two).await.unwrap());
    assert!(!hub.forget_removed(&one).await.unwrap(), "it is there");
}

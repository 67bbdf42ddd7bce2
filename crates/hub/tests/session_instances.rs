//! Servers with the scope `session`: one instance for each connected session.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::result_large_err,
    reason = "a test fails by panicking"
)]

mod fake;

use std::time::Duration;

use fake::{HubFixture, spec};
use pegboard_hub::{CallRequest, ClientTransport, HubSettings, RefreshScope, RunState, SessionId};
use pegboard_model::{Limits, Reason, ServerSpec, Share, ShareScope};
use pegboard_testkit::wait_until;
use serde_json::value::RawValue;

const SOON: Duration = Duration::from_secs(10);

fn per_session(name: &str) -> ServerSpec {
    let mut spec = spec(name);
    spec.share = Share::Session;
    spec
}

async fn fixture(spec: ServerSpec) -> HubFixture {
    let fixture = HubFixture::with(vec![spec], HubSettings::default()).await;
    fixture.servers.tools("s", &["t"]);
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    wait_until("the discovery's instance has ended", SOON, || {
        instances(&fixture) == 0
    })
    .await;
    fixture
}

fn instances(fixture: &HubFixture) -> usize {
    fixture.hub.health()[0].instances
}

fn open(fixture: &HubFixture, session: &str) -> SessionId {
    let session = SessionId(session.to_owned());
    let transport = ClientTransport::Stdio;
    fixture.hub.session_opened(&session, transport, None, "");
    session
}

async fn call(fixture: &HubFixture, session: &SessionId) -> Result<(), Reason> {
    let arguments = RawValue::from_string("{}".to_owned()).unwrap();
    let request = CallRequest::new(session.clone(), "s__t", arguments);
    let outcome = fixture.hub.call(&request).await;
    outcome.map(drop).map_err(|error| error.reason)
}

#[tokio::test]
async fn r_share_03_each_session_has_an_instance_that_ends_with_it() {
    let fixture = fixture(per_session("s")).await;
    let (a, b) = (open(&fixture, "a"), open(&fixture, "b"));
    for session in [&a, &b, &a, &b] {
        call(&fixture, session).await.unwrap();
    }
    assert_eq!((fixture.servers.started("s"), instances(&fixture)), (3, 2));
    // Clients without a lasting session share one more.
    for session in ["request-1", "request-2"] {
        call(&fixture, &SessionId(session.to_owned()))
            .await
            .unwrap();
    }
    assert_eq!((fixture.servers.started("s"), instances(&fixture)), (4, 3));
    assert_eq!(fixture.hub.health()[0].state, RunState::Running);
    fixture.hub.session_ended(&a);
    wait_until("its instance has ended", SOON, || instances(&fixture) == 2).await;
    call(&fixture, &b).await.unwrap();
    assert_eq!(
        fixture.servers.started("s"),
        4,
        "the other session keeps its own"
    );
    // A call that arrives after the end of its session does not start another instance for it.
    call(&fixture, &a).await.unwrap();
    assert_eq!((fixture.servers.started("s"), instances(&fixture)), (4, 2));
    // A new definition ends all of them.
    let mut changed = per_session("s");
    changed.hash.0[0] ^= 1;
    fixture.hub.apply([changed]).await;
    wait_until("all have ended", SOON, || instances(&fixture) == 0).await;
    fixture.hub.shutdown().await;
}

#[tokio::test]
async fn r_share_03_a_shared_server_has_one_instance_for_all_sessions() {
    let mut shared = spec("s");
    shared.share = Share::Project;
    let fixture = fixture(shared).await;
    for session in [open(&fixture, "a"), open(&fixture, "b")] {
        call(&fixture, &session).await.unwrap();
    }
    assert_eq!((fixture.servers.started("s"), instances(&fixture)), (2, 1));
    // A running instance keeps its scope. Its clients move when it has ended.
    fixture.hub.apply([per_session("s")]).await;
    for session in ["a", "b"] {
        call(&fixture, &SessionId(session.to_owned()))
            .await
            .unwrap();
    }
    assert_eq!(fixture.servers.started("s"), 2);
    fixture.hub.release(&spec("s").name);
    wait_until("it has ended", SOON, || instances(&fixture) == 0).await;
    for session in ["a", "b"] {
        call(&fixture, &SessionId(session.to_owned()))
            .await
            .unwrap();
    }
    assert_eq!((fixture.servers.started("s"), instances(&fixture)), (4, 2));
    fixture.hub.shutdown().await;
}

#[tokio::test]
async fn r_share_03_the_number_of_instances_for_sessions_is_limited() {
    let fixture = fixture(per_session("s")).await;
    let most = Limits::default().session_instances_per_server;
    let sessions: Vec<_> = (0..most)
        .map(|n| open(&fixture, &format!("s{n}")))
        .collect();
    for session in &sessions {
        call(&fixture, session).await.unwrap();
    }
    let late = open(&fixture, "late");
    assert_eq!(call(&fixture, &late).await, Err(Reason::Overloaded));
    fixture.hub.session_ended(&sessions[0]);
    call(&fixture, &late).await.unwrap();
    assert_eq!(instances(&fixture), most);
    fixture.hub.shutdown().await;
    assert_eq!(instances(&fixture), 0);
}

#[tokio::test(start_paused = true)]
async fn r_share_03_an_idle_instance_of_a_session_ends_and_leaves_room() {
    let fixture = fixture(per_session("s")).await;
    let a = open(&fixture, "a");
    call(&fixture, &a).await.unwrap();
    assert_eq!(instances(&fixture), 1);
    tokio::time::sleep(Duration::from_secs(301)).await;
    wait_until("it is idle", SOON, || instances(&fixture) == 0).await;
    call(&fixture, &a).await.unwrap();
    assert_eq!(fixture.servers.started("s"), 3);
    fixture.hub.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn r_share_03_a_list_that_a_call_changes_is_learnt_until_the_definition_changes() {
    let fixture = fixture(spec("s")).await;
    let sharing = || {
        let catalog = fixture.hub.catalog();
        let entry = catalog.servers().next().unwrap();
        (entry.sharing().scope, entry.record.learnt.changes_list)
    };
    let a = open(&fixture, "a");
    call(&fixture, &a).await.unwrap();
    // At its start, and long after a call, a change is the server's own.
    fixture.servers.tools("s", &["t", "u"]);
    fixture.servers.announce_change("s");
    let tools = |count: usize| fixture.hub.catalog().tools().count() == count;
    wait_until("the list was fetched", SOON, || tools(2)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    fixture.servers.tools("s", &["t"]);
    fixture.servers.announce_change("s");
    wait_until("the list was fetched", SOON, || tools(1)).await;
    assert_eq!(sharing(), (ShareScope::Project, false));
    // Right after a call it is the call's effect.
    call(&fixture, &a).await.unwrap();
    fixture.servers.tools("s", &["t", "v"]);
    fixture.servers.announce_change("s");
    wait_until("it is learnt", SOON, || sharing().1).await;
    assert_eq!(sharing().0, ShareScope::Session);
    let stored = fixture
        .store
        .load_server(&spec("s").name, &spec("s").hash)
        .await;
    assert!(stored.unwrap().unwrap().learnt.changes_list);
    // The next discovery keeps it, another definition does not.
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(sharing().1);
    let mut changed = spec("s");
    changed.hash.0[0] ^= 1;
    fixture.hub.apply([changed]).await;
    assert!(!sharing().1);
    fixture.hub.shutdown().await;
}

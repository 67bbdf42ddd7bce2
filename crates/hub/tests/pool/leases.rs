//! Leases: when instances are shared, started and ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_model::{Limits, Reason, RpcError, ShareScope};
use pegboard_testkit::wait_until;
use pegboard_upstream::{CallOptions, Caller, ClientCapabilities, Upstream};
use serde_json::value::RawValue;

use crate::servers::{PoolFixture, connect, hint, spec};

const SOON: Duration = Duration::from_secs(10);

/// A client that only has a session.
struct Client(&'static str, ClientCapabilities);

#[async_trait::async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        self.0
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.1
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _params: &RawValue) {}

    fn message(&self, _params: &RawValue) {}

    async fn send_request(
        &self,
        _method: &str,
        _params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        std::future::pending().await
    }
}

/// The number of the instance that responds to a call of a session.
async fn call(lease: &Arc<dyn Upstream>, session: &'static str) -> Result<u64, Reason> {
    let options = CallOptions {
        caller: Some(Arc::new(Client(session, ClientCapabilities::parse("{}")))),
        ..CallOptions::with_timeout(Duration::from_secs(60))
    };
    let arguments = RawValue::from_string("{}".to_owned()).unwrap();
    let outcome = lease.call("t", &arguments, options).await;
    let outcome = outcome.map_err(|error| error.reason)?;
    let result: serde_json::Value = serde_json::from_str(outcome.result.get()).unwrap();
    Ok(result["number"].as_u64().unwrap())
}

#[tokio::test(start_paused = true)]
async fn r_share_02_views_share_instances_as_their_scope_says() {
    let fixture = PoolFixture::new(Limits::default());
    let (a, a2, b) = (fixture.view("/a"), fixture.view("/a"), fixture.view("/b"));
    let mut leases = Vec::new();
    for (scope, expected) in [
        (ShareScope::User, [true, true]),
        (ShareScope::Project, [true, false]),
        (ShareScope::Session, [false, false]),
    ] {
        let first = connect(&a, "s", scope).await.unwrap();
        let number = call(&first, "x").await;
        for (view, is_shared) in [&a2, &b].into_iter().zip(expected) {
            let lease = connect(view, "s", scope).await.unwrap();
            assert_eq!(call(&lease, "x").await == number, is_shared, "{scope:?}");
            leases.push(lease);
        }
        leases.push(first);
    }
    assert_eq!(fixture.fakes.live(), 6);
    let infos = fixture.pool.instances();
    assert_eq!(infos.len(), 6);
    let user = infos
        .iter()
        .find(|info| info.scope == ShareScope::User)
        .unwrap();
    let views: Vec<_> = user
        .leases
        .iter()
        .map(|lease| lease.view.as_str())
        .collect();
    assert_eq!(views, ["/a", "/a", "/b"]);
    assert_eq!((user.in_flight, user.idle_ms), (0, Some(0)));
    drop(leases);
    fixture.pool.released().await;
    assert_eq!(
        (fixture.fakes.live(), fixture.pool.instances().len()),
        (0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn r_share_02_an_instance_ends_with_its_last_lease_and_calls_of_a_closed_one_end() {
    let fixture = PoolFixture::new(Limits::default());
    *fixture.fakes.close_time.lock().unwrap() = Duration::from_secs(2);
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    fixture.fakes.instances()[0].responds.send_replace(false);
    let (first, second) = (one.clone(), two.clone());
    let ends = tokio::spawn(async move { call(&first, "x").await });
    let stays = tokio::spawn(async move { call(&second, "x").await });
    wait_until("both calls run", SOON, || {
        fixture.pool.instances()[0].in_flight == 2
    })
    .await;
    one.close().await;
    assert_eq!(ends.await.unwrap(), Err(Reason::Cancelled));
    assert_eq!(one.ended().await.reason, Reason::Cancelled);
    assert!(!one.is_alive() && two.is_alive());
    fixture.fakes.instances()[0].responds.send_replace(true);
    assert_eq!(stays.await.unwrap(), Ok(0));
    // A connection during the end of the instance waits and starts a new one.
    let closing = tokio::spawn(async move { two.close().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((fixture.fakes.live(), closing.is_finished()), (1, false));
    let again = connect(&a, "s", ShareScope::User).await.unwrap();
    assert_eq!(call(&again, "x").await, Ok(1));
    drop((again, closing.await));
    fixture.pool.released().await;
    assert_eq!((fixture.fakes.live(), fixture.fakes.started()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn r_share_02_concurrent_connections_start_one_process_and_a_failed_start_is_retried() {
    let fixture = PoolFixture::new(Limits::default());
    *fixture.fakes.start_time.lock().unwrap() = Duration::from_secs(3);
    let views: Vec<_> = (0..20).map(|_| fixture.view("/a")).collect();
    let opening = views
        .iter()
        .map(|view| connect(view, "s", ShareScope::Project));
    let leases = futures_util::future::join_all(opening).await;
    assert!(leases.iter().all(Result::is_ok));
    assert_eq!(fixture.fakes.started(), 1);
    drop(leases);
    fixture.pool.released().await;

    // The first view has too little time. The second one waits for it and then tries with its own budget.
    let (spec, hint) = (spec("s"), hint(ShareScope::Project));
    let short = views[0].connect(&spec, &hint, Duration::from_secs(1));
    let long = views[1].connect(&spec, &hint, Duration::from_secs(10));
    let (short, long) = tokio::join!(short, long);
    assert_eq!(short.err().unwrap().reason, Reason::DiscoveryTimeout);
    assert_eq!(call(&long.unwrap(), "x").await, Ok(1));
    fixture.pool.released().await;
    // Nor does a view that waits for another one exceed its budget.
    let slow = views[0].connect(&spec, &hint, Duration::from_secs(10));
    let waiting = views[1].connect(&spec, &hint, Duration::from_secs(2));
    let (slow, waiting) = tokio::join!(slow, waiting);
    assert_eq!(waiting.err().unwrap().reason, Reason::DiscoveryTimeout);
    drop(slow.unwrap());
    fixture.fakes.fails.store(true, Ordering::SeqCst);
    fixture.pool.released().await;
    let failed = connect(&views[0], "s", ShareScope::Project).await;
    assert_eq!(failed.err().unwrap().reason, Reason::SpawnFailed);
    assert_eq!(fixture.fakes.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn r_share_02_a_dead_instance_is_reported_to_all_and_replaced() {
    let fixture = PoolFixture::new(Limits::default());
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    fixture.fakes.instances()[0].crash();
    for lease in [&one, &two] {
        assert!(!lease.is_alive());
        assert_eq!(lease.ended().await.reason, Reason::ServerExited);
    }
    let fresh = connect(&a, "s", ShareScope::User).await.unwrap();
    assert_eq!(call(&fresh, "x").await, Ok(1));
    one.close().await;
    two.close().await;
    assert!(
        fresh.is_alive(),
        "the ends of the old leases do not concern it"
    );
    drop(fresh);
    fixture.pool.released().await;
    assert_eq!(fixture.fakes.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn r_share_02_a_stopped_instance_ends_for_all_and_the_next_call_starts_another() {
    let fixture = PoolFixture::new(Limits::default());
    *fixture.fakes.close_time.lock().unwrap() = Duration::from_secs(2);
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    let other = connect(&b, "other", ShareScope::User).await.unwrap();
    let id = |server: &str| {
        let infos = fixture.pool.instances();
        let info = infos.iter().find(|info| info.server.as_str() == server);
        info.map(|info| info.id)
    };
    let stopped = id("s").unwrap();
    assert_ne!(Some(stopped), id("other"));
    assert!(fixture.pool.stop_instance(u64::MAX).await.is_none());
    fixture.fakes.instances()[0].responds.send_replace(false);
    let waiting = one.clone();
    let open = tokio::spawn(async move { call(&waiting, "x").await });
    wait_until("the call runs", SOON, || {
        fixture
            .pool
            .instances()
            .iter()
            .any(|info| info.in_flight == 1)
    })
    .await;
    let (first, second) = tokio::join!(
        fixture.pool.stop_instance(stopped),
        fixture.pool.stop_instance(stopped)
    );
    assert_eq!(first.unwrap().as_str(), "s");
    assert_eq!(second.unwrap().as_str(), "s", "twice at once");
    assert_eq!(open.await.unwrap(), Err(Reason::Cancelled));
    for lease in [&one, &two] {
        assert!(!lease.is_alive());
        assert_eq!(lease.ended().await.reason, Reason::Cancelled, "no crash");
    }
    assert!(other.is_alive(), "another server is not concerned");
    let fresh = connect(&a, "s", ShareScope::User).await.unwrap();
    assert_eq!(call(&fresh, "x").await, Ok(2));
    assert!(fixture.pool.stop_instance(stopped).await.is_none());
    drop((one, two, other, fresh));
    fixture.pool.released().await;
    assert_eq!(fixture.fakes.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn r_share_02_a_changed_definition_in_one_view_leaves_the_instance_of_the_other() {
    let fixture = PoolFixture::new(Limits::default());
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    let mut changed = spec("s");
    changed.hash.0[0] ^= 1;
    one.close().await;
    let hint = hint(ShareScope::User);
    let new = a.connect(&changed, &hint, SOON).await.unwrap();
    assert_eq!(call(&two, "x").await, Ok(0));
    assert_eq!(call(&new, "x").await, Ok(1));
    assert_eq!(fixture.fakes.live(), 2);
}

#[tokio::test(start_paused = true)]
async fn r_gate_04_subscriptions_are_a_counted_union() {
    let fixture = PoolFixture::new(Limits::default());
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    let server = fixture.fakes.instances().remove(0);
    let seen = || std::mem::take(&mut *server.watches.lock().unwrap());
    for lease in [&one, &two, &two] {
        lease.watch_resource("r://1", true).await.unwrap();
    }
    assert_eq!(seen(), [("r://1".to_owned(), true)]);
    one.watch_resource("r://1", false).await.unwrap();
    assert!(seen().is_empty(), "the other view still watches it");
    one.watch_resource("r://2", true).await.unwrap();
    assert_eq!(seen(), [("r://2".to_owned(), true)]);
    one.close().await;
    assert_eq!(
        seen(),
        [("r://2".to_owned(), false)],
        "released with its lease"
    );
    assert!(one.watch_resource("r://3", true).await.is_err());
    two.watch_resource("r://1", false).await.unwrap();
    assert_eq!(seen(), [("r://1".to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn r_gate_04_sessions_take_turns_once_a_server_requested_input() {
    let fixture = PoolFixture::new(Limits::default());
    let (a, b) = (fixture.view("/a"), fixture.view("/b"));
    // Equal session ids in two views are two sessions.
    let one = connect(&a, "s", ShareScope::User).await.unwrap();
    let two = connect(&b, "s", ShareScope::User).await.unwrap();
    let server = fixture.fakes.instances().remove(0);
    server.responds.send_replace(false);
    server.requests_input.store(true, Ordering::SeqCst);
    let start = |lease: &Arc<dyn Upstream>| {
        let lease = lease.clone();
        tokio::spawn(async move { call(&lease, "same").await })
    };
    let running = || fixture.pool.instances()[0].in_flight;
    let first = start(&one);
    wait_until("the first call runs", SOON, || running() == 1).await;
    let second = start(&two);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(running(), 1, "the other session waits");
    assert!(fixture.pool.instances()[0].takes_turns);
    // Its own deadline ends the wait.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(second.await.unwrap(), Err(Reason::Overloaded));
    let third = start(&two);
    tokio::task::yield_now().await;
    server.responds.send_replace(true);
    assert_eq!((first.await.unwrap(), third.await.unwrap()), (Ok(0), Ok(0)));
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_instances_and_leases_are_limited() {
    let limits = Limits {
        server_instances: 2,
        leases_per_instance: 2,
        ..Limits::default()
    };
    let fixture = PoolFixture::new(limits);
    let view = fixture.view("/a");
    let user = async |name: &str| connect(&view, name, ShareScope::User).await;
    let held = [user("a").await.unwrap(), user("a").await.unwrap()];
    let refused = user("a").await.err().unwrap();
    assert_eq!(refused.reason, Reason::Overloaded);
    let other = user("b").await.unwrap();
    let refused = user("c").await.err().unwrap();
    assert_eq!(refused.reason, Reason::Overloaded);
    other.close().await;
    user("c").await.unwrap();
    drop(held);
    fixture.pool.released().await;
}

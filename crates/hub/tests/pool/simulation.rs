//! Random connections, ends, crashes and reloads over several views on paused time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_model::{Limits, Reason, ShareScope};
use pegboard_upstream::{CallOptions, Connect, Upstream};
use serde_json::value::RawValue;

use crate::random::Random;
use crate::servers::{PoolFixture, hint, spec};

const SEEDS: u64 = 60;
const CLIENTS: u64 = 12;
const STEPS: u64 = 40;
const SERVERS: [(&str, ShareScope); 4] = [
    ("user_1", ShareScope::User),
    ("user_2", ShareScope::User),
    ("project", ShareScope::Project),
    ("session", ShareScope::Session),
];

/// What one client does: opens connections, uses them, and gives them back in several ways.
async fn client(view: Arc<dyn Connect>, mut random: Random) -> u64 {
    let mut opened = 0;
    for _ in 0..STEPS {
        tokio::time::sleep(Duration::from_millis(random.below(3_000))).await;
        let (name, scope) = SERVERS[random.below(4) as usize];
        let mut spec = spec(name);
        // A reload may have changed the definition.
        spec.hash.0[0] ^= u8::from(random.percent(20));
        let budget = Duration::from_millis(1 + random.below(4_000));
        let timeout = Duration::from_millis(1 + random.below(5_000));
        let hint = hint(scope);
        let opening = view.connect(&spec, &hint, budget);
        // Some callers go away before the connection is open.
        let Ok(Ok(lease)) = tokio::time::timeout(timeout, opening).await else {
            continue;
        };
        opened += 1;
        use_lease(lease, &mut random).await;
    }
    opened
}

async fn use_lease(lease: Arc<dyn Upstream>, random: &mut Random) {
    let arguments = RawValue::from_string("{}".to_owned()).unwrap();
    for _ in 0..random.below(4) {
        tokio::time::sleep(Duration::from_millis(random.below(800))).await;
        let options = CallOptions::with_timeout(Duration::from_secs(5));
        match lease.call("t", &arguments, options).await {
            Ok(_) => {}
            // A crash ends the calls, and every lease reports it.
            Err(error) => {
                assert_eq!(error.reason, Reason::ServerExited, "{error:?}");
                assert!(!lease.is_alive());
                let ended = tokio::time::timeout(Duration::from_millis(1), lease.ended()).await;
                assert_eq!(ended.unwrap().reason, Reason::ServerExited);
            }
        }
    }
    match random.below(4) {
        0 => drop(lease),
        1 => drop(tokio::time::timeout(Duration::from_millis(1), lease.close()).await),
        2 => {
            tokio::join!(lease.close(), lease.close());
        }
        _ => {
            lease.close().await;
            assert!(!lease.is_alive());
        }
    }
}

async fn run(seed: u64) -> (u64, u64) {
    let random = Random::new(seed);
    let fixture = PoolFixture::new(Limits::default());
    let views: Vec<_> = (0..4)
        .map(|n| fixture.view(["/a", "/a", "/b", "/c"][n]))
        .collect();
    let clients = (0..CLIENTS).map(|number| {
        let view = views[number as usize % views.len()].clone();
        tokio::spawn(client(view, random.part(number)))
    });
    let clients: Vec<_> = clients.collect();
    let fakes = fixture.fakes.clone();
    let mut faults = random.part(1_000);
    let disturbing = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(faults.below(1_500))).await;
            let time = |random: &mut Random| Duration::from_millis(random.below(2_500));
            *fakes.start_time.lock().unwrap() = time(&mut faults);
            *fakes.close_time.lock().unwrap() = time(&mut faults);
            fakes.fails.store(faults.percent(20), Ordering::SeqCst);
            let instances = fakes.instances();
            if faults.percent(40) && !instances.is_empty() {
                let chosen = faults.below(instances.len() as u64) as usize;
                instances[chosen].crash();
            }
        }
    });
    let mut opened = 0;
    for client in clients {
        opened += client.await.unwrap();
    }
    disturbing.abort();
    let _ = disturbing.await;
    let released = fixture.pool.released();
    tokio::time::timeout(Duration::from_secs(60), released)
        .await
        .unwrap();
    assert_eq!(fixture.fakes.live(), 0, "seed {seed}: an instance is left");
    assert!(fixture.pool.instances().is_empty(), "seed {seed}");
    (opened, fixture.fakes.started())
}

#[tokio::test(start_paused = true)]
async fn r_share_02_no_key_has_two_instances_and_none_is_left_whatever_happens() {
    let (mut opened, mut started) = (0, 0);
    for seed in 0..SEEDS {
        let (leases, starts) = run(seed).await;
        opened += leases;
        started += starts;
    }
    // The generator reaches what is tested: many connections open, and a good part of them is shared.
    assert!(opened > SEEDS * CLIENTS * STEPS / 4, "{opened}");
    assert!(
        started < opened && started > SEEDS * 20,
        "{started} of {opened}"
    );
}

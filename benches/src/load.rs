//! Sends the same request repeatedly, from one thread over open connections.

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::client::{Client, Era, McpRequest, check};
use crate::process::ServerProcess;
use crate::report::median;

/// The target of a request.
#[derive(Clone)]
pub(crate) struct Target<'a> {
    pub(crate) process: &'a ServerProcess,
    pub(crate) path: &'a str,
    pub(crate) era: Era,
    pub(crate) request: McpRequest,
}

/// The result of one run, or the median of several.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoadStats {
    /// In microseconds.
    pub(crate) p50: f64,
    /// In microseconds.
    pub(crate) p99: f64,
    pub(crate) per_second: f64,
    /// CPU time of the server per response, in microseconds.
    pub(crate) cpu: f64,
}

/// A single-threaded runtime, which is enough for a client.
pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Measures the targets alternately, `rounds` times, so that changes of the machine's load affect all alike.
pub(crate) fn alternate<const N: usize>(
    targets: [&Target<'_>; N],
    connections: usize,
    rounds: usize,
    time: Duration,
) -> [LoadStats; N] {
    let mut runs: [Vec<LoadStats>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (target, runs) in targets.iter().zip(&mut runs) {
            runs.push(run(target, connections, time));
        }
    }
    runs.map(|runs| {
        let of = |part: fn(&LoadStats) -> f64| median(runs.iter().map(part).collect());
        LoadStats {
            p50: of(|pace| pace.p50),
            p99: of(|pace| pace.p99),
            per_second: of(|pace| pace.per_second),
            cpu: of(|pace| pace.cpu),
        }
    })
}

fn run(target: &Target<'_>, connections: usize, time: Duration) -> LoadStats {
    let runtime = runtime();
    let mut clients = Vec::new();
    runtime.block_on(async {
        for _ in 0..connections {
            let address = &target.process.address;
            let mut client = Client::open(address, target.path, target.era).await;
            // The first response verifies the setup and warms up caches.
            check(client.send(&target.request).await);
            clients.push(client);
        }
    });
    let cpu = target.process.cpu_nanos();
    let started = Instant::now();
    let mut micros: Vec<f64> = LocalSet::new().block_on(&runtime, async {
        let send = |client| send_until(client, target.request.clone(), started + time);
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|client| tokio::task::spawn_local(send(client)))
            .collect();
        let mut micros = Vec::new();
        for task in tasks {
            micros.append(&mut task.await.expect("a client"));
        }
        micros
    });
    let took = started.elapsed();
    let cpu = target.process.cpu_nanos() - cpu;
    micros.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = ((micros.len().saturating_sub(1)) as f64 * part).round() as usize;
        micros.get(place).copied().unwrap_or_default()
    };
    LoadStats {
        p50: at(0.5),
        p99: at(0.99),
        per_second: micros.len() as f64 / took.as_secs_f64(),
        cpu: cpu as f64 / 1e3 / micros.len() as f64,
    }
}

async fn send_until(mut client: Client, request: McpRequest, end: Instant) -> Vec<f64> {
    let length = client.send(&request).await.len();
    let mut micros = Vec::with_capacity(1 << 14);
    loop {
        let started = Instant::now();
        if started > end {
            return micros;
        }
        let answer = client.send(&request).await;
        let took = started.elapsed();
        if answer.len() != length {
            check(answer);
        }
        micros.push(took.as_secs_f64() * 1e6);
    }
}

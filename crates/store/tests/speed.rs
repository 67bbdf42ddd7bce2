//! Benchmark of the store with a catalog of realistic size. Run it manually in release mode: `cargo test --release -p
//! pegboard-store --test speed -- --ignored --nocapture`.
#![cfg(test)]

#[allow(dead_code)]
mod fixture;

use std::time::{Duration, Instant};

use fixture::{name, open, record_with};
use pegboard_store::Store;

const ROUNDS: usize = 50;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test]
#[ignore = "a measurement"]
async fn opening_and_loading_112_servers_with_2500_tools() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut saves = Vec::new();
    for n in 0..112 {
        let tools = if n < 36 { 23 } else { 22 };
        let record = record_with(&name(&format!("server_{n}")), n, tools, 1_800);
        let begun = Instant::now();
        store.save(&record).await.unwrap();
        saves.push(begun.elapsed());
    }
    let stats = store.stats().await.unwrap();
    drop(store);
    let (mut opens, mut loads) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let store = open(folder.path());
        opens.push(begun.elapsed());
        let begun = Instant::now();
        let loaded = store.load_blocking().unwrap();
        loads.push(begun.elapsed());
        assert_eq!(loaded.records.len(), 112);
    }
    println!("{stats:?}");
    println!(
        "open {:?}, load {:?}, save {:?}",
        median(opens),
        median(loads),
        median(saves)
    );
}

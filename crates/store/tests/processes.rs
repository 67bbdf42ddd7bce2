//! Several processes share one store, and any of them may be killed at any moment. The children run this program with
//! one of the ignored tests.
#![cfg(test)]
#![cfg(unix)]

#[allow(dead_code)]
mod fixture;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use fixture::{name, open, record};
use pegboard_model::ServerName;
use pegboard_store::{StateDir, Store};

const FOLDER: &str = "PEGBOARD_STORE_TEST_FOLDER";
const FIRST_SEED: &str = "PEGBOARD_STORE_TEST_SEED";
const KILLS: u64 = 200;
const SERVERS: [&str; 3] = ["alpha", "beta", "gamma"];

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    #[allow(clippy::disallowed_methods)] // The only children are copies of this test.
    fn start(test: &str, folder: &Path, seed: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                test,
                "--exact",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(FOLDER, folder)
            .env(FIRST_SEED, seed.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The words after `word` on the next line that starts with it; `None` at the end.
    fn next(&mut self, word: &str) -> Option<Vec<String>> {
        let line = self.lines.by_ref().map_while(Result::ok).find(|line| {
            // The test runner may print its own output first.
            line.contains(word)
        })?;
        let own = line.get(line.find(word)? + word.len()..)?;
        Some(own.split_whitespace().map(str::to_owned).collect())
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

#[tokio::test]
#[ignore = "a child of the tests below"]
async fn child_that_saves() {
    let Some(folder) = given(FOLDER) else { return };
    let store = open(Path::new(&folder));
    let mut seed: u64 = given(FIRST_SEED).unwrap().parse().unwrap();
    loop {
        let server = SERVERS[(seed % 3) as usize];
        store.save(&record(&name(server), seed)).await.unwrap();
        println!("saved {server} {seed}");
        seed += 1;
    }
}

#[tokio::test]
#[ignore = "a child of the tests below"]
async fn child_that_leads() {
    let Some(folder) = given(FOLDER) else { return };
    let store = open(Path::new(&folder));
    let _lead = store.lock_discovery(&name("alpha")).await.unwrap();
    println!("leading");
    std::future::pending::<()>().await;
}

#[tokio::test]
#[ignore = "a child of the tests below"]
async fn child_that_leads_in_turns() {
    let Some(folder) = given(FOLDER) else { return };
    let store = open(Path::new(&folder));
    let marker = Path::new(&folder).join("inside");
    for _ in 0..50 {
        let _lead = store.lock_discovery(&name("alpha")).await.unwrap();
        // Fails if another process is inside, too.
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&marker);
        file.expect("no other process holds the lock");
        tokio::task::yield_now().await;
        std::fs::remove_file(&marker).unwrap();
    }
    println!("finished");
}

#[tokio::test]
#[ignore = "a child of the tests below"]
async fn child_that_mints_the_key() {
    let Some(folder) = given(FOLDER) else { return };
    let key = StateDir::open(Path::new(&folder))
        .unwrap()
        .hash_key()
        .unwrap();
    println!("minted {}", blake3::Hash::from(key.0));
}

/// Checks that every record is complete, and no older than the last one that its writer reported as saved.
fn check_whole(folder: &Path, reported: &BTreeMap<ServerName, u64>) {
    let begun = Instant::now();
    let loaded = open(folder).load_blocking().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "opening after a kill took {:?}",
        begun.elapsed()
    );
    assert_eq!(loaded.notices, []);
    let found: BTreeMap<_, _> = loaded
        .records
        .iter()
        .map(|r| (r.server.clone(), r))
        .collect();
    assert_eq!(found.len(), loaded.records.len(), "one record per server");
    for (server, seed) in reported {
        let kept = found[server].discovered_at.unwrap().0;
        assert!(kept >= *seed, "{server}: {seed} was saved, {kept} is there");
        assert_eq!(*found[server], record(server, kept), "a mixture");
    }
}

#[test]
fn r_store_05_kill_9_leaves_old_or_new() {
    let folder = tempfile::tempdir().unwrap();
    let mut reported = BTreeMap::new();
    let mut seed = 1;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..KILLS {
        let mut child = Running::start("child_that_saves", folder.path(), seed);
        let mut saved = child.next("saved ").expect("the child saves");
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(round | 1);
        std::thread::park_timeout(Duration::from_micros((random >> 33) % 15_000));
        child.kill();
        loop {
            seed = saved[1].parse::<u64>().unwrap() + 2;
            reported.insert(name(&saved[0]), seed - 2);
            // A killed writer may leave an incomplete last line.
            match child.next("saved ").filter(|words| words.len() == 2) {
                Some(next) => saved = next,
                None => break,
            }
        }
        check_whole(folder.path(), &reported);
    }
    assert_eq!(reported.len(), SERVERS.len());
}

#[test]
fn r_store_06_processes_save_and_load_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..3)
        .map(|n| Running::start("child_that_saves", folder.path(), 1 + n * 1_000_000))
        .collect();
    for child in &mut children {
        child.next("saved ").expect("the child saves");
    }
    let store = open(folder.path());
    for _ in 0..60 {
        let loaded = store.load_blocking().unwrap();
        assert_eq!(loaded.notices, []);
        for found in &loaded.records {
            assert_eq!(
                *found,
                record(&found.server, found.discovered_at.unwrap().0),
                "a mixture"
            );
        }
        for child in &mut children {
            child.next("saved ").expect("every writer gets its turn");
        }
    }
}

#[tokio::test]
async fn r_disc_11_the_lead_of_a_killed_process_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut child = Running::start("child_that_leads", folder.path(), 0);
    child.next("leading").expect("the child leads");
    let server = name("alpha");
    let mut waiting = Box::pin(store.lock_discovery(&server));
    let early = tokio::time::timeout(Duration::from_millis(100), waiting.as_mut()).await;
    assert!(early.is_err(), "the child still leads");
    drop(store.lock_discovery(&name("beta")).await.unwrap());
    child.kill();
    drop(waiting.await.unwrap());
}

#[test]
fn r_disc_11_processes_lead_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..3)
        .map(|_| Running::start("child_that_leads_in_turns", folder.path(), 0))
        .collect();
    for child in &mut children {
        assert!(
            child.next("finished").is_some(),
            "a child met another leader"
        );
    }
}

#[test]
fn r_disc_05_processes_that_start_together_get_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..4)
        .map(|_| Running::start("child_that_mints_the_key", folder.path(), 0))
        .collect();
    let keys: Vec<_> = children
        .iter_mut()
        .map(|child| child.next("minted ").unwrap())
        .collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

//! A damaged file is set aside and rebuilt; invalid records are never returned.
#![cfg(test)]

#[allow(dead_code)]
mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use fixture::{name, open, record, record_with};
use pegboard_model::{Reason, ServerRecord, ToolError};
use pegboard_store::{LoadedRecords, SqliteStore, StateDir, Store};

const SERVERS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

fn originals() -> Vec<ServerRecord> {
    let mut records: Vec<_> = SERVERS
        .iter()
        .map(|server| record_with(&name(server), 7, 5, 400))
        .collect();
    records.sort_by(|a, b| a.server.cmp(&b.server));
    records
}

/// The bytes of a valid store, and its key.
async fn sound() -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = open(folder.path());
        for record in originals() {
            store.save(&record).await.unwrap();
        }
    }
    let file = |name: &str| fs::read(folder.path().join(name)).unwrap();
    (file("pegboard.db"), file("hash.key"))
}

fn set_aside(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".damaged-"))
        .collect()
}

/// Opens a store with these bytes. Whatever they are, the returned records are original ones, missing ones are
/// reported, and the store works afterwards.
async fn check(bytes: &[u8], key: &[u8], what: &str) -> LoadedRecords {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    fs::write(folder.path().join("hash.key"), key).unwrap();
    fs::write(folder.path().join("pegboard.db"), bytes).unwrap();
    let (store, mut notices) = match SqliteStore::open(&state) {
        Ok(opened) => opened,
        Err(error) => {
            assert_eq!(error.reason, Reason::StoreTooNew, "{what}: {error}");
            return LoadedRecords {
                records: Vec::new(),
                notices: vec![error],
            };
        }
    };
    let loaded = store
        .load_blocking()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    notices.extend(loaded.notices);
    for record in &loaded.records {
        assert!(
            originals().contains(record),
            "{what}: a record that was never written"
        );
    }
    assert!(
        loaded.records.len() == SERVERS.len() || !notices.is_empty(),
        "{what}: silent loss"
    );
    let fresh = record(&name("alpha"), 99);
    store
        .save(&fresh)
        .await
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let after = store
        .load_blocking()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        after.records.contains(&fresh),
        "{what}: the store works again"
    );
    LoadedRecords {
        records: loaded.records,
        notices,
    }
}

fn reasons(notices: &[ToolError]) -> Vec<Reason> {
    notices.iter().map(|notice| notice.reason).collect()
}

#[tokio::test]
async fn r_store_05_a_damaged_file_is_set_aside_reported_and_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    fs::write(
        folder.path().join("pegboard.db"),
        "this is not a database, whatever its name says",
    )
    .unwrap();
    let (store, notices) = SqliteStore::open(&state).unwrap();
    assert_eq!(reasons(&notices), [Reason::CacheCorrupt]);
    let aside = set_aside(folder.path());
    assert_eq!(aside.len(), 1);
    let file_name = aside[0].file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        notices[0].message.contains(&file_name),
        "{}",
        notices[0].message
    );
    assert!(
        fs::read_to_string(&aside[0])
            .unwrap()
            .starts_with("this is not a database")
    );
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    drop(store);
    assert_eq!(
        open(folder.path()).load_blocking().unwrap().records.len(),
        1
    );
}

#[tokio::test]
async fn r_store_k02_truncated_at_any_length() {
    let (bytes, key) = sound().await;
    assert_eq!(check(&bytes, &key, "whole").await.records, originals());
    let mut lengths: Vec<usize> = (0..64)
        .chain([99, 100, 101, 511, 512, 4_095, 4_096])
        .collect();
    lengths.extend((0..bytes.len()).step_by(bytes.len() / 120));
    for length in lengths {
        let loaded = check(&bytes[..length], &key, &format!("cut to {length} bytes")).await;
        // The last page may end in free space, whose loss is harmless.
        assert!(
            !loaded.notices.is_empty() || length > bytes.len() / 2,
            "cut to {length} bytes"
        );
    }
}

#[tokio::test]
async fn r_store_k02_any_byte_flipped() {
    let (bytes, key) = sound().await;
    // Most of a page is free space. The header, the page headers and the cells matter, so only bytes that are not
    // zero are flipped.
    let used: Vec<usize> = (0..bytes.len())
        .filter(|at| *at < 120 || bytes[*at] != 0)
        .collect();
    let places = used
        .iter()
        .copied()
        .take(160)
        .chain(used.iter().copied().step_by(used.len() / 240));
    for (turn, place) in places.enumerate() {
        let mut damaged = bytes.clone();
        damaged[place] ^= [0xff, 0x01, 0x80, 0x10][turn % 4];
        check(&damaged, &key, &format!("byte {place} flipped")).await;
    }
}

#[tokio::test]
async fn r_store_05_damage_found_while_open_is_repaired_and_reported_at_the_next_load() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let store = open(folder.path());
    {
        // Another program replaces the schema.
        let connection = rusqlite::Connection::open(folder.path().join("pegboard.db")).unwrap();
        connection.execute_batch("DROP TABLE server").unwrap();
    }
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.records, [record(&name("alpha"), 1)]);
    assert_eq!(reasons(&loaded.notices), [Reason::CacheCorrupt]);
    assert!(!set_aside(folder.path()).is_empty());
    assert_eq!(
        store.load().await.unwrap().notices,
        [],
        "it is reported once"
    );
}

#[test]
fn r_store_05_many_that_find_the_damage_at_once_set_one_file_aside() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.hash_key().unwrap();
    for round in 0..5 {
        fs::write(folder.path().join("pegboard.db"), "rubbish ".repeat(1_000)).unwrap();
        let notices: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let (store, notices) = SqliteStore::open(&state).unwrap();
                        assert_eq!(store.load_blocking().unwrap(), LoadedRecords::default());
                        notices.len()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(notices, 1, "exactly one reports it");
        let databases = set_aside(folder.path());
        let databases = databases.iter().filter(|path| {
            let name = path.to_string_lossy();
            !name.ends_with("-wal") && !name.ends_with("-shm")
        });
        assert_eq!(databases.count(), round + 1);
    }
}

#[tokio::test]
async fn a_write_ahead_log_of_a_deleted_store_is_not_applied_to_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    let log = fs::read(folder.path().join("pegboard.db-wal")).unwrap();
    assert!(!log.is_empty());
    drop(store);
    fs::remove_file(folder.path().join("pegboard.db")).unwrap();
    fs::write(folder.path().join("pegboard.db-wal"), log).unwrap();
    assert_eq!(
        open(folder.path()).load_blocking().unwrap(),
        LoadedRecords::default()
    );
}

#[tokio::test]
async fn r_store_05_open_handles_of_the_damaged_file_do_not_affect_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let early = open(folder.path());
    early.save(&record(&name("alpha"), 1)).await.unwrap();
    {
        let connection = rusqlite::Connection::open(folder.path().join("pegboard.db")).unwrap();
        connection.execute_batch("DROP TABLE server").unwrap();
    }
    let (late, notices) = SqliteStore::open(&StateDir::open(folder.path()).unwrap()).unwrap();
    assert_eq!(reasons(&notices), [Reason::CacheCorrupt]);
    late.save(&record(&name("beta"), 2)).await.unwrap();
    // The early one still has the old file open; it reopens with its next operation.
    early.save(&record(&name("gamma"), 3)).await.unwrap();
    drop(early);
    late.save(&record(&name("delta"), 4)).await.unwrap();
    let expected = [
        record(&name("beta"), 2),
        record(&name("delta"), 4),
        record(&name("gamma"), 3),
    ];
    assert_eq!(late.load().await.unwrap().records, expected);
    drop(late);
    assert_eq!(
        open(folder.path()).load_blocking().unwrap().records,
        expected
    );
}

#[tokio::test]
async fn r_store_05_closing_the_last_holder_of_a_damaged_file_leaves_the_new_log_alone() {
    let folder = tempfile::tempdir().unwrap();
    let early = open(folder.path());
    early.save(&record(&name("alpha"), 1)).await.unwrap();
    {
        let connection = rusqlite::Connection::open(folder.path().join("pegboard.db")).unwrap();
        connection.execute_batch("DROP TABLE server").unwrap();
    }
    let (late, _) = SqliteStore::open(&StateDir::open(folder.path()).unwrap()).unwrap();
    late.save(&record(&name("beta"), 2)).await.unwrap();
    drop(early);
    assert!(
        folder.path().join("pegboard.db-wal").exists(),
        "the log of the new file"
    );
    assert_eq!(
        open(folder.path()).load_blocking().unwrap().records,
        [record(&name("beta"), 2)]
    );
}

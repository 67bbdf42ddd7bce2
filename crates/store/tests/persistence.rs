//! What is saved is loaded completely by all processes that share the folder.
#![cfg(test)]

#[allow(dead_code)]
mod fixture;

use std::fs;
use std::path::Path;

use fixture::{config, name, open, record, record_with};
use pegboard_model::{ConfigHash, Reason, ServerRecord, Timestamp};
use pegboard_store::{MemoryStore, SqliteStore, StateDir, Store, StoreStats};

/// An unfinished attempt replaces nothing, and its result replaces it.
async fn check_attempts(store: &dyn Store) {
    let (server, first, second) = (name("tried"), ConfigHash([1; 32]), ConfigHash([2; 32]));
    let attempt = |config| ServerRecord {
        attempted_at: Some(Timestamp(50)),
        ..ServerRecord::undiscovered(server.clone(), config)
    };
    store.save_attempt(&attempt(first)).await.unwrap();
    let kept = store.load_server(&server, &first).await.unwrap();
    assert_eq!(kept, Some(attempt(first)));
    assert_eq!(store.load_former(&server, &second).await.unwrap(), None);

    let found = ServerRecord {
        config: first,
        ..record(&server, 60)
    };
    store.save(&found).await.unwrap();
    store.save_attempt(&attempt(first)).await.unwrap();
    let kept = store.load_server(&server, &first).await.unwrap();
    assert_eq!(
        kept.as_ref(),
        Some(&found),
        "a list is never replaced by a try"
    );

    store.save_attempt(&attempt(second)).await.unwrap();
    let former = store.load_former(&server, &second).await.unwrap();
    assert_eq!(former.as_ref(), Some(&found));
    assert_eq!(store.load_former(&server, &first).await.unwrap(), None);
    let later = ServerRecord {
        config: ConfigHash([3; 32]),
        ..record(&server, 70)
    };
    store.save(&later).await.unwrap();
    let former = store.load_former(&server, &second).await.unwrap();
    assert_eq!(former, Some(later), "the latest one");
    assert!(store.forget(&server).await.unwrap());
}

/// The behaviour that every store must have.
async fn check_keeping(store: &dyn Store) {
    assert_eq!(store.load().await.unwrap().records, []);
    assert_eq!(store.stats().await.unwrap(), StoreStats::default());
    let never = ServerRecord::undiscovered(name("quiet"), ConfigHash([7; 32]));
    let records = [record(&name("alpha"), 12), record(&name("beta"), 33), never];
    for record in records.iter().rev() {
        store.save(record).await.unwrap();
    }
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.records, records, "sorted by server");
    assert_eq!(loaded.notices, []);
    assert_eq!(
        store
            .load_server(&name("beta"), &config("beta"))
            .await
            .unwrap()
            .as_ref(),
        Some(&records[1])
    );
    assert_eq!(
        store
            .load_server(&name("gamma"), &config("gamma"))
            .await
            .unwrap(),
        None
    );

    let stats = store.stats().await.unwrap();
    assert_eq!(
        (stats.servers, stats.tools),
        (3, records[0].tools.len() + records[1].tools.len())
    );
    assert_eq!(
        (stats.oldest, stats.newest),
        (Some(Timestamp(12)), Some(Timestamp(33)))
    );
    let json = serde_json::to_value(stats).unwrap();
    assert_eq!(json["servers"], 3);
    assert!(json["bytes"].as_u64().unwrap() > 1_000);

    check_attempts(store).await;
    let newer = record(&name("alpha"), 40);
    store.save(&newer).await.unwrap();
    assert_eq!(
        store
            .load_server(&name("alpha"), &config("alpha"))
            .await
            .unwrap(),
        Some(newer)
    );
    assert!(store.forget(&name("alpha")).await.unwrap());
    assert!(!store.forget(&name("alpha")).await.unwrap());
    assert_eq!(store.clear().await.unwrap(), 2);
    assert_eq!(store.load().await.unwrap().records, []);
    drop(store.lock_discovery(&name("alpha")).await.unwrap());

    let other = ServerRecord {
        config: ConfigHash([1; 32]),
        ..record(&name("alpha"), 5)
    };
    store.save(&record(&name("alpha"), 6)).await.unwrap();
    store.save(&other).await.unwrap();
    assert_eq!(
        store
            .load_server(&name("alpha"), &other.config)
            .await
            .unwrap(),
        Some(other)
    );
    let first = store
        .load_server(&name("alpha"), &config("alpha"))
        .await
        .unwrap();
    assert_eq!(
        first,
        Some(record(&name("alpha"), 6)),
        "definitions do not take each other's place"
    );
    assert!(store.forget(&name("alpha")).await.unwrap());
    assert_eq!(store.load().await.unwrap().records, []);
}

#[tokio::test]
async fn only_the_newest_definitions_of_a_server_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for seed in 0..20_u8 {
        let config = ConfigHash([seed; 32]);
        let record = ServerRecord {
            config,
            ..record(&name("alpha"), u64::from(seed))
        };
        store.save(&record).await.unwrap();
    }
    let kept = store.load().await.unwrap().records;
    let times: Vec<_> = kept
        .iter()
        .map(|record| record.discovered_at.unwrap().0)
        .collect();
    assert_eq!(times, [12, 13, 14, 15, 16, 17, 18, 19]);
}

#[tokio::test]
async fn r_store_04_get_set_invalidate_clear_and_stats_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    check_keeping(&open(folder.path())).await;
}

#[tokio::test]
async fn r_store_04_get_set_invalidate_clear_and_stats_in_memory() {
    check_keeping(&MemoryStore::new()).await;
}

#[tokio::test]
async fn r_store_02_after_a_restart_everything_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<_> = (0..50)
        .map(|n| record(&name(&format!("server_{n:02}")), n))
        .collect();
    {
        let store = open(folder.path());
        for record in &records {
            store.save(record).await.unwrap();
        }
    }
    let loaded = open(folder.path()).load_blocking().unwrap();
    assert_eq!(loaded.records, records);
    assert_eq!(loaded.notices, []);
}

#[tokio::test]
async fn r_store_06_two_open_stores_see_each_others_records() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (open(folder.path()), open(folder.path()));
    a.save(&record(&name("alpha"), 1)).await.unwrap();
    b.save(&record(&name("beta"), 2)).await.unwrap();
    assert_eq!(a.load().await.unwrap(), b.load().await.unwrap());
    assert_eq!(a.load().await.unwrap().records.len(), 2);
}

#[tokio::test]
async fn a_large_list_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let large = record_with(&name("large"), 3, 2_000, 10_000);
    store.save(&large).await.unwrap();
    assert_eq!(
        store
            .load_server(&name("large"), &config("large"))
            .await
            .unwrap(),
        Some(large)
    );
}

fn edit(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(folder.join("pegboard.db")).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
}

/// Manipulates the row of `alpha`; checks that it is ignored, and for which reason.
async fn check_untrusted(sql: &str) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    store.save(&record(&name("beta"), 2)).await.unwrap();
    edit(folder.path(), sql);
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.records, [record(&name("beta"), 2)], "{sql}");
    assert_eq!(loaded.notices.len(), 1, "{sql}");
    assert_eq!(loaded.notices[0].reason, Reason::CacheUntrusted, "{sql}");
}

#[tokio::test]
async fn r_store_k03_a_manipulated_row_is_ignored_with_a_notice() {
    check_untrusted("UPDATE server SET body = CAST(body || x'00' AS BLOB) WHERE name = 'alpha'")
        .await;
    check_untrusted("UPDATE server SET body = x'' WHERE name = 'alpha'").await;
    check_untrusted("UPDATE server SET seal = zeroblob(32) WHERE name = 'alpha'").await;
    check_untrusted("UPDATE server SET seal = x'01' WHERE name = 'alpha'").await;
    check_untrusted("UPDATE server SET name = 'gamma' WHERE name = 'alpha'").await;
    check_untrusted("UPDATE server SET name = '../../etc' WHERE name = 'alpha'").await;
    check_untrusted(
        "UPDATE server SET (body, seal) = (SELECT body, seal FROM server WHERE name = 'beta')
         WHERE name = 'alpha'",
    )
    .await;
}

#[tokio::test]
async fn r_store_k03_asking_for_a_changed_row_is_an_error_and_saving_heals_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    edit(
        folder.path(),
        "UPDATE server SET body = CAST(body || x'00' AS BLOB)",
    );
    let error = store
        .load_server(&name("alpha"), &config("alpha"))
        .await
        .unwrap_err();
    assert_eq!(error.reason, Reason::CacheUntrusted);
    assert_eq!(error.remedy, "Run `pegboard refresh alpha`.");
    store.save(&record(&name("alpha"), 2)).await.unwrap();
    assert_eq!(
        store.load().await.unwrap().records,
        [record(&name("alpha"), 2)]
    );
}

#[tokio::test]
async fn r_store_k03_records_of_another_machine_are_not_trusted() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(here.path())
        .save(&record(&name("alpha"), 1))
        .await
        .unwrap();
    StateDir::open(there.path()).unwrap().hash_key().unwrap();
    fs::copy(
        here.path().join("pegboard.db"),
        there.path().join("pegboard.db"),
    )
    .unwrap();
    let loaded = open(there.path()).load_blocking().unwrap();
    assert_eq!(loaded.records, []);
    assert_eq!(loaded.notices[0].reason, Reason::CacheUntrusted);
}

#[tokio::test]
async fn r_store_k04_a_newer_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path())
        .save(&record(&name("alpha"), 1))
        .await
        .unwrap();
    let path = folder.path().join("pegboard.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let before = fs::read(&path).unwrap();
    let error = SqliteStore::open(&StateDir::open(folder.path()).unwrap())
        .err()
        .unwrap();
    assert_eq!(error.reason, Reason::StoreTooNew);
    assert!(error.message.contains("version 99"), "{}", error.message);
    assert_eq!(fs::read(&path).unwrap(), before);
    let names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("damaged")),
        "{names:?}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn r_store_k07_every_file_is_0600_also_after_it_was_wider() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let check = || {
        for entry in fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let expected = if entry.file_type().unwrap().is_dir() {
                0o700
            } else {
                0o600
            };
            assert_eq!(mode, expected, "{:?}", entry.file_name());
        }
    };
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    let _lead = store.lock_discovery(&name("alpha")).await.unwrap();
    assert!(
        folder.path().join("pegboard.db-wal").exists(),
        "the log is there while the store is open"
    );
    check();
    for file in ["pegboard.db", "pegboard.db-wal", "pegboard.db-shm"] {
        fs::set_permissions(folder.path().join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let _second = open(folder.path());
    check();
}

#[tokio::test]
async fn r_cfg_08_the_key_is_in_no_file_but_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    let key = StateDir::open(folder.path()).unwrap().hash_key().unwrap().0;
    let mut looked_into = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("hash.key") {
            let bytes = fs::read(&path).unwrap();
            assert!(
                !bytes.windows(key.len()).any(|part| part == key),
                "{}",
                path.display()
            );
            looked_into += 1;
        }
    }
    assert!(looked_into >= 3);
}

#[tokio::test]
async fn a_store_that_was_deleted_under_an_open_one_is_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    fs::remove_file(folder.path().join("pegboard.db")).unwrap();
    store.save(&record(&name("beta"), 2)).await.unwrap();
    assert_eq!(
        open(folder.path()).load_blocking().unwrap().records,
        [record(&name("beta"), 2)]
    );
}

#[tokio::test]
async fn r_store_k04_tools_are_never_given_out_under_another_definition() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.save(&record(&name("alpha"), 1)).await.unwrap();
    edit(folder.path(), "UPDATE server SET config = zeroblob(32)");
    let other = ConfigHash([0; 32]);
    let error = store.load_server(&name("alpha"), &other).await.unwrap_err();
    assert_eq!(error.reason, Reason::CacheUntrusted);
    assert_eq!(
        store.load().await.unwrap().records,
        [record(&name("alpha"), 1)]
    );
}

/// A command that ends without closing leaves its log; the next start checkpoints it and loses nothing.
#[tokio::test]
async fn r_store_05_a_large_remaining_write_ahead_log_is_checkpointed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("pegboard.db-wal");
    let length = || fs::metadata(&log).map_or(0, |log| log.len());
    let records: Vec<_> = (0..20)
        .map(|n| record_with(&name(&format!("server_{n:02}")), 7, 20, 900))
        .collect();
    let left = open(folder.path());
    for record in &records {
        left.save(record).await.unwrap();
    }
    // As at the end of a process: nothing is closed.
    std::mem::forget(left);
    assert!(length() > 256 * 1024, "{} bytes", length());

    let store = open(folder.path());
    let wanted = || records.iter().map(|kept| (&kept.server, &kept.config));
    assert_eq!(store.load_matching(wanted()).unwrap().records, records);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while length() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} bytes", length());
        tokio::task::yield_now().await;
    }
    assert_eq!(store.load_matching(wanted()).unwrap().records, records);
    store.save(&record(&name("server_00"), 99)).await.unwrap();
    let later = open(folder.path());
    assert_eq!(later.load_blocking().unwrap().records.len(), records.len());
}

#[tokio::test]
async fn a_store_that_is_opened_later_gives_what_an_earlier_one_kept() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let kept = record(&name("server"), 1);
    let wanted = || std::iter::once((&kept.server, &kept.config));
    let first = SqliteStore::open_lazily(&state).unwrap();
    assert!(first.is_new());
    assert!(first.load_matching(wanted()).unwrap().records.is_empty());
    first.save(&kept).await.unwrap();
    let later = SqliteStore::open_lazily(&state).unwrap();
    assert!(!later.is_new());
    assert_eq!(
        later.load_matching(wanted()).unwrap().records,
        std::slice::from_ref(&kept)
    );
}

#[tokio::test]
async fn records_that_arrive_together_while_the_store_is_built_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let (store, _) = SqliteStore::open_in_background(&state).unwrap();
    let store = std::sync::Arc::new(store);
    let mut saving = tokio::task::JoinSet::new();
    for number in 0..50_u64 {
        let store = store.clone();
        let record = record(&name(&format!("server{number}")), number);
        saving.spawn(async move { store.save(&record).await });
    }
    while let Some(saved) = saving.join_next().await {
        saved.unwrap().unwrap();
    }
    store.checkpoint().await;
    drop(store);
    assert_eq!(
        open(folder.path()).load_blocking().unwrap().records.len(),
        50
    );
}

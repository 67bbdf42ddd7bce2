//! Vectors and remembered queries are kept per model and deleted with their server.
#![cfg(test)]

#[allow(dead_code)]
mod fixture;

use fixture::{config, name, open, record};
use pegboard_model::{Fingerprint, Timestamp};
use pegboard_store::{
    MAX_REMEMBERED_QUERIES_PER_TOOL, MemoryStore, RememberedQuery, SearchStore, Store,
};

const MODEL: &str = "model-1";

fn query(tool: &str, at: u64) -> RememberedQuery {
    RememberedQuery {
        server: name("alpha"),
        tool: tool.to_owned(),
        fingerprint: Fingerprint([9; 32]),
        vector: vec![at as u8; 8],
        at: Timestamp(at),
    }
}

async fn check_vectors(store: &dyn Store) {
    let (alpha, hash) = (name("alpha"), config("alpha"));
    let save = |bytes: Vec<u8>| store.save_vectors(&alpha, &hash, MODEL, bytes);
    save(vec![1]).await.unwrap();
    let load = |model| store.load_vectors(&alpha, &hash, model);
    assert_eq!(load(MODEL).await.unwrap(), None, "of no known server");

    store.save(&record(&alpha, 12)).await.unwrap();
    save(vec![1, 2]).await.unwrap();
    save(vec![3, 4]).await.unwrap();
    assert_eq!(load(MODEL).await.unwrap(), Some(vec![3, 4]));
    assert_eq!(load("model-2").await.unwrap(), None, "of another model");
    let other = config("beta");
    let under = store.load_vectors(&alpha, &other, MODEL).await.unwrap();
    assert_eq!(under, None, "of another definition");

    store.save(&record(&alpha, 13)).await.unwrap();
    assert_eq!(
        load(MODEL).await.unwrap(),
        Some(vec![3, 4]),
        "after a refresh"
    );
    store.forget(&alpha).await.unwrap();
    assert_eq!(
        load(MODEL).await.unwrap(),
        None,
        "forgotten with its server"
    );
}

async fn check_memory(store: &dyn Store) {
    for (tool, at) in [("one", 1), ("two", 2), ("one", 3)] {
        store.remember(MODEL, query(tool, at)).await.unwrap();
    }
    let times = |found: Vec<RememberedQuery>| found.iter().map(|q| q.at.0).collect::<Vec<_>>();
    assert_eq!(times(store.load_queries(MODEL).await.unwrap()), [3, 2, 1]);
    assert_eq!(store.load_queries("model-2").await.unwrap(), []);
    assert_eq!(store.clear_queries().await.unwrap(), 3);
    assert_eq!(store.load_queries(MODEL).await.unwrap(), []);
}

#[tokio::test]
async fn r_find_02_vectors_are_kept_for_their_model_and_leave_with_their_server() {
    let folder = tempfile::tempdir().unwrap();
    check_vectors(&open(folder.path())).await;
    check_vectors(&MemoryStore::new()).await;
}

#[tokio::test]
async fn remembered_queries_come_back_newest_first_and_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    check_memory(&open(folder.path())).await;
    check_memory(&MemoryStore::new()).await;
}

#[tokio::test]
async fn one_tool_holds_only_so_many_queries() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let most = MAX_REMEMBERED_QUERIES_PER_TOOL as u64;
    store.remember(MODEL, query("rare", 0)).await.unwrap();
    for at in 1..=most + 3 {
        store.remember(MODEL, query("often", at)).await.unwrap();
    }
    let kept = store.load_queries(MODEL).await.unwrap();
    let often = kept.iter().filter(|query| query.tool == "often");
    assert_eq!(often.clone().count(), MAX_REMEMBERED_QUERIES_PER_TOOL);
    assert_eq!(
        often.map(|query| query.at.0).min(),
        Some(4),
        "the oldest went"
    );
    assert!(kept.iter().any(|query| query.tool == "rare"));
}

#[tokio::test]
async fn r_sec_01_what_somebody_else_wrote_is_not_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let (alpha, hash) = (name("alpha"), config("alpha"));
    store.save(&record(&alpha, 12)).await.unwrap();
    store
        .save_vectors(&alpha, &hash, MODEL, vec![7; 32])
        .await
        .unwrap();
    store.remember(MODEL, query("one", 1)).await.unwrap();

    let file = rusqlite::Connection::open(folder.path().join("pegboard.db")).unwrap();
    file.execute("UPDATE vectors SET body = zeroblob(32)", [])
        .unwrap();
    file.execute("UPDATE memory SET tool = 'another'", [])
        .unwrap();
    assert_eq!(
        store.load_vectors(&alpha, &hash, MODEL).await.unwrap(),
        None
    );
    assert_eq!(store.load_queries(MODEL).await.unwrap(), []);
}

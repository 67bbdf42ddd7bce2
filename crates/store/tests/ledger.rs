//! Grants and activity last, are shared between processes, and cannot be forged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a broken fixture must fail its test"
)]

use std::path::Path;
use std::time::Duration;

use pegboard_model::{
    Activity, ActivityKind, ApprovalDecision, ApprovalRequest, ApprovalResponse, ConfigHash,
    Fingerprint, Grant, ServerName, Timestamp, ToolVersion,
};
use pegboard_store::{Ledger, MemoryLedger, SqliteLedger, StateDir};

fn server() -> ServerName {
    ServerName::parse("github").unwrap()
}

fn version(fingerprint: u8) -> ToolVersion {
    ToolVersion {
        server: Some(server()),
        config: ConfigHash([1; 32]),
        tool: "drop".to_owned(),
        fingerprint: Fingerprint([fingerprint; 32]),
    }
}

fn request(id: &str, from: u64, until: u64) -> ApprovalRequest {
    ApprovalRequest {
        id: id.to_owned(),
        session: "s".to_owned(),
        client: None,
        tool: "github__drop".to_owned(),
        version: version(1),
        definition: "{}".to_owned(),
        arguments: r#"{"a": 1}"#.to_owned(),
        rule: "default".to_owned(),
        changed: Vec::new(),
        offers_session: true,
        asked_at: Timestamp(from),
        expires_at: Timestamp(until),
    }
}

fn answer(decision: ApprovalDecision, at: u64) -> ApprovalResponse {
    ApprovalResponse {
        decision,
        by: "test".to_owned(),
        at: Timestamp(at),
    }
}

fn open(folder: &Path) -> SqliteLedger {
    SqliteLedger::new(&StateDir::open(folder).unwrap())
}

async fn behaves(ledger: &dyn Ledger) {
    use ApprovalDecision::{Always, Once, Refuse};
    assert!(ledger.add_request(request("aa", 10, 100), 2).await.unwrap());
    assert!(ledger.add_request(request("bb", 11, 100), 2).await.unwrap());
    assert!(
        !ledger.add_request(request("cc", 12, 100), 2).await.unwrap(),
        "too many"
    );
    let ids = |requests: Vec<ApprovalRequest>| -> Vec<String> {
        requests.into_iter().map(|request| request.id).collect()
    };
    assert_eq!(
        ids(ledger.pending_requests(Timestamp(50)).await.unwrap()),
        ["aa", "bb"]
    );
    assert!(
        ledger
            .pending_requests(Timestamp(100))
            .await
            .unwrap()
            .is_empty(),
        "it is too late"
    );
    assert!(
        ledger
            .decide("aa", answer(Always, 100))
            .await
            .unwrap()
            .is_none(),
        "too late"
    );
    assert!(ledger.grants().await.unwrap().is_empty());
    assert!(
        ledger
            .decide("zz", answer(Once, 50))
            .await
            .unwrap()
            .is_none()
    );
    let answered = ledger
        .decide("aa", answer(Always, 50))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(answered, request("aa", 10, 100));
    assert!(
        ledger
            .decide("aa", answer(Refuse, 51))
            .await
            .unwrap()
            .is_none(),
        "once only"
    );
    assert_eq!(
        ledger.decision("aa").await.unwrap().unwrap().decision,
        Always
    );
    assert_eq!(
        ids(ledger.pending_requests(Timestamp(50)).await.unwrap()),
        ["bb"]
    );
    assert_eq!(
        ledger.remove_request("aa").await.unwrap().unwrap().by,
        "test"
    );
    assert!(ledger.remove_request("aa").await.unwrap().is_none());
    assert!(ledger.remove_request("bb").await.unwrap().is_none());

    let held = ledger.grants_of(Some(&server()), "drop").await.unwrap();
    assert_eq!((held.len(), &held[0].version), (1, &version(1)));
    assert!(ledger.grants_of(None, "drop").await.unwrap().is_empty());
    let newer = Grant {
        version: version(2),
        ..held[0].clone()
    };
    ledger.save_grant(newer.clone()).await.unwrap();
    assert_eq!(
        ledger.grants().await.unwrap(),
        [newer],
        "in place of the earlier one"
    );
    assert_eq!(ledger.revoke(Some(&server()), "drop").await.unwrap(), 1);
    assert_eq!(ledger.revoke(Some(&server()), "drop").await.unwrap(), 0);

    let line = |n: u64| Activity {
        tool: Some(format!("t{n}")),
        server: Some(server()),
        duration_ms: Some(n),
        ..Activity::new(Timestamp(n), ActivityKind::Call, "ok")
    };
    ledger
        .add_activity((1..=30).map(line).collect(), 20)
        .await
        .unwrap();
    let all = ledger.activity(100, None).await.unwrap();
    assert_eq!(all.len(), 20, "the oldest are dropped");
    assert_eq!(all[0].tool.as_deref(), Some("t30"));
    let page = ledger.activity(5, Some(all[4].id)).await.unwrap();
    assert_eq!(page, all[5..10]);
}

#[tokio::test]
async fn r_pol_02_every_ledger_stores_requests_decisions_grants_and_activity() {
    behaves(&MemoryLedger::new()).await;
    let folder = tempfile::tempdir().unwrap();
    behaves(&open(folder.path())).await;
}

#[tokio::test]
async fn r_pol_02_an_answer_in_one_process_wakes_the_one_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    // Two ledgers with the same folder see each other only through its files, like two processes.
    let (waits, answers) = (open(folder.path()), open(folder.path()));
    let mut changes = waits.changes();
    assert!(
        waits
            .add_request(request("aa", 10, u64::MAX / 2), 9)
            .await
            .unwrap()
    );
    let waiting = answers.pending_requests(Timestamp(50)).await.unwrap();
    assert_eq!(waiting[0].arguments, r#"{"a": 1}"#);
    answers
        .decide("aa", answer(ApprovalDecision::Once, 50))
        .await
        .unwrap()
        .unwrap();
    let learnt = async {
        while waits.decision("aa").await.unwrap().is_none() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), learnt)
        .await
        .expect("it never woke");
}

#[tokio::test]
async fn r_sec_02_a_forged_decision_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path());
    assert!(ledger.add_request(request("aa", 10, 100), 9).await.unwrap());
    let grant = Grant {
        version: version(1),
        exposed: "github__drop".to_owned(),
        definition: "{}".to_owned(),
        at: Timestamp(1),
        by: "test".to_owned(),
    };
    ledger.save_grant(grant).await.unwrap();
    let database = rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap();
    let given = serde_json::to_string(&answer(ApprovalDecision::Always, 50)).unwrap();
    let sql = "UPDATE inbox SET answer = ?1, answer_seal = zeroblob(32)";
    assert_eq!(database.execute(sql, [&given]).unwrap(), 1);
    assert!(ledger.decision("aa").await.unwrap().is_none());
    // A grant of one version cannot be changed into one of another.
    let body: String = database
        .query_row("SELECT body FROM consent", [], |row| row.get(0))
        .unwrap();
    let forged = body.replace(&"01".repeat(32), &"02".repeat(32));
    assert_ne!(forged, body);
    database
        .execute("UPDATE consent SET body = ?1", [&forged])
        .unwrap();
    assert!(ledger.grants().await.unwrap().is_empty());
}

#[tokio::test]
async fn r_sec_02_a_damaged_ledger_is_set_aside_and_grants_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::create_dir_all(folder.path()).unwrap();
    std::fs::write(&path, "this is not a database ".repeat(500)).unwrap();
    let ledger = open(folder.path());
    assert!(ledger.grants().await.unwrap().is_empty());
    assert!(ledger.add_request(request("aa", 10, 100), 9).await.unwrap());
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("ledger.db.damaged-")),
        "{names:?}"
    );
}

#[tokio::test]
async fn a_log_that_every_command_reads_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path());
    for number in 0..600 {
        let line = Activity::new(Timestamp(number), ActivityKind::Call, "ok");
        ledger.add_activity(vec![line], 10_000).await.unwrap();
    }
    let log = folder.path().join("ledger.db-wal");
    let bytes = std::fs::metadata(log).unwrap().len();
    assert!(bytes < 1024 * 1024, "{bytes} bytes");
    assert_eq!(ledger.activity(1_000, None).await.unwrap().len(), 600);
}

#[cfg(unix)]
#[tokio::test]
async fn r_sec_02_only_the_owner_can_read_the_ledger() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path());
    assert!(ledger.add_request(request("aa", 10, 100), 9).await.unwrap());
    let mode = |name: &str| {
        let path = folder.path().join(name);
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    for name in ["ledger.db", "ledger.db-wal", "notify/inbox"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

//! The process: its clients and instances, and stopping one.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pegboard_background::{ClientStatus, InstanceStatus, LeaseStatus, ProcessStatus};
use pegboard_web::ProcessAdmin;
use serde_json::{Value, json};

use crate::site::{ADMIN, CALL, TestSite};

/// A process with two clients and one instance.
#[derive(Default)]
struct FakeProcess {
    stopped: Mutex<Vec<u64>>,
}

fn client(session: &str, view: &str) -> ClientStatus {
    ClientStatus {
        session: Some(session.to_owned()),
        transport: "stdio".to_owned(),
        name: Some("claude-code 2.0".to_owned()),
        pid: Some(12),
        view: view.to_owned(),
        project: view.into(),
        profile: "work".to_owned(),
        since: 5,
        calls: 3,
        ..ClientStatus::default()
    }
}

#[async_trait]
impl ProcessAdmin for FakeProcess {
    fn status(&self) -> ProcessStatus {
        ProcessStatus {
            pid: 99,
            build: "1.2.3".to_owned(),
            started: 4,
            clients: vec![client("a", "/code/one"), client("b", "/code/two")],
            instances: vec![InstanceStatus {
                id: Some(7),
                server: "one".to_owned(),
                scope: "project".to_owned(),
                reason: "auto: nothing is known".to_owned(),
                leases: vec![LeaseStatus {
                    view: "/code/two".to_owned(),
                    session: None,
                }],
                in_flight: 1,
                ..InstanceStatus::default()
            }],
            ..ProcessStatus::default()
        }
    }

    async fn stop_instance(&self, id: u64) -> Option<String> {
        self.stopped.lock().unwrap().push(id);
        (id == 7).then(|| "one".to_owned())
    }
}

#[tokio::test]
async fn r_share_01_all_clients_and_instances_of_the_process_are_listed() {
    let site = TestSite::of_process(Arc::new(FakeProcess::default())).await;
    let shown = site.get("/process").await.json();
    let expected_client = json!({
        "session": "a", "transport": "stdio", "client": "claude-code 2.0", "pid": 12, "project": "/code/one",
        "profile": "work", "since": 5, "calls": 3,
    });
    assert_eq!(shown["clients"][0], expected_client);
    assert_eq!(shown["clients"].as_array().map(Vec::len), Some(2));
    let expected = json!([{
        "id": 7, "server": "one", "scope": "project", "reason": "auto: nothing is known", "clients": 1,
        "users": [{"project": "/code/two"}], "since": 0, "runningRequests": 1, "takesTurns": false,
    }]);
    assert_eq!(shown["instances"], expected);
    assert_eq!(
        (&shown["pid"], &shown["kind"], &shown["phase"]),
        (&json!(99), &json!("background"), &json!("serving"))
    );
}

#[tokio::test]
async fn r_share_01_only_an_administrator_stops_an_instance() {
    let process = Arc::new(FakeProcess::default());
    let site = TestSite::of_process(process.clone()).await;
    let stop = |token: &'static str, id: &'static str| {
        let site = &site;
        async move {
            let path = format!("/instances/{id}/stop");
            site.request(token, "POST", &path, Value::Null).await
        }
    };
    assert_eq!(stop(CALL, "7").await.code(), "ADMIN_NEEDED");
    assert!(process.stopped.lock().unwrap().is_empty());
    assert_eq!(stop(ADMIN, "7").await.json(), json!({"server": "one"}));
    for unknown in ["8", "some", "-1", "99999999999999999999"] {
        let refused = stop(ADMIN, unknown).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (404, "INSTANCE_UNKNOWN")
        );
    }
    assert_eq!(*process.stopped.lock().unwrap(), [7, 8]);
}

#[tokio::test]
async fn r_share_01_without_other_projects_the_own_sessions_are_listed() {
    let site = TestSite::new().await;
    let shown = site.get("/process").await.json();
    assert_eq!(shown["pid"], std::process::id());
    assert_eq!(shown["kind"], "foreground");
    assert_eq!(shown["clients"], json!([]));
    let refused = site
        .request(ADMIN, "POST", "/instances/1/stop", Value::Null)
        .await;
    assert_eq!(refused.status, 404);
}

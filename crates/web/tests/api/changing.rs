//! Adding, changing, refreshing and removing servers.

use pegboard_model::EventKind;
use serde_json::{Value, json};

use crate::fake_servers::tool;
use crate::site::{CALL, TestSite};

#[tokio::test]
async fn r_api_05_a_server_that_is_added_is_discovered_at_once() {
    let site = TestSite::new().await;
    site.servers.set("three", vec![tool("fetch"), tool("post")]);
    let mut events = site.hub.subscribe();
    let add = json!({"name": "three", "command": "fetcher", "args": ["--all"]});
    let response = site.admin("POST", "/servers", add.clone()).await;
    assert_eq!(response.status, 201, "{response:?}");
    let response = response.json();
    assert!(response["command"].as_str().unwrap().starts_with("fetcher"));
    assert_eq!(response["discovery"]["status"], "success");
    assert_eq!(response["discovery"]["tools"], 2);
    assert_eq!(
        response["discovery"]["delta"]["added"],
        json!(["fetch", "post"])
    );
    assert_eq!(response["server"]["health"]["status"], "success");
    assert_eq!(site.get("/tools?server=three").await.json()["total"], 2);
    let mut emitted = Vec::new();
    while let Ok(event) = events.try_recv() {
        emitted.push(event.kind);
    }
    let is_discovery = |kind: &EventKind| matches!(kind, EventKind::ServerDiscovered { server, .. } if server.as_str() == "three");
    assert!(emitted.iter().any(is_discovery), "{emitted:?}");
    let again = site.admin("POST", "/servers", add).await;
    assert_eq!(
        (again.status, again.code()),
        (409, "CONFIG_DUPLICATE".into())
    );
}

#[tokio::test]
async fn r_api_05_a_failure_is_stored_with_the_server_and_reported() {
    let site = TestSite::new().await;
    let add = json!({"name": "broken", "command": "nothing-like-this"});
    let response = site.admin("POST", "/servers", add).await;
    assert_eq!(response.status, 201, "{response:?}");
    let response = response.json();
    assert_eq!(response["discovery"]["status"], "failed");
    assert_eq!(response["discovery"]["error"]["code"], "SPAWN_NOT_FOUND");
    assert_eq!(response["discovery"]["error"]["message"], "no such command");
    let kept = site.get("/servers/broken").await.json();
    assert_eq!(kept["health"]["status"], "failed");
    assert_eq!(kept["health"]["lastError"]["message"], "no such command");
}

#[tokio::test]
async fn r_api_05_changes_and_removals_are_applied() {
    let site = TestSite::new().await;
    let starts = site.servers.starts();
    let about = json!({"description": "Reads and writes"});
    let response = site.admin("PATCH", "/servers/one", about).await.json();
    assert_eq!(response["server"]["description"], "Reads and writes");
    assert_eq!(response["discovery"], Value::Null);
    assert_eq!(site.servers.starts(), starts, "nothing was started for it");
    site.servers.set("one", vec![tool("read")]);
    let command = json!({"command": "another"});
    let response = site.admin("PATCH", "/servers/one", command).await.json();
    assert_eq!(response["discovery"]["tools"], 1, "{response}");
    assert!(response["command"].as_str().unwrap().starts_with("another"));
    let mut events = site.hub.subscribe();
    let off = site
        .admin("POST", "/servers/two/disable", Value::Null)
        .await;
    assert_eq!(off.json()["server"]["enabled"], false);
    assert_eq!(site.get("/tools?server=two").await.json()["total"], 0);
    let removed = events.recv().await.unwrap().kind;
    assert!(
        matches!(removed, EventKind::ServerRemoved { .. }),
        "{removed:?}"
    );
    site.admin("POST", "/servers/two/enable", Value::Null).await;
    assert_eq!(site.get("/tools?server=two").await.json()["total"], 1);
    let gone = site.admin("DELETE", "/servers/two", Value::Null).await;
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(site.get("/servers/two").await.status, 404);
    let lines = site
        .eventually("/activity", |seen| {
            let lines = seen["activity"].as_array().unwrap();
            lines
                .iter()
                .any(|line| line["outcome"] == "removed" && line["session"] == "api")
        })
        .await;
    let changed = |line: &&Value| {
        let is_change = line["outcome"] == "changed" && line["server"] == "one";
        is_change && line["kind"] != "discovery"
    };
    let lines = lines["activity"].as_array().unwrap();
    let changed = lines.iter().find(changed).unwrap();
    assert!(
        changed["tool"].as_str().unwrap().starts_with("another"),
        "{changed}"
    );
}

#[tokio::test]
async fn r_api_06_a_refresh_reports_what_changed() {
    let site = TestSite::new().await;
    site.servers.set("one", vec![tool("read"), tool("copy")]);
    let asked = site
        .request(CALL, "POST", "/servers/one/refresh", Value::Null)
        .await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let asked = asked.json();
    assert_eq!(asked["delta"]["added"], json!(["copy"]));
    assert_eq!(asked["delta"]["removed"], json!(["write"]));
    assert_eq!(asked["source"], "discovered");
    let server = site.get("/servers/one").await.json();
    assert_eq!(server["lastDelta"]["delta"]["added"], json!(["copy"]));
    let body = json!({"force": false});
    let fresh = site
        .request(CALL, "POST", "/servers/one/refresh", body)
        .await
        .json();
    assert_eq!(fresh["source"], "fresh");
    let all = site
        .request(CALL, "POST", "/refresh", json!({"force": true}))
        .await
        .json();
    assert_eq!(all["servers"].as_array().unwrap().len(), 2);
    let bad = site
        .request(CALL, "POST", "/refresh", json!({"forced": true}))
        .await;
    assert_eq!((bad.status, bad.code()), (400, "REQUEST_INVALID".into()));
}

#[tokio::test]
async fn r_store_04_cleared_tools_are_forgotten_until_they_are_needed() {
    let site = TestSite::new().await;
    let starts = site.servers.starts();
    let total = |path: &'static str| async { site.get(path).await.json()["total"].clone() };
    for path in ["/servers/one/clear", "/clear"] {
        let refused = site.request(CALL, "POST", path, Value::Null).await;
        assert_eq!(
            (refused.status, refused.code()),
            (403, "ADMIN_NEEDED".into())
        );
    }
    assert_eq!(total("/tools").await, 3, "nothing was forgotten");
    let mut events = site.hub.subscribe();
    let cleared = site.admin("POST", "/servers/one/clear", Value::Null).await;
    assert_eq!(
        (cleared.status, cleared.json()),
        (200, json!({"cleared": 1}))
    );
    assert_eq!(total("/tools").await, 1);
    let server = site.get("/servers/one").await.json();
    assert_eq!(server["health"]["status"], "never");
    let emitted = events.try_recv().unwrap().kind;
    let updated = EventKind::RegistryUpdated {
        static_tools: 0,
        mcp_tools: 1,
    };
    assert_eq!(emitted, updated);
    let cleared = site.admin("POST", "/clear", Value::Null).await;
    assert_eq!(cleared.json(), json!({"cleared": 1}));
    assert_eq!(total("/tools").await, 0);
    assert_eq!(site.servers.starts(), starts, "nothing was started for it");
    let unknown = site.admin("POST", "/servers/none/clear", Value::Null).await;
    assert_eq!(
        (unknown.status, unknown.code()),
        (404, "SERVER_UNKNOWN".into())
    );
    site.eventually("/activity", |seen| {
        let lines = seen["activity"].as_array().unwrap();
        let is_cleared = |line: &&Value| line["outcome"] == "cleared" && line["session"] == "api";
        lines.iter().filter(is_cleared).count() == 2
    })
    .await;
}

#[tokio::test]
async fn r_api_04_a_body_that_is_not_json_names_no_field() {
    let site = TestSite::new().await;
    for body in ["{nope", "", "{", "[", r#"{"name": tru}"#, "\u{1}"] {
        let mut request = crate::site::request(crate::site::ADMIN, "POST", "/servers", json!({}));
        *request.body_mut() = axum::body::Body::from(body);
        let response = site.send(request).await;
        assert_eq!(
            (response.status, response.code()),
            (400, "REQUEST_INVALID".into())
        );
        let error = &response.json()["error"];
        assert_eq!(error.get("field"), None, "{body}: {error}");
    }
    let nested = json!({"name": "three", "command": "a", "env": {"": 1}});
    let response = site.admin("POST", "/servers", nested).await;
    let field = response.json()["error"]["field"].clone();
    assert_eq!(field, "env", "{}", response.body);
}

#[tokio::test]
async fn r_api_04_a_definition_that_is_wrong_is_refused_with_its_field() {
    let site = TestSite::new().await;
    for (body, code, field) in [
        (json!({}), "REQUEST_INVALID", "name"),
        (json!({"name": "three"}), "REQUEST_INVALID", "command"),
        (
            json!({"name": "three", "command": " "}),
            "REQUEST_INVALID",
            "command",
        ),
        (
            json!({"name": "three", "command": "a", "url": "b"}),
            "REQUEST_INVALID",
            "url",
        ),
        (
            json!({"name": "No Name", "command": "a"}),
            "CONFIG_NAME",
            "name",
        ),
        (
            json!({"name": "three", "command": 7}),
            "REQUEST_INVALID",
            "command",
        ),
        (
            json!({"name": "three", "comand": "a"}),
            "REQUEST_INVALID",
            "comand",
        ),
        (
            json!({"name": "three", "command": "a", "env": {"A": 1}}),
            "REQUEST_INVALID",
            "env.A",
        ),
        (json!([]), "REQUEST_INVALID", ""),
    ] {
        let response = site.admin("POST", "/servers", body.clone()).await;
        assert_eq!(
            (response.status, response.code()),
            (400, code.into()),
            "{body}"
        );
        let reported = response.json()["error"]["field"].clone();
        assert_eq!(
            reported.as_str().unwrap_or_default(),
            field,
            "{body}: {}",
            response.body
        );
    }
    let response = site
        .admin("PATCH", "/servers/one", json!({"rules": 1}))
        .await;
    assert_eq!(
        (response.status, response.code()),
        (400, "REQUEST_INVALID".into())
    );
    assert_eq!(
        site.get("/servers").await.json()["servers"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

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
    let answer = site.admin("POST", "/servers", add.clone()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    assert!(answer["command"].as_str().unwrap().starts_with("fetcher"));
    assert_eq!(answer["discovery"]["status"], "success");
    assert_eq!(answer["discovery"]["tools"], 2);
    assert_eq!(
        answer["discovery"]["delta"]["added"],
        json!(["fetch", "post"])
    );
    assert_eq!(answer["server"]["health"]["status"], "success");
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
    let answer = site.admin("POST", "/servers", add).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["discovery"]["status"], "failed");
    assert_eq!(answer["discovery"]["error"]["code"], "SPAWN_NOT_FOUND");
    assert_eq!(answer["discovery"]["error"]["message"], "no such command");
    let kept = site.get("/servers/broken").await.json();
    assert_eq!(kept["health"]["status"], "failed");
    assert_eq!(kept["health"]["lastError"]["message"], "no such command");
}

#[tokio::test]
async fn r_api_05_a_change_is_taken_over_and_a_removal_too() {
    let site = TestSite::new().await;
    let starts = site.servers.starts();
    let about = json!({"description": "Reads and writes"});
    let answer = site.admin("PATCH", "/servers/one", about).await.json();
    assert_eq!(answer["server"]["description"], "Reads and writes");
    assert_eq!(answer["discovery"], Value::Null);
    assert_eq!(site.servers.starts(), starts, "nothing was started for it");
    site.servers.set("one", vec![tool("read")]);
    let command = json!({"command": "another"});
    let answer = site.admin("PATCH", "/servers/one", command).await.json();
    assert_eq!(answer["discovery"]["tools"], 1, "{answer}");
    assert!(answer["command"].as_str().unwrap().starts_with("another"));
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
async fn r_api_06_a_refresh_tells_what_changed() {
    let site = TestSite::new().await;
    site.servers.set("one", vec![tool("read"), tool("copy")]);
    let asked = site
        .ask(CALL, "POST", "/servers/one/refresh", Value::Null)
        .await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let asked = asked.json();
    assert_eq!(asked["delta"]["added"], json!(["copy"]));
    assert_eq!(asked["delta"]["removed"], json!(["write"]));
    assert_eq!(asked["source"], "asked");
    let server = site.get("/servers/one").await.json();
    assert_eq!(server["lastDelta"]["delta"]["added"], json!(["copy"]));
    let body = json!({"force": false});
    let fresh = site
        .ask(CALL, "POST", "/servers/one/refresh", body)
        .await
        .json();
    assert_eq!(fresh["source"], "fresh");
    let all = site
        .ask(CALL, "POST", "/refresh", json!({"force": true}))
        .await
        .json();
    assert_eq!(all["servers"].as_array().unwrap().len(), 2);
    let bad = site
        .ask(CALL, "POST", "/refresh", json!({"forced": true}))
        .await;
    assert_eq!((bad.status, bad.code()), (400, "REQUEST_INVALID".into()));
}

#[tokio::test]
async fn r_store_04_cleared_tools_are_forgotten_until_they_are_needed() {
    let site = TestSite::new().await;
    let starts = site.servers.starts();
    let total = |path: &'static str| async { site.get(path).await.json()["total"].clone() };
    for path in ["/servers/one/clear", "/clear"] {
        let refused = site.ask(CALL, "POST", path, Value::Null).await;
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
        let answer = site.send(request).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "REQUEST_INVALID".into())
        );
        let error = &answer.json()["error"];
        assert_eq!(error.get("field"), None, "{body}: {error}");
    }
    let nested = json!({"name": "three", "command": "a", "env": {"": 1}});
    let answer = site.admin("POST", "/servers", nested).await;
    let field = answer.json()["error"]["field"].clone();
    assert_eq!(field, "env", "{}", answer.body);
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
        let answer = site.admin("POST", "/servers", body.clone()).await;
        assert_eq!((answer.status, answer.code()), (400, code.into()), "{body}");
        let reported = answer.json()["error"]["field"].clone();
        assert_eq!(
            reported.as_str().unwrap_or_default(),
            field,
            "{body}: {}",
            answer.body
        );
    }
    let answer = site
        .admin("PATCH", "/servers/one", json!({"rules": 1}))
        .await;
    assert_eq!(
        (answer.status, answer.code()),
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

//! Reads, which start nothing.

use axum::body::Body;
use pegboard_catalog::StaticTool;
use pegboard_hub::{ClientTransport as Way, SessionId, ToolHandler};
use pegboard_model::ToolResult;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::site::{ADMIN, CALL, TestSite, request};

struct Echo;

#[async_trait::async_trait]
impl ToolHandler for Echo {
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        Ok(arguments)
    }
}

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn host_tools(site: &TestSite) {
    let schema = json!({"type": "object"});
    let own = StaticTool::new("own_tool", "Does what the host does.", schema.clone()).unwrap();
    let hidden = StaticTool::new("hidden_tool", "For the host alone.", schema).unwrap();
    site.hub.register(own, Arc::new(Echo)).unwrap();
    site.hub
        .register(hidden.internal(), Arc::new(Echo))
        .unwrap();
}

#[tokio::test]
async fn r_api_02_project_configuration_lists_static_and_mcp_tools() {
    let site = TestSite::new().await;
    host_tools(&site);
    let response = site.get("/projects/default/configuration").await;
    assert_eq!(response.status, 200, "{response:?}");
    let response = response.json();
    let tools = &response["availableTools"];
    assert_eq!(
        names(tools),
        ["one__read", "one__write", "own_tool", "two__erase"]
    );
    let tool = &tools[0];
    for (member, value) in [
        ("description", json!("Does read with a text.")),
        ("type", json!("mcp")),
        ("policy", json!("allow")),
        ("discoveryStatus", json!("success")),
        ("server", json!("one")),
        ("enabled", json!(true)),
    ] {
        assert_eq!(tool[member], value, "{member} of {tool}");
    }
    assert!(tool["lastDiscovered"].is_u64() && tool["tokens"].as_u64().unwrap() > 10);
    let wrapped = &response["configuration"]["availableTools"];
    assert_eq!(
        names(wrapped),
        ["one/read", "one/write", "own_tool", "two/erase"]
    );
    assert_eq!(
        wrapped[0],
        json!({
            "name": "one/read", "description": "Does read with a text.", "type": "mcp",
            "configuredPolicy": "allow", "discoveryStatus": "success",
            "lastDiscovered": wrapped[0]["lastDiscovered"],
        })
    );
    let at = wrapped[0]["lastDiscovered"].as_str().unwrap();
    let at: jiff::Timestamp = at.parse().unwrap();
    assert_eq!(
        at.as_millisecond(),
        tool["lastDiscovered"].as_i64().unwrap()
    );
    assert_eq!(wrapped[2]["type"], "native");
    assert_eq!(wrapped[2].get("lastDiscovered"), None);
    assert_eq!(tools[2]["type"], "native");
    assert_eq!(response["servers"][0]["name"], "one");
    assert_eq!(response["project"]["id"], "default");
    let projects = site.get("/projects").await.json();
    assert_eq!(projects["projects"][0]["isRunning"], true);
}

#[tokio::test]
async fn r_api_03_a_session_shows_the_tools_that_it_really_has() {
    let site = TestSite::new().await;
    host_tools(&site);
    let open = |id: &str, profile: &str| {
        let client = Some("client 1.0".into());
        let id = SessionId(id.to_owned());
        site.hub.session_opened(&id, Way::Stdio, client, profile);
    };
    open("wide", "");
    open("close", "narrow");
    open("lost", "gone");
    let sessions = site.get("/sessions").await.json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(sessions["sessions"][0]["transport"], "stdio");
    assert_eq!(sessions["sessions"][0]["client"], "client 1.0");
    let all = ["one__read", "one__write", "own_tool", "two__erase"];
    for (id, expected, mode) in [
        ("wide", &all[..], "lazy"),
        ("close", &["own_tool", "two__erase"][..], "direct"),
        ("lost", &all[..], "lazy"),
    ] {
        let path = format!("/sessions/{id}/configuration");
        let response = site.get(&path).await.json();
        assert_eq!(names(&response["availableTools"]), expected, "{id}");
        assert_eq!(response["mode"], mode, "{id}");
        let wrapped = &response["configuration"];
        assert_eq!(wrapped["mode"], mode, "{id}");
        let exposed: Vec<String> = names(&wrapped["availableTools"])
            .iter()
            .map(|name| name.replace('/', "__"))
            .collect();
        assert_eq!(exposed, expected, "{id}");
        for tool in wrapped["availableTools"].as_array().unwrap() {
            assert!(tool["configuredPolicy"].is_string(), "{tool}");
        }
    }
    site.hub.session_ended(&SessionId("close".to_owned()));
    let ended = site.get("/sessions/close/configuration").await;
    assert_eq!(
        (ended.status, ended.code()),
        (404, "SESSION_UNKNOWN".into())
    );
}

#[tokio::test]
async fn r_api_04_unknown_names_give_404_and_bad_input_400_each_with_its_code() {
    let site = TestSite::new().await;
    for (path, status, code, field) in [
        ("/projects/none/configuration", 404, "PROJECT_UNKNOWN", ""),
        ("/sessions/none/configuration", 404, "SESSION_UNKNOWN", ""),
        ("/servers/none", 404, "SERVER_UNKNOWN", ""),
        ("/servers/No%20Name", 404, "SERVER_UNKNOWN", ""),
        ("/servers/none/health", 404, "SERVER_UNKNOWN", ""),
        ("/servers/none/logs", 404, "SERVER_UNKNOWN", ""),
        ("/tools/one__none", 404, "TOOL_UNKNOWN", ""),
        ("/tools/%FF", 400, "REQUEST_INVALID", ""),
        (
            "/tools/one__read/formats/none",
            400,
            "REQUEST_INVALID",
            "format",
        ),
        ("/tools?limit=0", 400, "REQUEST_INVALID", "limit"),
        ("/tools?limit=many", 400, "REQUEST_INVALID", "limit"),
        ("/tools?cursor=***", 400, "REQUEST_INVALID", "cursor"),
        ("/tools?colour=red", 400, "REQUEST_INVALID", "colour"),
        ("/search", 400, "REQUEST_INVALID", "q"),
        ("/search?q=a&limit=101", 400, "REQUEST_INVALID", "limit"),
        ("/policies/explain", 400, "REQUEST_INVALID", "tool"),
        ("/policies/explain?tool=one__none", 404, "TOOL_UNKNOWN", ""),
        ("/servers/one/logs?tail=0", 400, "REQUEST_INVALID", "tail"),
        ("/activity?before=x", 400, "REQUEST_INVALID", "before"),
        ("/nothing", 404, "PATH_UNKNOWN", ""),
    ] {
        let response = site.get(path).await;
        assert_eq!(
            (response.status, response.code()),
            (status, code.into()),
            "{path}"
        );
        let reported = response.json()["error"]["field"].clone();
        assert_eq!(
            reported.as_str().unwrap_or_default(),
            field,
            "{path}: {}",
            response.body
        );
        assert!(
            !response.body.contains("src/"),
            "nothing leaks: {}",
            response.body
        );
    }
    let wrong = site.admin("PUT", "/servers", json!({})).await;
    assert_eq!((wrong.status, wrong.code()), (405, "METHOD_REFUSED".into()));
}

#[tokio::test]
async fn lists_come_in_pages_and_with_tags() {
    let site = TestSite::new().await;
    let first = site.get("/tools?limit=2").await.json();
    assert_eq!(names(&first["tools"]), ["one__read", "one__write"]);
    assert_eq!(first["total"], 3);
    let next = first["nextCursor"].as_str().unwrap();
    let last = site
        .get(&format!("/tools?limit=2&cursor={next}"))
        .await
        .json();
    assert_eq!(names(&last["tools"]), ["two__erase"]);
    assert_eq!(last["nextCursor"], Value::Null);
    for (query, expected) in [
        ("server=one", vec!["one__read", "one__write"]),
        ("q=ERA", vec!["two__erase"]),
        ("server=none", vec![]),
    ] {
        let found = site.get(&format!("/tools?{query}")).await.json();
        assert_eq!(names(&found["tools"]), expected, "{query}");
    }
    for path in [
        "/tools",
        "/servers",
        "/policies",
        "/projects",
        "/tools/one__read",
    ] {
        let response = site.get(path).await;
        let tag = response.header("etag").to_owned();
        assert!(tag.len() > 10, "{path}");
        let request = crate::site::request(CALL, "GET", path, Value::Null);
        let again = site
            .send(crate::site::with(request, "if-none-match", &tag))
            .await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    let tag = site.get("/tools").await.header("etag").to_owned();
    site.admin("POST", "/servers/two/disable", Value::Null)
        .await;
    assert_ne!(site.get("/tools").await.header("etag"), tag);
    assert_eq!(site.get("/stats").await.header("cache-control"), "no-store");
}

#[tokio::test]
async fn a_tool_is_shown_whole_found_explained_and_called() {
    let site = TestSite::new().await;
    let tool = site.get("/tools/one__read").await.json();
    assert_eq!(tool["definition"]["name"], "read");
    assert_eq!(tool["parameters"][0]["name"], "text");
    let format = tool["formats"][0].as_str().unwrap();
    let export = site
        .get(&format!("/tools/one__read/formats/{format}"))
        .await;
    assert_eq!(export.json()["definition"]["name"], "one__read");
    let found = site.get("/search?q=erase&explain=true").await.json();
    assert_eq!(found["hits"][0]["tool"]["name"], "two__erase");
    assert!(found["hits"][0]["why"]["words"].is_number(), "{found}");
    let call = json!({"arguments": {"text": "x"}});
    let called = site
        .request(CALL, "POST", "/tools/one__read/call", call)
        .await;
    assert_eq!(called.status, 200, "{called:?}");
    assert_eq!(
        called.json()["result"]["content"][0]["text"],
        r#"read {"text":"x"}"#
    );
    let mut exact = request(CALL, "POST", "/tools/one__read/call", json!({}));
    *exact.body_mut() = Body::from(r#"{"arguments":{ "text":"\u0041" }}"#);
    let called = site.send(exact).await;
    assert_eq!(
        called.json()["result"]["content"][0]["text"],
        r#"read { "text":"\u0041" }"#,
        "verbatim"
    );
    for (path, body, status, code) in [
        ("one__read", json!({"arguments": {}}), 400, "ARGS_INVALID"),
        (
            "one__read",
            json!({"arguments": []}),
            400,
            "REQUEST_INVALID",
        ),
        ("one__read", json!({"argument": {}}), 400, "REQUEST_INVALID"),
        ("one__none", json!({"arguments": {}}), 404, "TOOL_UNKNOWN"),
    ] {
        let path = format!("/tools/{path}/call");
        let response = site.request(CALL, "POST", &path, body.clone()).await;
        assert_eq!(
            (response.status, response.code()),
            (status, code.into()),
            "{body}"
        );
    }
}

#[tokio::test]
async fn r_obs_04_the_health_of_each_server_is_reported() {
    let site = TestSite::new().await;
    let health = site.get("/servers/one/health").await.json();
    assert_eq!(health["status"], "success");
    assert!(["known", "running"].contains(&health["state"].as_str().unwrap()));
    assert_eq!(health["failures"], 0);
    let add = json!({"name": "broken", "command": "nothing-like-this"});
    site.admin("POST", "/servers", add).await;
    let health = site.get("/servers/broken/health").await.json();
    assert_eq!(health["status"], "failed");
    assert_eq!(health["state"], "configured");
    assert_eq!(health["lastError"]["code"], "SPAWN_NOT_FOUND");
    assert!(health["lastError"]["remedy"].is_string());
    let listed = site.get("/servers").await.json();
    assert_eq!(listed["servers"][0]["health"]["status"], "failed");
    assert_eq!(listed["servers"][1]["tools"], 2);
    let logs = site.get("/servers/one/logs?tail=2").await.json();
    assert_eq!(logs["lines"], json!(["second", "third"]));
}

#[tokio::test]
async fn counts_context_and_activity_are_reported() {
    let site = TestSite::new().await;
    let stats = site.get("/stats").await.json();
    assert_eq!(stats["catalog"]["tools"], 3);
    assert!(stats["tokens"]["without"].as_u64().unwrap() > 0);
    assert!(stats["tokens"]["with"].as_u64().unwrap() > 0);
    assert!(stats["cache"]["hits"].is_u64());
    let context = site.get("/context").await.json();
    assert_eq!(context["metaTools"].as_array().unwrap().len(), 5);
    assert!(context["summary"]["tokens"].as_u64().unwrap() > 0);
    let seen = site
        .eventually("/activity?limit=1", |seen| seen["next"].is_u64())
        .await;
    assert_eq!(seen["activity"][0]["kind"], "discovery");
    let next = seen["next"].as_u64().unwrap();
    let rest = site.get(&format!("/activity?before={next}")).await.json();
    assert_eq!(rest["activity"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn r_ui_02_the_page_of_a_server_that_failed_does_not_say_that_it_answered() {
    let site = TestSite::new().await;
    let refresh = || site.admin("POST", "/servers/one/refresh", Value::Null);
    let page = || async {
        let mut page = crate::site::plain("GET", "/servers/one");
        let bearer = format!("Bearer {ADMIN}").parse().unwrap();
        page.headers_mut().insert("authorization", bearer);
        site.send(page).await.body
    };
    assert_eq!(refresh().await.status, 200);
    assert!(page().await.contains("Succeeded in"));
    site.servers.remove("one");
    refresh().await;
    let failed = page().await;
    assert!(failed.contains("The last discovery failed"), "{failed}");
    assert!(!failed.contains("Succeeded in"), "{failed}");
    assert!(failed.contains("The last success was"), "{failed}");
}

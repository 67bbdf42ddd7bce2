//! Tests that walk the OpenAPI description: every route behaves as described.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::site::{ADMIN, CALL, TestSite, plain, request, with};

/// The requests that the call token may send although they are not reads.
const FOR_CALLERS: &[(&str, &str)] = &[
    ("post", "/tools/{name}/call"),
    ("post", "/servers/{name}/refresh"),
    ("post", "/refresh"),
    ("post", "/discover"),
    ("post", "/model-calls"),
];

/// Every route: method, path below the root, and description.
fn described() -> Vec<(String, String, Value)> {
    let document: Value = serde_json::from_str(&pegboard_web::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, methods): (&String, &Value)| {
        let path = path.strip_prefix("/api/v1").unwrap().to_owned();
        let methods = methods.as_object().unwrap().clone();
        methods
            .into_iter()
            .map(move |(method, about)| (method, path.clone(), about))
    };
    paths.iter().flat_map(of_path).collect()
}

/// The path with existing names.
fn filled(path: &str) -> String {
    let name = match path.starts_with("/tools") {
        true => "one__read",
        false => "one",
    };
    let path = path
        .replace("{name}", name)
        .replace("{format}", "anthropic")
        .replace("{client}", "cursor");
    let id = match path.starts_with("/projects") {
        true => "default",
        false => "some",
    };
    let path = path.replace("{id}", id);
    match path.as_str() {
        "/search" => "/search?q=read".to_owned(),
        "/definitions" => "/definitions?format=anthropic".to_owned(),
        "/policies/explain" => "/policies/explain?tool=one__read".to_owned(),
        _ => path,
    }
}

fn body(path: &str) -> Value {
    match path {
        "/servers" => json!({"name": "evil", "command": "rm"}),
        "/policies" => json!({"pattern": "*", "policy": "allow"}),
        "/approvals/{id}" => json!({"decision": "always"}),
        "/servers/{name}/trust" => json!({"definitionHash": "0"}),
        "/servers/{name}" => json!({"command": "rm"}),
        _ => Value::Null,
    }
}

#[tokio::test]
async fn r_api_07_the_description_is_complete_and_served() {
    let site = TestSite::new().await;
    let served = site.get("/openapi.json").await;
    assert_eq!(
        served.json(),
        serde_json::from_str::<Value>(&pegboard_web::openapi()).unwrap()
    );
    let routes = described();
    assert!(routes.len() >= 30, "{}", routes.len());
    let names: BTreeSet<&str> = routes
        .iter()
        .filter_map(|(.., about)| about["operationId"].as_str())
        .collect();
    assert_eq!(names.len(), routes.len(), "operation ids are unique");
    for (method, path, about) in &routes {
        let said: BTreeSet<&str> = about["responses"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert!(said.contains("401"), "{method} {path}");
        assert!(
            about["summary"].is_string(),
            "{method} {path} has no summary"
        );
        if about.get("requestBody").is_some() {
            for status in ["400", "408", "413", "415"] {
                assert!(
                    said.contains(status),
                    "{method} {path} does not document {status}"
                );
            }
        }
    }
}

#[tokio::test]
async fn r_api_01_no_read_starts_a_server() {
    let site = TestSite::new().await;
    let starts = site.servers.starts();
    let mut read = 0;
    for (_, path, _) in described().iter().filter(|(method, ..)| method == "get") {
        if path == "/events" {
            continue;
        }
        for token in [CALL, ADMIN] {
            let response = site.request(token, "GET", &filled(path), Value::Null).await;
            let is_there = response.status == 200 || path.starts_with("/sessions/");
            let is_for_admins = response.status == 403 && token == CALL;
            assert!(is_there || is_for_admins, "{path}: {response:?}");
            read += 1;
        }
    }
    assert!(read >= 36, "{read}");
    assert_eq!(site.servers.starts(), starts);
}

#[tokio::test]
async fn r_sec_03_the_call_token_changes_nothing_by_any_route() {
    let site = TestSite::new().await;
    let before = site.admin("GET", "/servers/one", Value::Null).await.json();
    let mut tried = 0;
    for (method, path, about) in described().iter().filter(|(method, ..)| method != "get") {
        if FOR_CALLERS.contains(&(method.as_str(), path.as_str())) {
            continue;
        }
        let method_name = method.to_uppercase();
        let response = site
            .request(CALL, &method_name, &filled(path), body(path))
            .await;
        assert_eq!(
            (response.status, response.code()),
            (403, "ADMIN_NEEDED".into()),
            "{method} {path}"
        );
        assert_eq!(about["security"], json!([{"admin": []}]), "{method} {path}");
        tried += 1;
    }
    assert!(tried >= 11, "{tried}");
    let after = site.admin("GET", "/servers/one", Value::Null).await.json();
    assert!(before["definitionHash"].is_string(), "{before}");
    assert_eq!(before["definitionHash"], after["definitionHash"]);
    assert!(site.config_admin.rules.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r_sec_03_every_route_requires_the_right_host_origin_and_token() {
    let site = TestSite::new().await;
    for (method, path, _) in described() {
        let method = method.to_uppercase();
        let whole = format!("/api/v1{}", filled(&path));
        let none = site.send(plain(&method, &whole)).await;
        assert_eq!(
            (none.status, none.code()),
            (401, "TOKEN_WRONG".into()),
            "{method} {path}"
        );
        let wrong = site
            .request("wrong", &method, &filled(&path), body(&path))
            .await;
        assert_eq!(wrong.status, 401, "{method} {path}");
        let good = || request(ADMIN, &method, &filled(&path), body(&path));
        for (header, value, code) in [
            ("host", "rebound.example", "HOST_REFUSED"),
            ("host", "rebound.example:7340", "HOST_REFUSED"),
            ("origin", "https://evil.example", "ORIGIN_REFUSED"),
            ("origin", "null", "ORIGIN_REFUSED"),
        ] {
            let response = site.send(with(good(), header, value)).await;
            assert_eq!(
                (response.status, response.code()),
                (403, code.into()),
                "{method} {path}"
            );
        }
    }
    assert_eq!(
        site.get("/servers").await.json()["servers"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

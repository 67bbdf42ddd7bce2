//! The access check.

use pegboard_model::Secret;
use serde_json::json;

use crate::fake::Server;
use crate::raw_client::Request;
use crate::test_server::TestServer;

async fn server() -> TestServer {
    TestServer::of(vec![Server::new("one", &["work"])]).await
}

#[tokio::test]
async fn r_sec_03_every_route_checks_host_origin_and_token() {
    let server = server().await;
    let list = || server.modern("/mcp", "tools/list", json!({}));
    let other = |path: &str| server.request("GET", path);
    for (what, request, status) in [
        ("a good one", list(), 200),
        ("no token", list().header("Authorization", ""), 401),
        (
            "a wrong token",
            list().header("Authorization", "Bearer x"),
            401,
        ),
        ("another Host", list().header("Host", "evil.example"), 403),
        ("no Host", list().header("Host", ""), 403),
        (
            "another Origin",
            list().header("Origin", "http://evil.example"),
            403,
        ),
        ("an opaque Origin", list().header("Origin", "null"), 403),
        (
            "a local Origin",
            list().header("Origin", "http://localhost:5173"),
            200,
        ),
        ("health", other("/healthz").header("Authorization", ""), 200),
        (
            "health for others",
            other("/healthz").header("Host", "evil.example"),
            403,
        ),
        (
            "health for pages",
            other("/healthz").header("Origin", "http://evil.example"),
            403,
        ),
        ("a path that is not there", other("/nothing"), 404),
        (
            "the same without token",
            other("/nothing").header("Authorization", ""),
            401,
        ),
        (
            "the same for others",
            other("/nothing").header("Host", "evil.example"),
            403,
        ),
        ("another method", server.request("PUT", "/mcp"), 405),
        (
            "the same without token",
            server.request("PUT", "/mcp").header("Authorization", ""),
            401,
        ),
        (
            "a profile that is not there",
            server.post("/mcp/none", &json!({})),
            404,
        ),
    ] {
        let response = server.send(request).await;
        assert_eq!(response.status, status, "{what}: {response:?}");
        if status == 401 {
            assert_eq!(
                response.header("www-authenticate"),
                Some("Bearer realm=\"pegboard\"")
            );
            assert!(
                response.body.contains("pegboard token"),
                "{}",
                response.body
            );
        }
        if status >= 400 {
            response.json();
        }
    }
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_a_new_token_counts_from_the_next_request_on() {
    let server = server().await;
    let list = || server.modern("/mcp", "tools/list", json!({}));
    server.access.set_token(&Secret::new("another"));
    assert_eq!(server.send(list()).await.status, 401);
    let good = list().header("Authorization", "Bearer another");
    assert_eq!(server.send(good).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_preflight_responses_describe_what_allowed_pages_may_do() {
    let server = server().await;
    let preflight = |origin: &str| {
        Request::new("OPTIONS", "/mcp")
            .header("Host", &server.address.to_string())
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header(
                "Access-Control-Request-Headers",
                "authorization, mcp-session-id",
            )
    };
    let response = server.send(preflight("http://localhost:6274")).await;
    assert_eq!(response.status, 204);
    let said = |name| response.header(name).unwrap_or_default();
    assert_eq!(said("access-control-allow-origin"), "http://localhost:6274");
    assert_eq!(
        said("access-control-allow-headers"),
        "authorization, mcp-session-id"
    );
    assert!(said("access-control-allow-methods").contains("DELETE"));
    let refused = server.send(preflight("https://evil.example")).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("access-control-allow-origin"), None);

    let list = server.modern("/mcp", "tools/list", json!({}));
    let response = server
        .send(list.header("Origin", "http://localhost:6274"))
        .await;
    let exposed = response.header("access-control-expose-headers");
    assert!(exposed.unwrap_or_default().contains("Mcp-Session-Id"));
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_an_unknown_profile_is_answered_by_the_names_there_are() {
    let server = server().await;
    let response = server
        .send(server.modern("/mcp/none", "tools/list", json!({})))
        .await;
    assert_eq!(response.status, 404);
    assert_eq!(response.json()["profiles"], json!(["direct"]));
    let slash = server
        .send(server.modern("/mcp/", "tools/list", json!({})))
        .await;
    assert_eq!(slash.status, 200);
    let listed = server
        .send(server.modern("/mcp/direct", "tools/list", json!({})))
        .await;
    assert_eq!(listed.json()["result"]["tools"][0]["name"], "one__work");
    server.end().await;
}

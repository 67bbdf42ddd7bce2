//! Limits that keep one client from starving the others.

use std::time::Duration;

use pegboard_model::Limits;
use pegboard_testkit::wait_until;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fake::Server;
use crate::slow_server::{SlowServer, call};
use crate::test_server::TestServer;

const TIMEOUT: Duration = Duration::from_secs(30);

async fn server(limits: Limits) -> TestServer {
    TestServer::within(vec![Server::new("one", &["work"])], limits).await
}

#[tokio::test]
async fn r_sec_03_a_message_that_is_too_large_is_refused_in_the_protocols_words() {
    let server = server(Limits {
        request_bytes: 1000,
        ..Limits::default()
    })
    .await;
    let text = "x".repeat(2000);
    let params = json!({"name": "one__work", "arguments": {"text": text}});
    let answer = server
        .send(server.modern("/mcp", "tools/call", params))
        .await;
    assert_eq!(answer.status, 413);
    assert!(
        answer.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("1000")
    );
    assert_eq!(
        server
            .send(server.modern("/mcp", "tools/list", json!({})))
            .await
            .status,
        200
    );
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_a_head_that_never_ends_and_one_that_is_too_large_are_given_up() {
    let server = server(Limits {
        http_head_time: Duration::from_millis(50),
        http_head_bytes: 8 * 1024,
        ..Limits::default()
    })
    .await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")
        .await
        .unwrap();
    let mut rest = Vec::new();
    let read = timeout(TIMEOUT, slow.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the connection is closed");

    let mut large = TcpStream::connect(server.address).await.unwrap();
    let line = format!("X-Large: {}\r\n", "x".repeat(1000));
    let head = format!("POST /mcp HTTP/1.1\r\n{}", line.repeat(50));
    let _ = large.write_all(head.as_bytes()).await;
    let mut rest = Vec::new();
    let _ = timeout(TIMEOUT, large.read_to_end(&mut rest))
        .await
        .expect("closed");
    let text = String::from_utf8_lossy(&rest);
    assert!(
        text.is_empty() || text.starts_with("HTTP/1.1 431"),
        "{text}"
    );
    server.end().await;
}

/// Sends a request on a connection and reads the first line of the response.
async fn status(stream: &mut TcpStream, head: &str) -> String {
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut piece = [0; 12];
    let read = timeout(TIMEOUT, stream.read_exact(&mut piece)).await;
    read.expect("an answer").unwrap();
    String::from_utf8_lossy(&piece).into_owned()
}

#[tokio::test]
async fn r_sec_03_idle_unauthenticated_connections_do_not_lock_out_clients() {
    const MOST: usize = 16;
    let server = server(Limits {
        http_connections: MOST,
        ..Limits::default()
    })
    .await;
    let mut idle = Vec::new();
    for at in 0..4 * MOST {
        let mut stranger = TcpStream::connect(server.address).await.unwrap();
        // Some connections send part of a request head.
        if at % 2 == 0 {
            stranger.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        }
        idle.push(stranger);
    }
    for _ in 0..MOST {
        let answer = server.send(server.modern("/mcp", "tools/list", json!({})));
        let answer = timeout(TIMEOUT, answer).await.expect("an answer");
        assert_eq!(answer.status, 200);
    }
    drop(idle);
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_a_connection_that_sends_no_request_is_closed_soon() {
    let server = server(Limits {
        http_first_head_time: Duration::from_millis(50),
        ..Limits::default()
    })
    .await;
    let healthz = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let mut spoken = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(status(&mut spoken, &healthz).await, "HTTP/1.1 200");
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut rest = Vec::new();
    let read = timeout(TIMEOUT, silent.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "the silent connection is closed");
    let mut rest = vec![0; 4096];
    let read = spoken.read(&mut rest).await.unwrap();
    assert!(read > 0, "the rest of the answer");
    assert_eq!(
        status(&mut spoken, &healthz).await,
        "HTTP/1.1 200",
        "it stays"
    );
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_connections_beyond_the_limit_get_503() {
    let server = server(Limits {
        http_connections: 1,
        ..Limits::default()
    })
    .await;
    // A client with a request in progress is not evicted.
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let listen = server.modern("/mcp", "subscriptions/listen", listen);
    let mut stream = listen.open(server.address).await;
    assert!(stream.until("acknowledged").await);

    let mut second = TcpStream::connect(server.address).await.unwrap();
    let mut text = String::new();
    let read = timeout(TIMEOUT, second.read_to_string(&mut text)).await;
    read.expect("an answer").unwrap();
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    let length = text.split_once("\r\n\r\n").unwrap().1.len();
    assert!(
        text.contains(&format!("Content-Length: {length}\r\n")),
        "{text}"
    );
    drop(stream);
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_a_request_line_with_another_host_is_refused() {
    let server = server(Limits::default()).await;
    let host = server.address;
    for (target, status_line) in [
        (format!("http://{host}/healthz"), "HTTP/1.1 200"),
        ("http://evil.example/healthz".to_owned(), "HTTP/1.1 403"),
        (format!("http://user@{host}/healthz"), "HTTP/1.1 403"),
        ("http://127.0.0.1/healthz".to_owned(), "HTTP/1.1 403"),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(&mut stream, &head).await, status_line, "{target}");
    }
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_large_messages_of_all_clients_share_one_budget() {
    let slow = SlowServer::default();
    let limits = Limits {
        request_bytes: 1_500_000,
        request_bytes_in_flight: 2_000_000,
        ..Limits::default()
    };
    let server = TestServer::within(vec![slow.server()], limits).await;
    let large = |start: &str| format!("{start}{}", "x".repeat(1_200_000));
    let held = server.modern("/mcp", "tools/call", call(&large("a")));
    let held = tokio::spawn(held.send(server.address));
    wait_until("the first one is running", TIMEOUT, || slow.count() == 1).await;
    let second = server.modern("/mcp", "tools/call", call(&large("b")));
    let refused = server.send(second.clone()).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(
        refused.body.contains("too many large messages"),
        "{refused:?}"
    );
    let small = server.modern("/mcp", "tools/call", call("quick"));
    assert_eq!(
        server.send(small).await.status,
        200,
        "small ones are not held up"
    );
    held.abort();
    wait_until("the first one is gone", TIMEOUT, || slow.count() == 0).await;
    let second = tokio::spawn(second.send(server.address));
    wait_until("now there is room", TIMEOUT, || slow.count() == 1).await;
    second.abort();
    server.end().await;
}

//! Bodies that are too large, too deep, of the wrong type, or never end.

use std::time::Duration;

use axum::body::{Body, Bytes};
use serde_json::{Value, json};

use crate::site::{ADMIN, CALL, TestSite, request, with};

#[tokio::test]
async fn r_sec_03_bodies_have_limits() {
    let site = TestSite::new().await;
    let large = json!({"arguments": {"text": "x".repeat(1024 * 1024)}});
    let response = site
        .request(CALL, "POST", "/tools/one__read/call", large)
        .await;
    assert_eq!(
        (response.status, response.code()),
        (413, "REQUEST_TOO_LARGE".into())
    );
    let mut announced = request(ADMIN, "POST", "/servers", json!({}));
    *announced.body_mut() = Body::empty();
    let announced = with(announced, "content-length", "99999999");
    assert_eq!(site.send(announced).await.status, 413);
    let deep = format!(
        "{{\"arguments\":{{\"text\":{}{}}}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for text in [deep.as_str(), "{", "", "nonsense", "{} {}", "\u{0}"] {
        let mut bad = request(CALL, "POST", "/tools/one__read/call", json!({}));
        *bad.body_mut() = Body::from(text.to_owned());
        let response = site.send(bad).await;
        assert_eq!(
            (response.status, response.code()),
            (400, "REQUEST_INVALID".into()),
            "{text:.40}"
        );
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let other = request(CALL, "POST", "/tools/one__read/call", json!({}));
        let response = site.send(with(other, "content-type", kind)).await;
        assert_eq!(
            (response.status, response.code()),
            (415, "MEDIA_TYPE_REFUSED".into()),
            "{kind}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r_sec_03_a_stalled_body_times_out() {
    let site = TestSite::new().await;
    let mut slow = request(CALL, "POST", "/tools/one__read/call", json!({}));
    let first = futures_util::stream::once(async { Ok::<_, std::io::Error>(Bytes::from("{")) });
    let rest = futures_util::stream::pending();
    *slow.body_mut() = Body::from_stream(futures_util::StreamExt::chain(first, rest));
    let response = tokio::time::timeout(Duration::from_secs(300), site.send(slow));
    let response = response.await.expect("the request is given up");
    assert_eq!(
        (response.status, response.code()),
        (408, "REQUEST_LATE".into())
    );
    assert_eq!(
        site.get("/servers").await.json()["servers"][0]["name"],
        Value::from("one")
    );
}

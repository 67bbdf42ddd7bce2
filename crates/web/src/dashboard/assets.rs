//! The style sheet and the scripts, embedded in the program.
//!
//! Their URL contains a hash of all files, so browsers may cache them forever, and scripts can import each other by
//! plain names.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Hex digits of the hash in a URL.
const VERSION_LENGTH: usize = 12;

const STYLE: &str = concat!(
    include_str!("../../assets/base.css"),
    include_str!("../../assets/shell.css"),
    include_str!("../../assets/parts.css"),
);

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const fn script(name: &'static str, text: &'static str) -> Asset {
    Asset {
        name,
        kind: "text/javascript; charset=utf-8",
        bytes: text.as_bytes(),
    }
}

const ASSETS: &[Asset] = &[
    Asset {
        name: "pegboard.css",
        kind: "text/css; charset=utf-8",
        bytes: STYLE.as_bytes(),
    },
    Asset {
        name: "mark.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("../../assets/mark.svg"),
    },
    script("main.js", include_str!("../../assets/main.js")),
    script("content.js", include_str!("../../assets/content.js")),
    script("login.js", include_str!("../../assets/login.js")),
    script("page_key.js", include_str!("../../assets/page_key.js")),
    script("api.js", include_str!("../../assets/api.js")),
    script("events.js", include_str!("../../assets/events.js")),
    script("live.js", include_str!("../../assets/live.js")),
    script("lists.js", include_str!("../../assets/lists.js")),
    script("actions.js", include_str!("../../assets/actions.js")),
    script("approvals.js", include_str!("../../assets/approvals.js")),
    script("settling.js", include_str!("../../assets/settling.js")),
    script("toasts.js", include_str!("../../assets/toasts.js")),
    script("times.js", include_str!("../../assets/times.js")),
    script("add_server.js", include_str!("../../assets/add_server.js")),
    script(
        "schema_form.js",
        include_str!("../../assets/schema_form.js"),
    ),
    script("try_tool.js", include_str!("../../assets/try_tool.js")),
    script("connect.js", include_str!("../../assets/connect.js")),
    script("clients.js", include_str!("../../assets/clients.js")),
    script("import.js", include_str!("../../assets/import.js")),
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for asset in ASSETS {
        hasher.update(asset.name.as_bytes()).update(asset.bytes);
    }
    let hex = hasher.finalize().to_hex();
    hex.as_str().chars().take(VERSION_LENGTH).collect()
});

/// The URL path of a file.
pub(crate) fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

/// The routes of the files. They contain nothing secret, and the login page needs them.
pub(crate) fn assets() -> Router {
    Router::new().route("/assets/{version}/{name}", get(serve))
}

async fn serve(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "no such file").into_response();
    };
    // A page of an earlier program version still gets the file, but must not cache it.
    let caching = match version == *VERSION {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let tag = format!("\"{}\"", *VERSION);
    let is_same = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|sent| sent.as_bytes() == tag.as_bytes());
    let status = match is_same {
        true => StatusCode::NOT_MODIFIED,
        false => StatusCode::OK,
    };
    let body = if is_same { &[] } else { asset.bytes };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

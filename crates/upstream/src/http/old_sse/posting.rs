//! Posts our messages to the endpoint.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pegboard_jsonrpc::{Message, parse};
use pegboard_model::{Reason, ToolError, ToolResult};
use reqwest::{StatusCode, Url};
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::upstream::Ending;
use crate::http::exchange::Channel;

/// How long a message waits for the response to the one before it, so that the server gets them in order. Some servers
/// respond to a POST only when the call is complete.
const ORDER_TIME: Duration = Duration::from_millis(250);
/// Messages that are posted at the same time.
const CONCURRENT_POSTS: usize = 64;
/// How long one POST may take: as long as a call may take with the default timeout.
const POST_TIME: Duration = Duration::from_secs(600);
/// How long the body of an acknowledgement is read.
const BODY_TIME: Duration = Duration::from_secs(1);

/// Posts each line until the writer is gone. Posts that are not complete then are given up.
pub(super) async fn post_lines(
    channel: Arc<Channel>,
    ending: Ending,
    endpoint: Url,
    lines: DuplexStream,
) {
    let endpoint = Arc::new(endpoint);
    let mut posts = JoinSet::new();
    let mut lines = BufReader::new(lines);
    loop {
        let mut line = Vec::new();
        match lines.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => line.pop(),
        };
        while posts.try_join_next().is_some() {}
        if posts.len() >= CONCURRENT_POSTS {
            posts.join_next().await;
        }
        let (channel, ending, endpoint) = (channel.clone(), ending.clone(), endpoint.clone());
        let (done, acknowledged) = oneshot::channel();
        posts.spawn(async move {
            post(&channel, &ending, &endpoint, line).await;
            // The next message may already have been posted.
            let _ = done.send(());
        });
        let _ = tokio::time::timeout(ORDER_TIME, acknowledged).await;
    }
}

/// Posts one message. A failure ends the request that it carries, or the connection if the session is unknown.
async fn post(channel: &Channel, ending: &Ending, endpoint: &Url, line: Vec<u8>) {
    let id = request_id(&line, channel.limits.json_depth);
    let sending = send(channel, endpoint, line.into());
    // Without an acknowledgement the call goes on: its answer comes on the stream, or its own timeout ends it.
    let Ok(sent) = tokio::time::timeout(POST_TIME, sending).await else {
        return;
    };
    match (sent, id) {
        (Ok(()), _) | (Err(Refusal::Request(_)), None) => {}
        (Err(Refusal::Request(error)), Some(id)) => ending.reject(id, error),
        (Err(Refusal::Session(error)), _) => ending.finish(error),
    }
}

/// What a failed POST ends.
enum Refusal {
    Request(ToolError),
    Session(ToolError),
}

async fn send(channel: &Channel, endpoint: &Url, message: Bytes) -> Result<(), Refusal> {
    let posted: ToolResult<_> = channel.post_to(endpoint, message).await;
    let mut response = posted.map_err(Refusal::Request)?;
    if let Some(error) = channel.login_error(&mut response).await {
        return Err(Refusal::Request(error));
    }
    let status = response.status();
    if status.is_success() {
        // The body of an acknowledgement means nothing; reading a short one lets the connection be used again.
        let _ = tokio::time::timeout(BODY_TIME, crate::http::body::preview(&mut response)).await;
        return Ok(());
    }
    // The body may contain the session, so that it is not shown.
    let code = status.as_u16();
    if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        let what =
            format_args!("does not know the session of its event stream any more (HTTP {code})");
        return Err(Refusal::Session(
            channel.errors.error(Reason::ServerExited, what),
        ));
    }
    let what = format_args!("refused a message with HTTP {code}");
    let mut error = channel.errors.error(Reason::HttpStatus, what);
    error.retryable = crate::http::events::may_be_temporary(status);
    Err(Refusal::Request(error))
}

/// The id of our own request; `None` for notifications and responses.
fn request_id(line: &[u8], depth: usize) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    match parse(text, depth).ok()? {
        Message::Request(request) => request.id.get().parse().ok(),
        _ => None,
    }
}

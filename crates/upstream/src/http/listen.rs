//! The notification stream of a server, reopened when it breaks.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Era, ToolResult};
use reqwest::StatusCode;

use crate::capabilities::ServerCapabilities;
use crate::dialect::Dialect;
use crate::http::events::{StreamPosition, is_stream, may_pass};
use crate::http::headers::RequestHeaders;
use crate::http::response::Response;
use crate::http::session::HttpSession;
use crate::http::sse::Parser;
use crate::subscriptions::LISTEN;
use crate::transport::RpcRequest;

/// The first and the longest delay before a broken stream is reopened.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Listens until the task is aborted or the server has no such stream.
pub(crate) async fn listen(session: Arc<HttpSession>, dialect: Dialect, has: ServerCapabilities) {
    match dialect.era {
        Era::Modern => listen_to_subscription(&session, &dialect, has).await,
        Era::Legacy => listen_to_session(&session).await,
    }
}

enum Stream {
    Open(Response),
    Broken,
    /// The server has no stream, or refuses it.
    None(StatusCode),
}

impl Stream {
    fn of(opened: ToolResult<Response>) -> Self {
        match opened {
            Err(_) => Self::Broken,
            Ok(response) if is_stream(&response) => Self::Open(response),
            Ok(response) if may_pass(response.status()) => Self::Broken,
            Ok(response) => Self::None(response.status()),
        }
    }
}

/// Reads the stream of a legacy session.
async fn listen_to_session(session: &HttpSession) {
    let mut pause = FIRST_PAUSE;
    let mut position = StreamPosition::default();
    let mut was_open = false;
    loop {
        let opened = Stream::of(session.channel.get(position.last_event.as_ref()).await);
        session.stream_tried.send_replace(true);
        match opened {
            // A server that had a stream may have lost the session; the next request renews it.
            Stream::None(status) if was_open && may_be_lost(status) => {
                position = StreamPosition::default();
            }
            Stream::None(_) => return,
            Stream::Broken => {}
            Stream::Open(mut response) => {
                was_open = true;
                let mut following = EventReader::new(session);
                while let Ok(Some(chunk)) = response.chunk().await {
                    if !following.take(session, &chunk) {
                        break;
                    }
                }
                position.note(&following.parser);
                if following.any {
                    pause = FIRST_PAUSE;
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(position.retry_delay().unwrap_or(pause)) => {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            () = session.renewed.notified() => position = StreamPosition::default(),
        }
    }
}

fn may_be_lost(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
}

/// Reads the `subscriptions/listen` stream of a modern server, and requests it again when the subscriptions change.
async fn listen_to_subscription(session: &HttpSession, dialect: &Dialect, has: ServerCapabilities) {
    let subscriptions = &session.subscriptions;
    let mut changes = subscriptions.changes();
    let acknowledged = session.channel.inbound.acknowledged();
    let mut pause = FIRST_PAUSE;
    // A stream is kept until its replacement is open, so that nothing is missed in between.
    let mut earlier: Option<Response> = None;
    loop {
        changes.mark_unchanged();
        let (version, members) = subscriptions.members(has);
        let (id, opened) = match members {
            Some(members) => subscribe(session, dialect, &members).await,
            None => (0, Stream::None(StatusCode::NO_CONTENT)),
        };
        drop(earlier.take());
        match opened {
            Stream::Broken => {}
            Stream::None(_) => {
                subscriptions.settle(version);
                // A different filter may work.
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Stream::Open(mut response) => {
                let mut following = EventReader::new(session);
                let is_changed = loop {
                    tokio::select! {
                        biased;
                        chunk = response.chunk() => match chunk {
                            Ok(Some(chunk)) if following.take(session, &chunk) => {
                                if *acknowledged.borrow() >= id {
                                    subscriptions.settle(version);
                                }
                            }
                            _ => break false,
                        },
                        changed = changes.changed() => break changed.is_ok(),
                    }
                };
                if following.any {
                    pause = FIRST_PAUSE;
                }
                if is_changed {
                    earlier = Some(response);
                    continue;
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            _ = changes.changed() => {}
        }
    }
}

async fn subscribe(session: &HttpSession, dialect: &Dialect, members: &str) -> (u64, Stream) {
    let id = session.new_id();
    let frame = RpcRequest::own(dialect, LISTEN, members).frame(id);
    let head = RequestHeaders::Modern {
        version: &dialect.version,
        method: LISTEN,
        name: None,
        mirrored: &[],
    };
    (
        id,
        Stream::of(session.channel.post(frame.into(), head).await),
    )
}

/// An open stream.
struct EventReader {
    parser: Parser,
    any: bool,
    replies: usize,
}

impl EventReader {
    fn new(session: &HttpSession) -> Self {
        Self {
            parser: Parser::new(session.channel.limits.frame_bytes),
            any: false,
            replies: 0,
        }
    }

    /// Handles a chunk. Returns `false` if an event exceeds the limit.
    fn take(&mut self, session: &HttpSession, chunk: &[u8]) -> bool {
        let Ok(events) = self.parser.push(chunk) else {
            return false;
        };
        for event in events {
            self.any = true;
            session.channel.take_event(&event, None, &mut self.replies);
        }
        true
    }
}

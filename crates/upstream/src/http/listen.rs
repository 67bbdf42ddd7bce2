//! The stream on which a server announces changes, opened again when it breaks.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::Era;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};

use crate::dialect::{Dialect, request};
use crate::http::body::{self, Kind};
use crate::http::session::{HttpSession, modern_headers};
use crate::http::sse::Parser;

const LISTEN: &str = "subscriptions/listen";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The first and the longest pause before a broken stream is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Listens until the task is ended, or the server says that it has no such stream.
pub(crate) async fn listen(session: Arc<HttpSession>, dialect: Dialect) {
    let mut pause = FIRST_PAUSE;
    let mut last_event = None;
    let mut was_open = false;
    loop {
        match open(&session, &dialect, last_event.as_ref()).await {
            // A server that had one may have lost the session; the next request renews it.
            Stream::None(status) if was_open && may_be_lost(status) => last_event = None,
            Stream::None(_) => return,
            Stream::Broken => {}
            Stream::Open(response) => {
                was_open = true;
                if follow(&session, response, &mut last_event).await {
                    pause = FIRST_PAUSE;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

enum Stream {
    Open(Response),
    Broken,
    /// The server has none, or does not let us.
    None(StatusCode),
}

fn may_be_lost(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
}

async fn open(
    session: &HttpSession,
    dialect: &Dialect,
    last_event: Option<&HeaderValue>,
) -> Stream {
    let channel = &session.channel;
    let opened = match dialect.era {
        Era::Modern => {
            let message = request(
                session.new_id(),
                LISTEN,
                &dialect.params(crate::LISTEN_MEMBERS, None),
            );
            channel
                .post(&message, modern_headers(&dialect.version, LISTEN, None))
                .await
        }
        Era::Legacy => {
            let mut headers: HeaderMap = channel.session_headers();
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            headers.extend(last_event.map(|id| (LAST_EVENT_ID, id.clone())));
            channel.send(channel.builder(Method::GET, headers)).await
        }
    };
    match opened {
        Err(_) => Stream::Broken,
        Ok(response) if response.status().is_success() && body::kind(&response) == Kind::Events => {
            Stream::Open(response)
        }
        Ok(response)
            if response.status().is_server_error()
                || response.status() == StatusCode::TOO_MANY_REQUESTS =>
        {
            Stream::Broken
        }
        Ok(response) => Stream::None(response.status()),
    }
}

/// Takes events until the stream ends; whether there were any.
async fn follow(
    session: &HttpSession,
    mut response: Response,
    last_event: &mut Option<HeaderValue>,
) -> bool {
    let mut parser = Parser::new(session.channel.limits.frame_bytes);
    let mut any = false;
    let mut replies = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        let Ok(events) = parser.push(&chunk) else {
            return any;
        };
        for event in events {
            any = true;
            if let Some(id) = &event.id {
                *last_event = HeaderValue::from_str(id).ok();
            }
            session.channel.take_event(&event, None, &mut replies).await;
        }
    }
    any
}

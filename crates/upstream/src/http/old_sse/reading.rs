//! Reads the event stream and passes its messages on, one line each.

use std::sync::Arc;

use pegboard_model::{Reason, ToolError};
use reqwest::Url;
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::opening::{OpenStream, resolve};
use crate::http::body;
use crate::http::exchange::Channel;
use crate::http::sse::{Event, EventName};

/// Reads until the stream ends or violates a limit, and returns why. An event that is not a message is skipped.
pub(super) async fn read_events(
    channel: Arc<Channel>,
    stream: OpenStream,
    mut lines: DuplexStream,
) -> ToolError {
    let OpenStream {
        mut response,
        mut parser,
        endpoint,
        early,
    } = stream;
    let limit = parser.limit();
    let mut budget = channel.response_budget();
    let mut events = early;
    loop {
        for event in events {
            match line_of(&channel, &endpoint, event) {
                Ok(Some(line)) if lines.write_all(&line).await.is_err() => return ended(&channel),
                Ok(_) => {}
                Err(error) => return error,
            }
        }
        if let Err(full) = budget.resize(parser.held_bytes()).await {
            return body::over_budget(&channel.errors, full);
        }
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) | Err(_) => return ended(&channel),
        };
        events = match parser.push(&chunk) {
            Ok(events) => events,
            Err(_) => return too_large(&channel, limit),
        };
    }
}

/// Returns the line of a message; `None` for an event that is none.
fn line_of(channel: &Channel, endpoint: &Url, event: Event) -> Result<Option<Vec<u8>>, ToolError> {
    match event.name {
        EventName::Endpoint if resolve(channel, &event.data)? == *endpoint => Ok(None),
        EventName::Endpoint => {
            let what = "named a second endpoint for messages on the same stream";
            Err(channel.errors.error(Reason::HttpProtocol, what))
        }
        EventName::Other => Ok(None),
        EventName::Message if !event.data.trim_start().starts_with(['{', '[']) => {
            if !event.data.trim().is_empty() {
                channel.inbound.count_invalid();
            }
            Ok(None)
        }
        EventName::Message => {
            // A line end inside of a message is white space, because JSON texts do not contain any.
            let mut line = event.data.into_bytes();
            for byte in &mut line {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
            line.push(b'\n');
            Ok(Some(line))
        }
    }
}

fn ended(channel: &Channel) -> ToolError {
    let what = "closed its event stream";
    let error = channel.errors.error(Reason::ServerExited, what);
    error.with_remedy("The next call opens a new stream.")
}

fn too_large(channel: &Channel, limit: usize) -> ToolError {
    let what = format_args!("sent an event larger than {limit} bytes, and was disconnected");
    channel.errors.error(Reason::FrameTooLarge, what)
}

//! Bodies, read up to a limit.

use bytes::{Bytes, BytesMut};
use pegboard_model::{Reason, ToolError, ToolResult};
use reqwest::header::CONTENT_TYPE;

use crate::byte_budget::{BudgetExceeded, ByteBudget, ByteReservation};
use crate::errors::ErrorContext;
use crate::http::client::ConnectionError;
use crate::http::response::Response;

/// What is reserved at once for a body whose length is known; what the server says is not counted before it is there.
const RESERVED: usize = 1024 * 1024;
/// What is read of a body that is only shown.
const GLIMPSE: usize = 2 * 1024;

/// What kind of answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Json,
    Events,
    Other,
}

/// The kind of an answer by its content type.
pub(crate) fn kind(response: &Response) -> ContentKind {
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = header.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        ContentKind::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        ContentKind::Events
    } else {
        ContentKind::Other
    }
}

/// The answer is larger than allowed.
pub(crate) fn too_large(errors: &ErrorContext, limit: usize) -> ToolError {
    errors.error(
        Reason::HttpBodyTooLarge,
        format_args!("sent an answer larger than {limit} bytes; it was not read further"),
    )
}

/// The server has more answers on their way than there is room for.
pub(crate) fn over_budget(errors: &ErrorContext, full: BudgetExceeded) -> ToolError {
    errors.error(
        Reason::Overloaded,
        format_args!(
            "sends many large answers at once, or others do: together they may have {} bytes; this one was not read \
             further",
            full.bytes
        ),
    )
}

/// ResponseBudget for one answer among those of its server, and among those of all servers.
pub(crate) struct ResponseBudget {
    of_server: ByteReservation,
    of_all: ByteReservation,
}

impl ResponseBudget {
    pub(crate) fn new(of_server: &ByteBudget, of_all: &ByteBudget) -> Self {
        Self {
            of_server: of_server.reserve(),
            of_all: of_all.reserve(),
        }
    }

    /// Makes room for an answer of this size.
    pub(crate) async fn resize(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.of_server.resize(bytes).await?;
        self.of_all.resize(bytes).await
    }
}

/// Reads a whole body; one that says it is larger than the limit is not read at all, and one that came in one piece
/// is not copied.
pub(crate) async fn read(
    response: &mut Response,
    limit: usize,
    mut room: ResponseBudget,
    errors: &ErrorContext,
    broken: impl Fn(ConnectionError) -> ToolError,
) -> ToolResult<Bytes> {
    let told = response
        .content_length()
        .and_then(|length| usize::try_from(length).ok());
    if response
        .content_length()
        .is_some_and(|length| length > limit as u64)
    {
        return Err(too_large(errors, limit));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(&broken)? {
        if body.is_empty() && told == Some(chunk.len()) {
            return Ok(chunk);
        }
        if body.len() + chunk.len() > limit {
            return Err(too_large(errors, limit));
        }
        let whole = body.len() + chunk.len();
        let counted = room.resize(whole).await;
        counted.map_err(|full| over_budget(errors, full))?;
        if body.is_empty() {
            body.reserve(told.unwrap_or(chunk.len()).min(limit).min(RESERVED));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// The start of a body, for showing; whatever goes wrong only makes it shorter.
pub(crate) async fn preview(response: &mut Response) -> Bytes {
    let mut start = Vec::new();
    while start.len() < GLIMPSE {
        let chunk: Bytes = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            _ => break,
        };
        start.extend(chunk.iter().take(GLIMPSE - start.len()));
    }
    start.into()
}

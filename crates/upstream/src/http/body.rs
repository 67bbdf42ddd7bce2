//! Reads response bodies up to a limit.

use bytes::{Bytes, BytesMut};
use pegboard_model::{Reason, ToolError, ToolResult};
use reqwest::header::CONTENT_TYPE;

use crate::byte_budget::{BudgetExceeded, ByteBudget, ByteReservation};
use crate::errors::ErrorContext;
use crate::http::client::ConnectionError;
use crate::http::response::Response;

/// Capacity reserved at once for a body of known length. The announced length alone must not allocate more.
const RESERVED: usize = 1024 * 1024;
/// Bytes read of a body that is only displayed.
const GLIMPSE: usize = 2 * 1024;

/// The content type of a response, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Json,
    Events,
    Other,
}

/// Returns the kind of a response by its content type.
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

/// The response is larger than allowed.
pub(crate) fn too_large(errors: &ErrorContext, limit: usize) -> ToolError {
    errors.error(
        Reason::HttpBodyTooLarge,
        format_args!("sent a response larger than {limit} bytes; the rest was not read"),
    )
}

/// Concurrent responses exceed their common budget.
pub(crate) fn over_budget(errors: &ErrorContext, full: BudgetExceeded) -> ToolError {
    errors.error(
        Reason::Overloaded,
        format_args!(
            "cannot be read further: concurrent large responses exceed their common limit of {} bytes",
            full.bytes
        ),
    )
}

/// The bytes of one response, counted in the budget of its server and in that of all servers.
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

    /// Resizes both reservations.
    pub(crate) async fn resize(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.of_server.resize(bytes).await?;
        self.of_all.resize(bytes).await
    }
}

/// Reads a whole body. A body whose announced length exceeds the limit is not read, and one that arrives in one chunk
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

/// Reads the start of a body for display. Errors only make it shorter.
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

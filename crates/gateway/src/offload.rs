//! Moves expensive work off the thread that serves all clients.

use pegboard_model::{Reason, ToolError, ToolResult};

/// Results up to this size are processed inline, which takes at most a few milliseconds.
pub(crate) const INLINE_BYTES: usize = 256 * 1024;

/// Runs `work` on a blocking thread if `is_heavy`, else inline.
pub(crate) async fn run<T: Send + 'static>(
    is_heavy: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> ToolResult<T> {
    if !is_heavy {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::new(Reason::Internal, format!("the task failed: {error}")))
}

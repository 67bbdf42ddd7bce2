//! Work that would hold up all other clients on the one thread that serves them.

use pegboard_model::{Reason, ToolError, ToolResult};

/// Results up to this size are looked through at once: that takes less than a few milliseconds.
pub(crate) const INLINE_BYTES: usize = 256 * 1024;

/// Does some work: at once when it is light, else on another thread.
pub(crate) async fn run<T: Send + 'static>(
    is_heavy: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> ToolResult<T> {
    if !is_heavy {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::new(Reason::Internal, format!("the work broke off: {error}")))
}

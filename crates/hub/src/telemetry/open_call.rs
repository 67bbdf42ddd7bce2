//! Recording of calls that are dropped before they finish.

use pegboard_catalog::ResolvedTool;
use pegboard_model::Reason;
use tokio::time::Instant;

use super::{FinishedRequest, Telemetry, TraceScope};
use crate::calls::{CallRequest, ToolTarget};

/// A call in progress. If it is dropped before [`OpenCall::end`], because the client cancelled it or the program ends, it
/// is recorded as cancelled.
pub(crate) struct OpenCall<'a> {
    telemetry: &'a Telemetry,
    request: &'a CallRequest,
    trace: TraceScope,
    started: Instant,
    /// The tool, if the request names it and the name is resolved.
    tool: Option<ResolvedTool>,
    is_over: bool,
}

impl<'a> OpenCall<'a> {
    pub(crate) fn new(
        telemetry: &'a Telemetry,
        request: &'a CallRequest,
        trace: &TraceScope,
    ) -> Self {
        Self {
            telemetry,
            request,
            trace: trace.clone(),
            started: Instant::now(),
            tool: None,
            is_over: false,
        }
    }

    /// The name in the request is resolved.
    pub(crate) fn set_tool(&mut self, tool: ResolvedTool) {
        self.tool = Some(tool);
    }

    /// The call finished and is recorded by its caller.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let tool = match &self.request.tool {
            ToolTarget::Resolved(tool) => Some(tool),
            ToolTarget::Named(_) => self.tool.as_ref(),
        };
        let cancelled = FinishedRequest {
            session: &self.request.session,
            client: self.request.client.as_deref(),
            name: tool.map_or("unknown", |tool| tool.exposed().as_str()),
            server: tool.and_then(ResolvedTool::server),
            outcome: Reason::Cancelled.code(),
            took: self.started.elapsed(),
        };
        self.telemetry.call_finished(&self.trace, cancelled);
    }
}

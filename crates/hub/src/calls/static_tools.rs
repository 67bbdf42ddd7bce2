//! Tools of the host program.

use async_trait::async_trait;
use pegboard_model::ToolResult;
use pegboard_upstream::CallOutcome;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Runs a tool of the host program.
#[async_trait]
pub trait ToolHandler: Send + Sync {
    /// Runs the tool. The arguments match the tool's schema.
    async fn call(&self, arguments: Value) -> ToolResult<Value>;
}

/// Converts a handler's return value into a tool result.
pub(crate) fn as_result(answer: Value) -> ToolResult<CallOutcome> {
    let text = match &answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let content = json!([{ "type": "text", "text": text }]);
    let result = match answer {
        Value::Object(_) => {
            json!({ "content": content, "structuredContent": answer, "isError": false })
        }
        _ => json!({ "content": content, "isError": false }),
    };
    let result = RawValue::from_string(result.to_string()).map_err(|error| {
        pegboard_model::ToolError::new(pegboard_model::Reason::Internal, error.to_string())
    })?;
    Ok(CallOutcome::new(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::{CallRequest, Hub, HubParts, HubSettings, NoApprover, SessionId, SystemClock};
    use pegboard_catalog::StaticTool;
    use pegboard_model::{ErrorClass, Reason, ServerSpec, ToolError};
    use pegboard_upstream::{Connect, ConnectHint, Upstream};

    struct NoServers;

    #[async_trait]
    impl Connect for NoServers {
        async fn connect(
            &self,
            spec: &ServerSpec,
            _: &ConnectHint,
            _: Duration,
        ) -> ToolResult<Arc<dyn Upstream>> {
            Err(ToolError::new(Reason::SpawnNotFound, "there is none").at_server(&spec.name))
        }
    }

    /// A handler that reports itself as not implemented.
    struct Unfinished;

    #[async_trait]
    impl ToolHandler for Unfinished {
        async fn call(&self, _: Value) -> ToolResult<Value> {
            Err(ToolError::new(
                Reason::HandlerMissing,
                "`later` is not built yet",
            ))
        }
    }

    #[tokio::test]
    async fn r_reg_05_a_tool_without_an_implementation_is_not_implemented() {
        let parts = HubParts {
            store: Arc::new(pegboard_store::MemoryStore::new()),
            ledger: Arc::new(pegboard_store::MemoryLedger::new()),
            connector: Arc::new(NoServers),
            clock: Arc::new(SystemClock),
            approver: Arc::new(NoApprover),
            encoder: None,
            recorder: Arc::new(pegboard_model::NoopRecorder),
            settings: HubSettings::default(),
            limits: pegboard_model::Limits::default(),
        };
        let hub = Hub::with_lazy_records(parts, Vec::new, []);
        for name in ["later", "lost"] {
            let tool = StaticTool::new(name, "Does nothing yet.", json!({"type": "object"}));
            hub.register(tool.unwrap(), Arc::new(Unfinished)).unwrap();
        }
        // A tool without a handler reports the same error as one whose handler is not implemented.
        hub.inner.catalog.remove_handler("lost");
        for name in ["later", "lost"] {
            let arguments = RawValue::from_string("{}".to_owned()).unwrap();
            let request = CallRequest::new(SessionId("s".to_owned()), name, arguments);
            let error = hub.call(&request).await.unwrap_err();
            assert_eq!(error.reason, Reason::HandlerMissing, "{name}");
            assert_eq!(error.reason.class(), ErrorClass::NotImplemented);
            let json = serde_json::to_value(&error).unwrap();
            assert_eq!(json["code"], "TOOL_NOT_IMPLEMENTED", "{json}");
            assert_eq!(json["retryable"], false, "{json}");
            assert!(error.message.contains(name), "{}", error.message);
        }
    }
}

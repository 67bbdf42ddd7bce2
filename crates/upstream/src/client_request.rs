//! A request of a legacy server to a client, and the response.

use std::sync::Arc;

use pegboard_jsonrpc::{code, error_response, result_response, rpc_error};
use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::callers::ClientRequestGuard;
use crate::contract::Caller;

/// Why the client's response is no longer needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The server cancelled the request, or is gone.
    Withdrawn,
    /// The call that the request belonged to ended.
    CallEnded,
}

/// A request that is to be sent to a client.
pub(crate) struct ClientRequest {
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) stopped: oneshot::Receiver<StopReason>,
    pub(crate) open: ClientRequestGuard,
}

impl ClientRequest {
    /// Sends the request to the client. Returns the frame with the response for the server; `None` if the server no
    /// longer wants it.
    pub(crate) async fn respond(self) -> Option<String> {
        let id = self.id.clone();
        Some(match self.response().await? {
            Ok(result) => result_response(&id, result.get()),
            Err(error) => error_response(Some(&id), &error),
        })
    }

    /// Returns the client's response; `None` if the server no longer wants it.
    pub(crate) async fn response(self) -> Option<Result<Box<RawValue>, RpcError>> {
        let Self {
            caller,
            id: _,
            method,
            params,
            stopped,
            open: _until_answered,
        } = self;
        tokio::select! {
            biased;
            stop = stopped => match stop {
                Ok(StopReason::CallEnded) => Some(Err(call_ended())),
                Ok(StopReason::Withdrawn) | Err(_) => None,
            },
            response = caller.send_request(&method, params.as_deref()) => Some(response),
        }
    }
}

fn call_ended() -> RpcError {
    rpc_error(
        code::INTERNAL_ERROR,
        "the call that this request belonged to has ended",
    )
}

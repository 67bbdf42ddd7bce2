//! A question of a legacy server on its way to a client and back.

use std::sync::Arc;

use pegboard_jsonrpc::{code, error_response, result_response};
use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::callers::ClientRequestGuard;
use crate::contract::Caller;

/// Why nobody waits for the client's answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The server does not want it, or is gone.
    Withdrawn,
    /// The call that it belonged to ended.
    CallEnded,
}

/// A question that is to be put to a client.
pub(crate) struct ClientRequest {
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) stopped: oneshot::Receiver<StopReason>,
    pub(crate) open: ClientRequestGuard,
}

impl ClientRequest {
    /// Asks the client; the frame that answers the server, if it still wants one.
    pub(crate) async fn put(self) -> Option<String> {
        let id = self.id.clone();
        Some(match self.answer().await? {
            Ok(result) => result_response(&id, result.get()),
            Err(error) => error_response(&id, &error),
        })
    }

    /// What the client answers; `None` when the server does not want it any more.
    pub(crate) async fn answer(self) -> Option<Result<Box<RawValue>, RpcError>> {
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
                Ok(StopReason::CallEnded) => Some(Err(over())),
                Ok(StopReason::Withdrawn) | Err(_) => None,
            },
            answer = caller.ask(&method, params.as_deref()) => Some(answer),
        }
    }
}

fn over() -> RpcError {
    RpcError {
        code: code::INTERNAL_ERROR,
        message: "the call that this question belonged to is over".to_owned(),
        data: None,
    }
}

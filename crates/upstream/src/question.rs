//! A question of a legacy server on its way to a client and back.

use std::sync::Arc;

use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::callers::OpenQuestion;
use crate::contract::Caller;
use crate::dialect::{refusal, reply};

const INTERNAL_ERROR: i64 = -32603;

/// Why nobody waits for the client's answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The server does not want it, or is gone.
    TakenBack,
    /// The call that it belonged to ended.
    CallOver,
}

/// A question that is to be put to a client.
pub(crate) struct Question {
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) stopped: oneshot::Receiver<Stop>,
    pub(crate) open: OpenQuestion,
}

impl Question {
    /// Asks the client; the frame that answers the server, if it still wants one.
    pub(crate) async fn put(self) -> Option<String> {
        let id = self.id.clone();
        Some(match self.answer().await? {
            Ok(result) => reply(&id, result.get()),
            Err(error) => refusal(&id, &error),
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
                Ok(Stop::CallOver) => Some(Err(over())),
                Ok(Stop::TakenBack) | Err(_) => None,
            },
            answer = caller.ask(&method, params.as_deref()) => Some(answer),
        }
    }
}

fn over() -> RpcError {
    RpcError {
        code: INTERNAL_ERROR,
        message: "the call that this question belonged to is over".to_owned(),
        data: None,
    }
}

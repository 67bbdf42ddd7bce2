//! The client behind a call, as its server may reach it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pegboard_hub::{Caller, Listener};
use pegboard_model::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::conversation::{Conversation, MessageSink, lock};
use crate::level::Level;
use crate::members::Members;
use crate::notification_limiter::NotificationLimiter;
use crate::response::{code, rpc};
use crate::session_listener::SessionListener;

/// A server's question that a modern client answers by calling again.
pub(crate) struct InputRequest {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
}

/// How questions reach the client.
pub(crate) enum InputDelivery {
    /// As requests of our own, in the middle of the call.
    Ask,
    /// In a result that says `input_required`; whoever drives the call takes them from here.
    Collect(mpsc::UnboundedSender<InputRequest>),
    /// Not at all.
    Refuse,
}

pub(crate) struct ClientCaller {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) capabilities: Arc<str>,
    pub(crate) delivery: InputDelivery,
    pub(crate) request: Mutex<ClientChannel>,
    /// What the server may still send to the client in the course of this call.
    pub(crate) limiter: Mutex<NotificationLimiter>,
    /// Whether the client can be reached between calls.
    pub(crate) is_legacy: bool,
}

/// How the request under way reaches its client. A call that was parked is gone on with by another request.
#[derive(Clone)]
pub(crate) struct ClientChannel {
    pub(crate) sink: Arc<dyn MessageSink>,
    /// The client's own token for progress, as JSON text.
    pub(crate) progress_token: Option<Arc<str>>,
    /// The least grave log message that it wants; `None` is none at all.
    pub(crate) level: Option<Level>,
}

impl ClientChannel {
    fn notify(&self, method: &str, params: &str) {
        self.sink.send(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
        ));
    }
}

impl ClientCaller {
    fn reach(&self) -> ClientChannel {
        lock(&self.request).clone()
    }

    /// The call is over: the client hears how many notifications it did not get.
    pub(crate) fn report_dropped(&self) {
        if let Some(report) = lock(&self.limiter).take_report() {
            let reach = self.reach();
            if reach.level.is_some() {
                reach.notify("notifications/message", &report);
            }
        }
    }

    /// Another request of the client goes on with the call.
    pub(crate) fn resume(&self, reach: ClientChannel) {
        *lock(&self.request) = reach;
    }
}

#[async_trait]
impl Caller for ClientCaller {
    fn session(&self) -> &str {
        &self.conversation.session.0
    }

    fn capabilities(&self) -> &str {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        lock(&self.request).progress_token.is_some()
    }

    fn progress(&self, params: &RawValue) {
        let reach = self.reach();
        if let Some(token) = &reach.progress_token
            && lock(&self.limiter).admits_progress(params.get().len())
            && let Some(mut members) = Members::of(params.get())
        {
            members.set("progressToken", &**token);
            reach.notify("notifications/progress", &members.to_string());
        }
    }

    fn message(&self, params: &RawValue) {
        let severity = severity(params);
        let reach = self.reach();
        let is_wanted = |least| severity.is_some_and(|severity| severity >= least);
        if reach.level.is_some_and(is_wanted)
            && lock(&self.limiter).admits_message(params.get().len())
        {
            reach.notify("notifications/message", params.get());
        }
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        let listener = || Arc::new(SessionListener::new(&self.conversation)) as Arc<dyn Listener>;
        self.is_legacy.then(listener)
    }

    async fn ask(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let refused = || rpc(code::METHOD_NOT_FOUND, "the client cannot be asked");
        match &self.delivery {
            InputDelivery::Ask => {
                let questions = &self.conversation.questions;
                let sink = self.reach().sink;
                questions.ask(&*sink, method, params).await
            }
            InputDelivery::Collect(questions) => {
                let (answer, answered) = oneshot::channel();
                let question = InputRequest {
                    method: method.to_owned(),
                    params: params.map(RawValue::to_owned),
                    answer,
                };
                questions.send(question).map_err(|_| refused())?;
                let given_up = || rpc(code::INTERNAL, "the client did not answer in time");
                answered.await.unwrap_or_else(|_| Err(given_up()))
            }
            InputDelivery::Refuse => Err(refused()),
        }
    }
}

/// How grave a log message is; `None` for one that does not say so in a known way.
pub(crate) fn severity(params: &RawValue) -> Option<Level> {
    #[derive(Deserialize)]
    struct Severity<'a> {
        #[serde(borrow)]
        level: std::borrow::Cow<'a, str>,
    }
    let severity = serde_json::from_str::<Severity<'_>>(params.get()).ok()?;
    Level::parse(&severity.level)
}

/// The capabilities that a server may know of: what we do not carry is not promised to it.
pub(crate) fn forwarded_capabilities(declared: &str) -> Arc<str> {
    match Members::of(declared) {
        Some(mut members) => {
            let before = members.0.len();
            members.remove("extensions");
            members.remove("tasks");
            if members.0.len() == before {
                declared.into()
            } else {
                members.to_string().into()
            }
        }
        None => "{}".into(),
    }
}

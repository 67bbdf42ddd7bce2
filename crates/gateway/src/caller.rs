//! The client behind a call, as its server may reach it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pegboard_hub::{Caller, Listener};
use pegboard_model::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::conversation::{Conversation, Outlet, lock};
use crate::level::Level;
use crate::listener::SessionListener;
use crate::members::Members;
use crate::relay::Relay;
use crate::response::{code, rpc};

/// A server's question that a modern client answers by calling again.
pub(crate) struct Question {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
}

/// How questions reach the client.
pub(crate) enum Way {
    /// As requests of our own, in the middle of the call.
    Ask,
    /// In a result that says `input_required`; whoever drives the call takes them from here.
    Collect(mpsc::UnboundedSender<Question>),
    /// Not at all.
    Never,
}

pub(crate) struct ClientCaller {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) capabilities: Arc<str>,
    pub(crate) way: Way,
    pub(crate) request: Mutex<Reach>,
    /// What the server may still send to the client in the course of this call.
    pub(crate) relay: Mutex<Relay>,
    /// Whether the client can be reached between calls.
    pub(crate) is_legacy: bool,
}

/// How the request under way reaches its client. A call that was parked is gone on with by another request.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) outlet: Arc<dyn Outlet>,
    /// The client's own token for progress, as JSON text.
    pub(crate) progress_token: Option<Arc<str>>,
    /// The least grave log message that it wants; `None` is none at all.
    pub(crate) level: Option<Level>,
}

impl Reach {
    fn notify(&self, method: &str, params: &str) {
        self.outlet.send(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
        ));
    }
}

impl ClientCaller {
    fn reach(&self) -> Reach {
        lock(&self.request).clone()
    }

    /// The call is over: the client hears how many notifications it did not get.
    pub(crate) fn report_dropped(&self) {
        if let Some(report) = lock(&self.relay).take_report() {
            let reach = self.reach();
            if reach.level.is_some() {
                reach.notify("notifications/message", &report);
            }
        }
    }

    /// Another request of the client goes on with the call.
    pub(crate) fn go_on(&self, reach: Reach) {
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
            && lock(&self.relay).admits_progress(params.get().len())
            && let Some(mut members) = Members::of(params.get())
        {
            members.set("progressToken", &**token);
            reach.notify("notifications/progress", &members.to_string());
        }
    }

    fn message(&self, params: &RawValue) {
        let graveness = graveness(params);
        let reach = self.reach();
        let is_wanted = |least| graveness.is_some_and(|grave| grave >= least);
        if reach.level.is_some_and(is_wanted)
            && lock(&self.relay).admits_message(params.get().len())
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
        match &self.way {
            Way::Ask => {
                let questions = &self.conversation.questions;
                let outlet = self.reach().outlet;
                questions.ask(&*outlet, method, params).await
            }
            Way::Collect(questions) => {
                let (answer, answered) = oneshot::channel();
                let question = Question {
                    method: method.to_owned(),
                    params: params.map(RawValue::to_owned),
                    answer,
                };
                questions.send(question).map_err(|_| refused())?;
                let given_up = || rpc(code::INTERNAL, "the client did not answer in time");
                answered.await.unwrap_or_else(|_| Err(given_up()))
            }
            Way::Never => Err(refused()),
        }
    }
}

/// How grave a log message is; `None` for one that does not say so in a known way.
pub(crate) fn graveness(params: &RawValue) -> Option<Level> {
    #[derive(Deserialize)]
    struct Graveness<'a> {
        #[serde(borrow)]
        level: std::borrow::Cow<'a, str>,
    }
    let graveness = serde_json::from_str::<Graveness<'_>>(params.get()).ok()?;
    Level::parse(&graveness.level)
}

/// The capabilities that a server may know of: what we do not carry is not promised to it.
pub(crate) fn carried_capabilities(declared: &str) -> Arc<str> {
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

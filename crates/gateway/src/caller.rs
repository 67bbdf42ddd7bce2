//! The client side of a call: how a server reaches the client that made it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pegboard_hub::{Caller, ClientCapabilities, Listener};
use pegboard_jsonrpc::{Members, notification};
use pegboard_model::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::conversation::{Conversation, MessageSink, lock};
use crate::level::Level;
use crate::notification_limiter::NotificationLimiter;
use crate::response::{code, rpc};
use crate::session_listener::SessionListener;

/// A server's request for input, which a modern client responds to by retrying its request.
pub(crate) struct InputRequest {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) response: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
}

/// How input requests reach the client.
pub(crate) enum InputDelivery {
    /// As JSON-RPC requests during the call.
    Inline,
    /// In an `input_required` result. The task that drives the call receives them here.
    Collect(mpsc::UnboundedSender<InputRequest>),
    /// Not at all: they are refused.
    Refuse,
}

pub(crate) struct ClientCaller {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) delivery: InputDelivery,
    pub(crate) channel: Mutex<ClientChannel>,
    /// Limits the notifications of this call.
    pub(crate) limiter: Mutex<NotificationLimiter>,
    /// Whether the client has a session, so that it can be reached between calls.
    pub(crate) is_legacy: bool,
}

/// The channel of the current request. A parked call continues with the channel of a later request.
#[derive(Clone)]
pub(crate) struct ClientChannel {
    pub(crate) sink: Arc<dyn MessageSink>,
    /// The client's progress token, as JSON text.
    pub(crate) progress_token: Option<Arc<str>>,
    /// The minimum level of log messages. `None` means no messages.
    pub(crate) level: Option<Level>,
}

impl ClientChannel {
    fn notify(&self, method: &str, params: &str) {
        self.sink.send(notification(method, params));
    }
}

impl ClientCaller {
    fn channel(&self) -> ClientChannel {
        lock(&self.channel).clone()
    }

    /// Notifies the client how many notifications were dropped. Called at the end of the call.
    pub(crate) fn report_dropped(&self) {
        if let Some(report) = lock(&self.limiter).take_report() {
            let channel = self.channel();
            if channel.level.is_some() {
                channel.notify("notifications/message", &report);
            }
        }
    }

    /// Continues the call on the channel of another request.
    pub(crate) fn resume(&self, channel: ClientChannel) {
        *lock(&self.channel) = channel;
    }
}

#[async_trait]
impl Caller for ClientCaller {
    fn session(&self) -> &str {
        &self.conversation.session.0
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        lock(&self.channel).progress_token.is_some()
    }

    fn progress(&self, params: &RawValue) {
        let channel = self.channel();
        if let Some(token) = &channel.progress_token
            && lock(&self.limiter).admits_progress(params.get().len())
            && let Some(mut members) = Members::of(params.get())
        {
            members.set("progressToken", &**token);
            channel.notify("notifications/progress", &members.to_string());
        }
    }

    fn message(&self, params: &RawValue) {
        let severity = severity(params);
        let channel = self.channel();
        let is_wanted = |minimum| severity.is_some_and(|severity| severity >= minimum);
        if channel.level.is_some_and(is_wanted)
            && lock(&self.limiter).admits_message(params.get().len())
        {
            channel.notify("notifications/message", params.get());
        }
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        let listener = || Arc::new(SessionListener::new(&self.conversation)) as Arc<dyn Listener>;
        self.is_legacy.then(listener)
    }

    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let refused = || rpc(code::METHOD_NOT_FOUND, "the client accepts no requests");
        match &self.delivery {
            InputDelivery::Inline => {
                let requests = &self.conversation.client_requests;
                let sink = self.channel().sink;
                requests.send(&*sink, method, params).await
            }
            InputDelivery::Collect(requests) => {
                let (response, received) = oneshot::channel();
                let request = InputRequest {
                    method: method.to_owned(),
                    params: params.map(RawValue::to_owned),
                    response,
                };
                requests.send(request).map_err(|_| refused())?;
                let given_up = || rpc(code::INTERNAL_ERROR, "the client did not respond in time");
                received.await.unwrap_or_else(|_| Err(given_up()))
            }
            InputDelivery::Refuse => Err(refused()),
        }
    }
}

/// The level of a log message, or `None` if it is missing or unknown.
pub(crate) fn severity(params: &RawValue) -> Option<Level> {
    #[derive(Deserialize)]
    struct Severity<'a> {
        #[serde(borrow)]
        level: std::borrow::Cow<'a, str>,
    }
    let severity = serde_json::from_str::<Severity<'_>>(params.get()).ok()?;
    Level::parse(&severity.level)
}

//! Resource subscriptions in both eras.

use pegboard_jsonrpc::{RpcResponse, quoted};
use pegboard_model::{Reason, ToolResult};

use crate::errors::RequestSubject;
use crate::session::Session;
use crate::transport::{RpcRequest, RpcTransport};

impl<W: RpcTransport> Session<W> {
    /// Subscribes to updates of a resource at a legacy server, or unsubscribes. A modern server gets the change through
    /// the `subscriptions/listen` stream, which the caller keeps open.
    pub(crate) async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        let errors = &self.setup.errors;
        let agreed = self.agreed();
        let too_many = |_| {
            let limit = self.setup.limits.subscriptions_per_server;
            let what = format_args!("has reached the limit of {limit} resource subscriptions");
            errors.error(Reason::Overloaded, what)
        };
        if agreed.dialect.is_modern() {
            if self.subscriptions.set(uri, watch).map_err(too_many)? {
                self.subscriptions.known().await;
            }
            return Ok(());
        }
        let method = match watch {
            true => "resources/subscribe",
            false => "resources/unsubscribe",
        };
        if watch {
            self.subscriptions.check_room(uri).map_err(too_many)?;
        } else {
            // Whatever the server responds, the subscription is not repeated.
            let _ = self.subscriptions.set(uri, false);
        }
        let members = format!(r#""uri":{}"#, quoted(uri));
        let limit = self.setup.list_time;
        let ask = self
            .transport
            .ask(RpcRequest::own(&agreed.dialect, method, &members));
        match tokio::time::timeout(limit, ask).await {
            Ok(Ok(RpcResponse::Result(_))) if watch => self
                .subscriptions
                .set(uri, true)
                .map(drop)
                .map_err(too_many),
            Ok(Ok(RpcResponse::Result(_))) => Ok(()),
            Ok(Ok(RpcResponse::TooDeep(_))) => Err(errors.too_deep()),
            Ok(Ok(RpcResponse::Error(error))) => {
                Err(errors.refused(RequestSubject::Method(method), &error))
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(errors.timeout(RequestSubject::Method(method), limit)),
        }
    }
}

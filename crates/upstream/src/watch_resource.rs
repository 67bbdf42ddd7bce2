//! Asking for the updates of a resource, in the way of the server's era.

use pegboard_jsonrpc::{RpcResponse, quoted};
use pegboard_model::{Reason, ToolResult};

use crate::errors::RequestSubject;
use crate::session::Session;
use crate::transport::{RpcRequest, RpcTransport};

impl<W: RpcTransport> Session<W> {
    /// Asks a legacy server for the updates of a resource, or no longer; a modern one is asked by the stream of
    /// announcements, which whoever calls this keeps going.
    pub(crate) async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        let errors = &self.setup.errors;
        let agreed = self.agreed();
        let too_many = |_| {
            let limit = self.setup.limits.subscriptions_per_server;
            let what = format_args!("has {limit} watched resources, and more are not allowed");
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
            // Whatever the server says, it is not asked for again.
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

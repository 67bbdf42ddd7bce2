//! Keeps a `subscriptions/listen` request open at a modern stdio server and repeats it when the subscriptions change.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pegboard_jsonrpc::RpcResponse;
use pegboard_model::ToolResult;

use crate::capabilities::ServerCapabilities;
use crate::dialect::Dialect;
use crate::stdio_rpc::StdioRpc;
use crate::subscriptions::{LISTEN, Subscriptions};
use crate::transport::{ResponseSize, RpcRequest};

/// The delay before resubscribing to a server that ended the stream of notifications.
const PAUSE: Duration = Duration::from_secs(5);

type ListenRequest<'a> = Pin<Box<dyn Future<Output = ToolResult<RpcResponse>> + Send + 'a>>;

/// Listens until the connection ends. The request stays pending as long as the server sends notifications.
pub(crate) async fn listen(
    rpc: Arc<StdioRpc>,
    dialect: Dialect,
    subscriptions: Arc<Subscriptions>,
    capabilities: ServerCapabilities,
) {
    let mut changes = subscriptions.changes();
    let mut acknowledged = rpc.inbound.acknowledged();
    let mut earlier: Option<ListenRequest<'_>> = None;
    loop {
        changes.mark_unchanged();
        let (version, members) = subscriptions.members(capabilities);
        let Some(members) = members else {
            subscriptions.acknowledge(version);
            drop(earlier.take());
            tokio::select! {
                _ = changes.changed() => continue,
                _ = rpc.wait_end() => return,
            }
        };
        let id = rpc.new_id();
        let frame = RpcRequest::own(&dialect, LISTEN, &members).frame(id);
        let mut open: ListenRequest<'_> =
            Box::pin(rpc.request(id, frame, ResponseSize::Frame, true));
        // Sent before the earlier one is cancelled, so that nothing is missed in between.
        let mut ended = poll_fn(|context| {
            Poll::Ready(match open.as_mut().poll(context) {
                Poll::Ready(response) => Some(response),
                Poll::Pending => None,
            })
        })
        .await;
        drop(earlier.take());
        let mut is_known = false;
        while ended.is_none() {
            tokio::select! {
                response = &mut open => ended = Some(response),
                known = acknowledged.wait_for(|known| *known >= id), if !is_known => {
                    is_known = true;
                    if known.is_ok() {
                        subscriptions.acknowledge(version);
                    }
                }
                _ = changes.changed() => break,
            }
        }
        match ended {
            None => earlier = Some(open),
            Some(response) => {
                subscriptions.acknowledge(version);
                match response {
                    Err(_) if rpc.ended().is_some() => return,
                    // It does not support the request; a different filter may work.
                    Ok(RpcResponse::Error(_)) => tokio::select! {
                        _ = changes.changed() => {}
                        _ = rpc.wait_end() => return,
                    },
                    // The response was malformed, or the server ended the stream.
                    Err(_) | Ok(RpcResponse::Result(_) | RpcResponse::TooDeep(_)) => {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }
}

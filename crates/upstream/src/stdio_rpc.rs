//! Requests and responses over a pair of byte streams, with ids of our own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pegboard_jsonrpc::{RpcResponse, cancelled, notification};
use pegboard_model::{Limits, Reason, ToolError, ToolResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use crate::errors::ErrorContext;
use crate::inbound::Inbound;
use crate::outbox::{Outbox, WriteMode};
use crate::transport::ResponseSize;

/// How reading ended.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The stream ended.
    Closed,
    /// The server violated a limit and is stopped.
    Broken(ToolError),
}

/// The reading side, for the supervisor of the server.
pub(crate) struct ReaderHandle {
    pub(crate) end: oneshot::Receiver<ReadEnd>,
    /// Aborts reading if an escaped process keeps the stream open.
    pub(crate) task: AbortHandle,
}

/// A JSON-RPC connection over byte streams.
pub(crate) struct StdioRpc {
    state: Mutex<RpcState>,
    next_id: AtomicU64,
    /// Pending requests whose response may be as large as a result.
    pub(crate) large_responses: AtomicUsize,
    pub(crate) outgoing: Arc<Outbox>,
    end: watch::Sender<Option<ToolError>>,
    /// Set after a modern handshake: modern servers send no requests.
    pub(crate) modern: AtomicBool,
    pub(crate) inbound: Arc<Inbound>,
    pub(crate) errors: ErrorContext,
    pub(crate) limits: Limits,
}

#[derive(Default)]
pub(crate) struct RpcState {
    pub(crate) waiting: HashMap<u64, oneshot::Sender<ToolResult<RpcResponse>>>,
    ended: Option<ToolError>,
}

impl StdioRpc {
    /// Starts to read and write messages.
    pub(crate) fn start<R, W>(
        source: R,
        sink: W,
        inbound: Arc<Inbound>,
        errors: ErrorContext,
        limits: &Limits,
    ) -> (Arc<Self>, ReaderHandle)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let rpc = Arc::new(Self {
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            large_responses: AtomicUsize::new(0),
            outgoing: Outbox::new(Box::new(sink)),
            end: watch::channel(None).0,
            modern: AtomicBool::new(false),
            inbound,
            errors,
            limits: limits.clone(),
        });
        let (end_sender, end) = oneshot::channel();
        let reader = Arc::clone(&rpc);
        let task = tokio::spawn(async move {
            let end = reader.read_all(source).await;
            // The receiver may be gone.
            let _ = end_sender.send(end);
        });
        (
            rpc,
            ReaderHandle {
                end,
                task: task.abort_handle(),
            },
        )
    }

    /// Returns an id for the next request.
    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request whose frame carries the id and waits for its response, without a timeout. Dropping the future
    /// forgets the id and, if `cancellable`, sends a cancellation.
    pub(crate) async fn request(
        &self,
        id: u64,
        frame: String,
        size: ResponseSize,
        cancellable: bool,
    ) -> ToolResult<RpcResponse> {
        let (response, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            if let Some(error) = &state.ended {
                return Err(error.clone());
            }
            state.waiting.insert(id, response);
        }
        let mut forget = ForgetOnDrop {
            rpc: self,
            id,
            size,
            is_served: false,
            sends_cancellation: false,
        };
        let mode = match size {
            // While another call is in flight, more may follow at once.
            ResponseSize::Result if self.large_responses.fetch_add(1, Ordering::Relaxed) > 0 => {
                WriteMode::Batched
            }
            _ => WriteMode::Immediate,
        };
        let is_sent = self.outgoing.send(frame, mode).await;
        forget.sends_cancellation = is_sent && cancellable;
        // If stdin is closed, the response still comes from the end of the connection or the timeout.
        let response = receiver.await;
        forget.is_served = true;
        response.unwrap_or_else(|_| {
            Err(self
                .errors
                .error(Reason::ServerExited, "closed the connection"))
        })
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: &str) {
        // If the server has ended, the next request reports it.
        let frame = notification(method, params);
        self.outgoing.send(frame, WriteMode::Immediate).await;
    }

    /// Ends the connection: every pending and later request fails with this error. Only the first call has an effect.
    pub(crate) fn finish(&self, error: ToolError) {
        let waiting = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(error.clone());
            std::mem::take(&mut state.waiting)
        };
        for (_, caller) in waiting {
            let _ = caller.send(Err(error.clone()));
        }
        self.inbound.callers.close();
        self.end.send_replace(Some(error));
    }

    /// Fails one pending request. Returns whether it was pending.
    pub(crate) fn reject(&self, id: u64, error: ToolError) -> bool {
        let caller = self.lock().waiting.remove(&id);
        caller.is_some_and(|caller| caller.send(Err(error)).is_ok())
    }

    /// Closes the server's stdin.
    pub(crate) fn close_input(&self) {
        self.outgoing.close();
    }

    /// Returns why the connection ended; `None` while it is open.
    pub(crate) fn ended(&self) -> Option<ToolError> {
        self.end.borrow().clone()
    }

    /// Waits until the connection ends.
    pub(crate) async fn wait_end(&self) -> ToolError {
        let mut end = self.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(error) => error.clone(),
            Err(_) => None,
        }
        .unwrap_or_else(|| {
            self.errors
                .error(Reason::ServerExited, "closed the connection")
        })
    }

    /// Returns the number of requests that wait for a response.
    pub(crate) fn in_flight(&self) -> usize {
        self.lock().waiting.len()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RpcState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a request when its caller is gone or has its response.
struct ForgetOnDrop<'a> {
    rpc: &'a StdioRpc,
    id: u64,
    size: ResponseSize,
    /// Whether the response arrived, so that the id is already forgotten.
    is_served: bool,
    sends_cancellation: bool,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        let waited = !self.is_served && self.rpc.lock().waiting.remove(&self.id).is_some();
        if self.size == ResponseSize::Result {
            self.rpc.large_responses.fetch_sub(1, Ordering::Relaxed);
        }
        if waited && self.sends_cancellation {
            // Best effort: a full queue means that the server does not read anyway.
            self.rpc.outgoing.try_send(cancelled(self.id));
        }
    }
}

/// Calls a tool, for tests.
#[cfg(test)]
pub(crate) async fn call_tool(rpc: &StdioRpc) -> ToolResult<RpcResponse> {
    let id = rpc.new_id();
    let frame = pegboard_jsonrpc::request(id, "tools/call", "{}");
    rpc.request(id, frame, ResponseSize::Result, true).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{Peer, errors, logs, pair, pair_with};

    /// Sends one request and lets the server write the given lines (with `ID` replaced by the id of the request).
    async fn answered(lines: &str) -> (ToolResult<RpcResponse>, Arc<StdioRpc>) {
        let (rpc, _reading, mut peer) = pair();
        let script = async {
            let id = peer.request().await.0;
            peer.write(&lines.replace("ID", &id.to_string())).await;
            peer
        };
        let (response, _peer) = tokio::join!(call_tool(&rpc), script);
        (response, rpc)
    }

    #[tokio::test]
    async fn r_sec_01_noise_around_an_answer_is_counted_and_skipped() {
        let lines = "Starting up...\n\n{\"not\":\"rpc\"}\n{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n\
                     {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"ok\":1}}\r\n";
        let (response, rpc) = answered(lines).await;
        assert!(
            matches!(response, Ok(RpcResponse::Result(result)) if result.get() == "{\"ok\":1}")
        );
        let health = rpc.inbound.health();
        assert_eq!(
            (
                health.noise_lines,
                health.invalid_frames,
                health.dropped_frames
            ),
            (1, 1, 1)
        );
    }

    #[tokio::test]
    async fn r_sec_01_an_ambiguous_answer_fails_its_caller_at_once() {
        for bad in [
            r#"{"jsonrpc":"2.0","id":ID}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":1,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":1,"result":2}"#,
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"a\0b\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\0",
        ] {
            let (response, _) = answered(&format!("{bad}\n")).await;
            assert_eq!(response.unwrap_err().reason, Reason::FrameInvalid);
        }
    }

    #[tokio::test]
    async fn a_batch_is_taken_apart() {
        let (response, rpc) = answered("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"},{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}]\n").await;
        assert!(response.is_ok());
        assert_eq!(*rpc.inbound.changes().borrow(), 1);
    }

    #[tokio::test]
    async fn r_sec_01_a_line_beyond_the_limit_ends_the_conversation() {
        let limits = Limits {
            frame_bytes: 1_000,
            result_bytes: 2_000,
            ..Limits::default()
        };
        let (rpc, reading, mut peer) = pair_with(&limits);
        let script = async {
            peer.request().await;
            peer.write(&"x".repeat(4_000)).await;
            let ReadEnd::Broken(error) = reading.end.await.unwrap() else {
                panic!("not broken")
            };
            assert!(error.message.contains("2000 bytes"), "{error}");
            rpc.finish(error);
        };
        let (response, ()) = tokio::join!(call_tool(&rpc), script);
        assert_eq!(response.unwrap_err().reason, Reason::FrameTooLarge);
        assert_eq!(
            call_tool(&rpc).await.unwrap_err().reason,
            Reason::FrameTooLarge,
            "and so for every later caller"
        );
        assert_eq!(rpc.wait_end().await.reason, Reason::FrameTooLarge);
    }

    #[tokio::test]
    async fn r_sec_01_a_server_that_only_writes_invalid_lines_is_closed() {
        let limits = Limits {
            stdout_noise_lines: 10,
            ..Limits::default()
        };
        let (_link, reading, mut peer) = pair_with(&limits);
        peer.write(&"noise\n".repeat(11)).await;
        let ReadEnd::Broken(error) = reading.end.await.unwrap() else {
            panic!("not broken")
        };
        assert_eq!(error.reason, Reason::StdoutPollution);
    }

    #[tokio::test]
    async fn a_dropped_call_is_cancelled_and_forgotten() {
        let (rpc, _reading, mut peer) = pair();
        let mut call = Box::pin(call_tool(&rpc));
        let id = tokio::select! {
            _ = &mut call => panic!("there is no response"),
            (id, _) = peer.request() => id,
        };
        assert_eq!(rpc.in_flight(), 1);
        drop(call);
        assert_eq!(rpc.in_flight(), 0);
        let line = peer.line().await;
        assert!(
            line.contains("notifications/cancelled")
                && line.contains(&format!("\"requestId\":{id},")),
            "{line}"
        );
    }

    #[tokio::test]
    async fn a_served_call_is_not_cancelled() {
        let (response, rpc) = answered("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n").await;
        assert!(response.is_ok());
        assert_eq!(rpc.in_flight(), 0);
    }

    #[tokio::test]
    async fn requests_of_the_server_get_an_answer_and_only_ping_a_good_one() {
        let (rpc, _reading, mut peer) = pair();
        peer.write("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n")
            .await;
        assert_eq!(
            peer.line().await,
            r#"{"jsonrpc":"2.0","id":"p","result":{}}"#
        );
        peer.write("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\"}\n")
            .await;
        assert!(peer.line().await.contains("-32601"));
        rpc.modern.store(true, Ordering::Relaxed);
        peer.write("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n")
            .await;
        assert!(
            peer.line().await.contains("-32601"),
            "modern servers send no requests"
        );
        assert_eq!(rpc.inbound.health().refused_requests, 2);
    }

    #[tokio::test]
    async fn answers_in_any_order_reach_their_own_callers() {
        let (rpc, _reading, mut peer) = pair();
        let script = async {
            let mut ids = Vec::new();
            for _ in 0..50 {
                ids.push(peer.request().await.0);
            }
            for id in ids.iter().rev() {
                peer.write(&format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{id}}}\n"
                ))
                .await;
            }
            peer
        };
        let callers = futures_util::future::join_all((0..50).map(|_| call_tool(&rpc)));
        let (responses, _peer) = tokio::join!(callers, script);
        let results: Vec<_> = responses
            .into_iter()
            .map(|response| match response {
                Ok(RpcResponse::Result(result)) => result.get().to_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: Vec<_> = (1..=50).map(|id: u64| id.to_string()).collect();
        assert_eq!(results, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_a_server_that_stops_reading_causes_a_timeout_and_no_hang() {
        let (near, far) = tokio::io::duplex(16);
        let (source, sink) = tokio::io::split(near);
        let inbound = Arc::new(Inbound::new(errors(), logs()));
        let (rpc, _reading) = StdioRpc::start(source, sink, inbound, errors(), &Limits::default());
        let calls = (0..200).map(|_| tokio::time::timeout(Duration::from_secs(1), call_tool(&rpc)));
        let calls = futures_util::future::join_all(calls).await;
        assert!(calls.iter().all(Result::is_err));
        assert_eq!(rpc.in_flight(), 0);
        drop(far);
    }

    #[tokio::test]
    async fn random_bytes_do_no_harm() {
        let (rpc, reading, mut peer) = pair();
        let mut seed = 0x9e37_79b9_u64;
        let mut bytes = Vec::new();
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Make brackets, quotes and line ends frequent.
            bytes.push(
                *b"{}[]\":,\n\\1a\0\xff\r"
                    .get((seed >> 33) as usize % 14)
                    .unwrap(),
            );
        }
        peer.write_bytes(&bytes).await;
        drop::<Peer>(peer);
        let end = reading.end.await.unwrap();
        assert!(matches!(end, ReadEnd::Closed | ReadEnd::Broken(_)));
        assert!(rpc.inbound.useless_lines() > 100);
    }
}

//! A server of the old HTTP+SSE transport (2024-11-05) in this process, with one fault of choice.

mod script;
mod serve;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

pub use script::{SseFault, SsePost, SseScript};
use serve::Shared;

/// A running server. It ends with this value.
pub struct SseServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl SseServer {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(script: SseScript) -> Self {
        let shared = Arc::new(Shared::new(script));
        let (stop, stopped) = oneshot::channel();
        let (listening, address) = std::sync::mpsc::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the SSE server");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                    .await
                    .expect("a free port");
                let _ = listening.send(listener.local_addr().expect("its own address"));
                tokio::select! {
                    _ = axum::serve(listener, serve::routes(state)) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the SSE server listens");
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The URL of its stream.
    pub fn url(&self) -> String {
        format!("http://{}/sse", self.address)
    }

    /// A spec for this server, without `type`.
    pub fn spec(&self, name: &str) -> pegboard_model::ServerSpec {
        crate::http_spec(name, self.url())
    }

    /// Changes the script from now on.
    pub fn change(&self, change: impl FnOnce(&mut SseScript)) {
        change(&mut lock(&self.shared.script));
    }

    /// Ends all open streams.
    pub fn end_streams(&self) {
        lock(&self.shared.sessions).clear();
    }

    /// The number of streams that were opened.
    pub fn streams(&self) -> usize {
        lock(&self.shared.opened).len()
    }

    /// The number of streams that are open.
    pub fn open_streams(&self) -> usize {
        let sessions = lock(&self.shared.sessions);
        sessions
            .values()
            .filter(|session| !session.is_closed())
            .count()
    }

    /// The ids of all sessions, which are secrets.
    pub fn session_ids(&self) -> Vec<String> {
        lock(&self.shared.opened).clone()
    }

    /// The methods of the messages that arrived at the endpoint, in order.
    pub fn methods(&self) -> Vec<String> {
        lock(&self.shared.methods).clone()
    }

    /// The tools that were run.
    pub fn tools_run(&self) -> Vec<String> {
        lock(&self.shared.tools_run).clone()
    }

    /// The number of requests of any kind.
    pub fn requests(&self) -> usize {
        *lock(&self.shared.requests)
    }
}

impl Drop for SseServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

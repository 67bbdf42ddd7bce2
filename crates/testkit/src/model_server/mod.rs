//! A scripted model with the APIs of Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini's
//! `generateContent`, including the validation of the real services. It streams, except Chat Completions. A script defines its turns; requests are recorded.

mod anthropic;
mod chat;
mod gemini;
mod openai;
mod request_rules;
mod routes;
mod script;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

pub use script::{ModelScript, ModelTurn, ScriptedCall};

/// A scripted model on a free port; it ends with this value.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    main_tool: Option<String>,
    turns: Mutex<VecDeque<ModelTurn>>,
    requests: Mutex<Vec<ModelRequest>>,
    violations: Mutex<Vec<String>>,
}

/// A recorded request.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The path.
    pub path: &'static str,
    /// The body.
    pub body: Value,
    /// Whether it consumed no turn of the script; see [`ModelScript::main_tool`].
    pub is_side: bool,
}

impl ModelServer {
    /// Starts the service on a free port.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(script: ModelScript) -> Self {
        let shared = Arc::new(Shared {
            main_tool: script.main_tool,
            turns: Mutex::new(script.turns.into()),
            requests: Mutex::default(),
            violations: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let (listening, address) = std::sync::mpsc::channel();
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the scripted model");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                    .await
                    .expect("a port for the scripted model");
                let _ = listening.send(listener.local_addr().expect("its own address"));
                tokio::select! {
                    _ = axum::serve(listener, routes::routes(state)) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the scripted model listens");
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base URL for Anthropic clients.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL for OpenAI clients.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The base URL for Gemini clients.
    pub fn gemini_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.shared.requests).clone()
    }

    /// The violated rules of refused requests.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.shared.violations).clone()
    }

    /// The number of turns that are left.
    pub fn turns_left(&self) -> usize {
        lock(&self.shared.turns).len()
    }

    /// Asserts that no request was refused and that the script was completed.
    ///
    /// # Panics
    /// If a request was refused or turns are left.
    #[track_caller]
    pub fn assert_satisfied(&self) {
        assert_eq!(self.violations(), Vec::<String>::new(), "violated rules");
        assert_eq!(self.turns_left(), 0, "unused turns");
    }
}

impl Drop for ModelServer {
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

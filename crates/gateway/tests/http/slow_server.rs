//! A server whose calls do not complete, and its recorded calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pegboard_hub::Hub;
use pegboard_model::Activity;
use serde_json::{Value, json};

use crate::fake::{Server, text};

/// Counts running calls of the tool `work`. Calls with the text `quick` complete immediately.
#[derive(Clone, Default)]
pub(crate) struct SlowServer(Arc<AtomicUsize>);

impl SlowServer {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn server(&self) -> Server {
        let calls = self.0.clone();
        Server::new("one", &["work"]).on_call(move |_, arguments, _| {
            let call = Counted::new(&calls);
            async move {
                let _call = call;
                if arguments["text"] != "quick" {
                    std::future::pending::<()>().await;
                }
                Ok(text("done"))
            }
        })
    }
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn call(text: &str) -> Value {
    json!({"name": "one__work", "arguments": {"text": text}})
}

/// The recorded calls, after the hub has stored them all.
pub(crate) async fn recorded_calls(hub: &Hub) -> Vec<Activity> {
    hub.shutdown().await;
    let mut lines = hub.activity(100, None).await.unwrap();
    lines.retain(|line| line.tool.is_some());
    lines
}

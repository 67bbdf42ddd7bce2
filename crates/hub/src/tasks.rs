//! Background work that a shutdown waits for.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

/// Counts running tasks and tells them when to stop.
#[derive(Clone)]
pub(crate) struct Tasks {
    running: Arc<watch::Sender<usize>>,
    closing: Arc<watch::Sender<bool>>,
}

struct Running(Arc<watch::Sender<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self {
            running: Arc::new(watch::Sender::new(0)),
            closing: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Runs a task to its end, or until the hub closes, whichever comes first.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.send_modify(|count| *count += 1);
        let running = Running(self.running.clone());
        let mut closing = self.closing.subscribe();
        tokio::spawn(async move {
            let _running = running;
            tokio::select! {
                () = work => {}
                _ = closing.wait_for(|closing| *closing) => {}
            }
        });
    }

    /// Runs a task to its end; a shutdown waits for it. For work that must not be left half done, such
    /// as the ending of a process.
    pub(crate) fn spawn_to_end(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.send_modify(|count| *count += 1);
        let running = Running(self.running.clone());
        tokio::spawn(async move {
            let _running = running;
            work.await;
        });
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Tells every task to stop and waits until all have.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let mut running = self.running.subscribe();
        let _ = running.wait_for(|count| *count == 0).await;
    }
}

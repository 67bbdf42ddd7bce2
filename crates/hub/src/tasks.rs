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

/// Work that a shutdown waits for until this is dropped.
pub(crate) struct TaskGuard(Arc<watch::Sender<usize>>);

impl Drop for TaskGuard {
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
        let running = TaskGuard(self.running.clone());
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
        let running = TaskGuard(self.running.clone());
        tokio::spawn(async move {
            let _running = running;
            work.await;
        });
    }

    /// Lets a shutdown wait for work of the caller; `None` when one has begun.
    pub(crate) fn enter(&self) -> Option<TaskGuard> {
        // Counted before the look, so that a shutdown either is seen here or sees the count.
        self.running.send_modify(|count| *count += 1);
        let running = TaskGuard(self.running.clone());
        (!*self.closing.borrow()).then_some(running)
    }

    /// Resolves when a shutdown begins.
    pub(crate) async fn closing(&self) {
        let mut closing = self.closing.subscribe();
        // The sender is held here, so there is no other end to the wait.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// Tells every task to stop and waits until all have.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let mut running = self.running.subscribe();
        let _ = running.wait_for(|count| *count == 0).await;
    }
}

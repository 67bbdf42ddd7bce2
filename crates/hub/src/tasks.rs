//! Background tasks that a shutdown waits for.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

/// Counts running tasks and signals the shutdown to them.
#[derive(Clone)]
pub(crate) struct Tasks {
    running: Arc<watch::Sender<usize>>,
    closing: Arc<watch::Sender<bool>>,
}

/// Makes a shutdown wait until it is dropped.
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

    /// Spawns a task that ends at the latest when the shutdown begins.
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

    /// Spawns a task that a shutdown waits for, for work that must not be interrupted, such as closing a process.
    pub(crate) fn spawn_to_end(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running.send_modify(|count| *count += 1);
        let running = TaskGuard(self.running.clone());
        tokio::spawn(async move {
            let _running = running;
            work.await;
        });
    }

    /// Makes a shutdown wait for the caller's work. Returns `None` if the shutdown has begun.
    pub(crate) fn enter(&self) -> Option<TaskGuard> {
        // Count before checking, so that either the shutdown is seen here or it sees the count.
        self.running.send_modify(|count| *count += 1);
        let running = TaskGuard(self.running.clone());
        (!*self.closing.borrow()).then_some(running)
    }

    /// Resolves when the shutdown begins.
    pub(crate) async fn closing(&self) {
        let mut closing = self.closing.subscribe();
        // The sender is owned by `self`, so this cannot fail.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// Begins the shutdown and waits until all tasks have ended.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let mut running = self.running.subscribe();
        let _ = running.wait_for(|count| *count == 0).await;
    }
}

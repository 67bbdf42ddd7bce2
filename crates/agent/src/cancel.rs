//! The wish that a run stops.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops a run. Clones mean the same run; dropping the run's future stops it too.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    /// A wish that nobody has yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is to stop.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the wish.
    pub async fn cancelled(&self) {
        let mut wish = self.0.subscribe();
        // The sender lives as long as `self`.
        let _ = wish.wait_for(|is_cancelled| *is_cancelled).await;
    }
}

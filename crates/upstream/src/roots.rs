//! The roots of a legacy stdio server.
//!
//! Such a server has one set of roots for its whole life, regardless of the calling client: those of the first session
//! that could provide any. For a server that asks at startup this is the session of the first call. Roots of other
//! sessions are never mixed in. A server that asks while no call is running gets an empty list and a change
//! notification when there is a call.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::timeout;

/// The response when no client provides roots.
pub(crate) const NO_ROOTS: &str = r#"{"roots":[]}"#;
/// How long a request for roots waits for the call that the server was started for.
const CALL_TIME: Duration = Duration::from_millis(500);

/// The roots of a server, and the session that owns them.
#[derive(Default)]
pub(crate) struct Roots {
    state: Mutex<RootsState>,
    /// Changes with every change of `state`, and with every call.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct RootsState {
    /// The session that provided the roots, and its last response.
    given: Option<(Box<str>, Box<RawValue>)>,
    /// Whether the server got an empty list.
    was_empty: bool,
    /// Whether a call has begun to settle the roots.
    is_claimed: bool,
    is_settled: bool,
    /// Requests that are being answered.
    open: usize,
    /// Requests that were answered.
    answered: usize,
}

/// Held by the first call that can provide roots.
pub(crate) struct RootsClaim<'a> {
    roots: &'a Roots,
    /// Whether the server must be notified to request them again.
    pub(crate) is_outdated: bool,
}

impl Roots {
    /// Claims the roots. The holder settles them before its call is sent; all other calls wait for that.
    pub(crate) fn claim(&self) -> Option<RootsClaim<'_>> {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_claimed, true) {
            return None;
        }
        Some(RootsClaim {
            roots: self,
            is_outdated: state.was_empty,
        })
    }

    /// Waits until the roots are settled, if a call is about to do so.
    pub(crate) async fn settled(&self) {
        let is_pending = |state: &RootsState| state.is_claimed && !state.is_settled;
        if is_pending(&self.lock()) {
            self.until(|state| !is_pending(state)).await;
        }
    }

    /// Waits until `search` finds something, trying again at each call. Returns `None` after a timeout.
    pub(crate) async fn when_called<T>(&self, search: impl Fn() -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = search() {
                    return Some(found);
                }
                changes.changed().await.ok()?;
            }
        };
        timeout(CALL_TIME, waiting).await.ok().flatten()
    }

    /// Records that a call began.
    pub(crate) fn call_began(&self) {
        if self.lock().open > 0 {
            self.changes.send_replace(());
        }
    }

    /// Returns the session that owns the roots, if there are any.
    pub(crate) fn owner(&self) -> Option<Box<str>> {
        self.lock().given.as_ref().map(|(owner, _)| owner.clone())
    }

    /// Returns the last known roots, or an empty list.
    pub(crate) fn known(&self) -> Box<RawValue> {
        let mut state = self.lock();
        let known = state.given.as_ref().map(|(_, roots)| roots.clone());
        state.was_empty |= known.is_none();
        known.unwrap_or_else(|| RawValue::from_string(NO_ROOTS.to_owned()).unwrap_or_default())
    }

    /// Stores the roots of a session, if it is the first that provides any or the owner. Returns the known roots.
    pub(crate) fn store(&self, session: &str, roots: &RawValue) -> Box<RawValue> {
        {
            let mut state = self.lock();
            let given = state.given.as_ref();
            if given.is_none_or(|(owner, _)| **owner == *session) {
                state.given = Some((session.into(), roots.to_owned()));
            }
        }
        self.known()
    }

    /// Marks a request as being answered until the guard is dropped.
    pub(crate) fn open(&self) -> OpenRootsRequest<'_> {
        self.lock().open += 1;
        OpenRootsRequest(self)
    }

    fn lock(&self) -> MutexGuard<'_, RootsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, holds: impl Fn(&RootsState) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(&self.lock()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl RootsClaim<'_> {
    /// Waits until no request is open. Returns whether the server requested roots at all.
    pub(crate) async fn answered(&self) -> bool {
        self.roots.until(|state| state.open == 0).await;
        self.roots.lock().answered > 0
    }
}

/// Whatever happens to the first call, the others stop waiting.
impl Drop for RootsClaim<'_> {
    fn drop(&mut self) {
        self.roots.lock().is_settled = true;
        self.roots.changes.send_replace(());
    }
}

/// A request that is being processed. Dropping it records the response.
pub(crate) struct OpenRootsRequest<'a>(&'a Roots);

impl Drop for OpenRootsRequest<'_> {
    fn drop(&mut self) {
        {
            let mut state = self.0.lock();
            state.open = state.open.saturating_sub(1);
            state.answered += 1;
        }
        self.0.changes.send_replace(());
    }
}

//! The roots that a legacy server on a pipe is given.
//!
//! Such a server has one set of roots for its whole life, whatever client calls it. They are those of the first
//! session that could give any, which is the session of the first call for a server that asks at its start; the
//! roots of other sessions are never mixed in. A server that asks while no call runs gets an empty list, and is asked
//! to look again when there is a call.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::timeout;

/// What a server gets where no client has roots for it.
pub(crate) const NO_ROOTS: &str = r#"{"roots":[]}"#;
/// How long a request for roots waits for the call that the server was started for.
const CALL_TIME: Duration = Duration::from_millis(500);

/// Whose roots a server has, and what they are.
#[derive(Default)]
pub(crate) struct Roots {
    state: Mutex<RootsState>,
    /// Changes with every change of `state`, and with every call.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct RootsState {
    /// The session that gave them, and its last answer.
    given: Option<(Box<str>, Box<RawValue>)>,
    /// Whether the server got an empty list.
    was_empty: bool,
    /// Whether a call has begun to settle them.
    is_claimed: bool,
    is_settled: bool,
    /// Requests that are being answered.
    open: usize,
    /// How many were answered.
    answered: usize,
}

/// The first call of a process that can give roots.
pub(crate) struct RootsClaim<'a> {
    roots: &'a Roots,
    /// Whether the server has to be asked to look again.
    pub(crate) is_outdated: bool,
}

impl Roots {
    /// Whoever gets the claim settles the roots before its call is sent; all others wait for that.
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

    /// What a search finds, now or when a call comes; `None` when none does in time.
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

    /// A call began.
    pub(crate) fn called(&self) {
        if self.lock().open > 0 {
            self.changes.send_replace(());
        }
    }

    /// The session whose roots these are, if any were given.
    pub(crate) fn owner(&self) -> Option<Box<str>> {
        self.lock().given.as_ref().map(|(owner, _)| owner.clone())
    }

    /// What was given last, or nothing.
    pub(crate) fn known(&self) -> Box<RawValue> {
        let mut state = self.lock();
        let known = state.given.as_ref().map(|(_, roots)| roots.clone());
        state.was_empty |= known.is_none();
        known.unwrap_or_else(|| RawValue::from_string(NO_ROOTS.to_owned()).unwrap_or_default())
    }

    /// A session gave its roots; what is known then. Only the first that does so counts.
    pub(crate) fn learn(&self, session: &str, roots: &RawValue) -> Box<RawValue> {
        {
            let mut state = self.lock();
            let given = state.given.as_ref();
            if given.is_none_or(|(owner, _)| **owner == *session) {
                state.given = Some((session.into(), roots.to_owned()));
            }
        }
        self.known()
    }

    /// A request is being answered, until what is given back is dropped.
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
    /// Waits until no request is open; whether the server asked at all.
    pub(crate) async fn answered(&self) -> bool {
        self.roots.until(|state| state.open == 0).await;
        self.roots.lock().answered > 0
    }
}

/// However the first call goes on, the others wait no longer.
impl Drop for RootsClaim<'_> {
    fn drop(&mut self) {
        self.roots.lock().is_settled = true;
        self.roots.changes.send_replace(());
    }
}

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

//! One scan of the machine's processes for all servers that end at the same time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::marks::kill_all_marked;
use crate::subreaper::{EndedServer, end_leftovers_of, is_adopting};

/// The ended servers whose processes must be killed, with those waiting for it.
struct SweepQueue {
    marks: HashMap<EndedServer, Vec<oneshot::Sender<()>>>,
    /// Whether a thread is running that will process what is added here.
    is_served: bool,
}

static WAITING: Mutex<Option<SweepQueue>> = Mutex::new(None);

/// Kills every process that an ended server left. A running scan may already have passed such a process, so the next
/// one counts; all waiting servers share it.
pub(crate) async fn sweep(server: EndedServer) {
    let (sender, done) = oneshot::channel();
    let must_serve = {
        let mut waiting = waiting();
        let waiting = waiting.get_or_insert_with(|| SweepQueue {
            marks: HashMap::new(),
            is_served: false,
        });
        waiting.marks.entry(server).or_default().push(sender);
        !std::mem::replace(&mut waiting.is_served, true)
    };
    if must_serve {
        // Not in the runtime's pool: others may wait for it after this runtime is gone.
        let thread = std::thread::Builder::new().name("pegboard-sweep".to_owned());
        if thread.spawn(serve).is_err() {
            serve();
        }
    }
    let _ = done.await;
}

fn serve() {
    while let Some(marks) = next() {
        let ended: Vec<&EndedServer> = marks.keys().collect();
        end_all(&ended);
        for waiter in marks.into_values().flatten() {
            let _ = waiter.send(());
        }
    }
}

/// Kills what these servers left: among our children if all of them are there, otherwise among all processes.
pub(crate) fn end_all(ended: &[&EndedServer]) {
    if !is_adopting() || !end_leftovers_of(ended) {
        kill_all_marked(|mark| ended.iter().any(|server| server.mark == mark));
    }
}

/// Takes all waiting servers. If there are none, returns `None` and marks the thread as ended.
fn next() -> Option<HashMap<EndedServer, Vec<oneshot::Sender<()>>>> {
    let mut waiting = waiting();
    let waiting = waiting.as_mut()?;
    if waiting.marks.is_empty() {
        waiting.is_served = false;
        return None;
    }
    Some(std::mem::take(&mut waiting.marks))
}

fn waiting() -> MutexGuard<'static, Option<SweepQueue>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

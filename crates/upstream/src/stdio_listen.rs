//! Asks a modern server on a pipe to announce changes, and asks again when something else is watched.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pegboard_model::ToolResult;

use crate::declared::ServerHas;
use crate::dialect::Dialect;
use crate::envelope::Answer;
use crate::link::Link;
use crate::watching::{LISTEN, Watching};
use crate::wire::{Ask, Size};

/// How long a server that ended the announcements is left alone before it is asked again.
const PAUSE: Duration = Duration::from_secs(5);

type Open<'a> = Pin<Box<dyn Future<Output = ToolResult<Answer>> + Send + 'a>>;

/// Listens until the conversation ends. The request stays open as long as the server announces.
pub(crate) async fn listen(
    link: Arc<Link>,
    dialect: Dialect,
    watching: Arc<Watching>,
    has: ServerHas,
) {
    let mut changes = watching.changes();
    let mut acknowledged = link.traffic.acknowledged();
    let mut earlier: Option<Open<'_>> = None;
    loop {
        changes.mark_unchanged();
        let (version, members) = watching.members(has);
        let Some(members) = members else {
            watching.settle(version);
            drop(earlier.take());
            tokio::select! {
                _ = changes.changed() => continue,
                _ = link.wait_end() => return,
            }
        };
        let id = link.new_id();
        let frame = Ask::own(&dialect, LISTEN, &members).frame(id);
        let mut open: Open<'_> = Box::pin(link.request(id, frame, Size::Frame, true));
        // It is sent before the earlier one is taken back, so that nothing is missed between them.
        let mut ended = poll_fn(|context| {
            Poll::Ready(match open.as_mut().poll(context) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => None,
            })
        })
        .await;
        drop(earlier.take());
        let mut is_known = false;
        while ended.is_none() {
            tokio::select! {
                answer = &mut open => ended = Some(answer),
                known = acknowledged.wait_for(|known| *known >= id), if !is_known => {
                    is_known = true;
                    if known.is_ok() {
                        watching.settle(version);
                    }
                }
                _ = changes.changed() => break,
            }
        }
        match ended {
            None => earlier = Some(open),
            Some(answer) => {
                watching.settle(version);
                match answer {
                    Err(_) if link.ended().is_some() => return,
                    // It does not know the request; another filter may suit it better.
                    Ok(Answer::Error(_)) => tokio::select! {
                        _ = changes.changed() => {}
                        _ = link.wait_end() => return,
                    },
                    // Its answer was damaged, or it ended the announcements.
                    Err(_) | Ok(Answer::Result(_) | Answer::Deep(_)) => {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }
}

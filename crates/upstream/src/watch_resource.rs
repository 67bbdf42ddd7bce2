//! Asking for the updates of a resource, in the way of the server's era.

use pegboard_model::{Reason, ToolResult};

use crate::dialect::quoted;
use crate::envelope::Answer;
use crate::talk::Talk;
use crate::wire::{Ask, Wire};
use crate::wording::Subject;

impl<W: Wire> Talk<W> {
    /// Asks a legacy server for the updates of a resource, or no longer; a modern one is asked by the stream of
    /// announcements, which whoever calls this keeps going.
    pub(crate) async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        let wording = &self.setup.wording;
        let agreed = self.agreed();
        let too_many = |_| {
            let limit = self.setup.limits.subscriptions_per_server;
            let what = format_args!("has {limit} watched resources, and more are not allowed");
            wording.error(Reason::Overloaded, what)
        };
        if agreed.dialect.is_modern() {
            if self.watching.set(uri, watch).map_err(too_many)? {
                self.watching.known().await;
            }
            return Ok(());
        }
        let method = match watch {
            true => "resources/subscribe",
            false => "resources/unsubscribe",
        };
        if watch {
            self.watching.check_room(uri).map_err(too_many)?;
        } else {
            // Whatever the server says, it is not asked for again.
            let _ = self.watching.set(uri, false);
        }
        let members = format!(r#""uri":{}"#, quoted(uri));
        let limit = self.setup.list_time;
        let ask = self.wire.ask(Ask::own(&agreed.dialect, method, &members));
        match tokio::time::timeout(limit, ask).await {
            Ok(Ok(Answer::Result(_))) if watch => {
                self.watching.set(uri, true).map(drop).map_err(too_many)
            }
            Ok(Ok(Answer::Result(_))) => Ok(()),
            Ok(Ok(Answer::Deep(_))) => Err(wording.too_deep()),
            Ok(Ok(Answer::Error(error))) => Err(wording.refused(Subject::Method(method), &error)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(wording.timeout(Subject::Method(method), limit)),
        }
    }
}

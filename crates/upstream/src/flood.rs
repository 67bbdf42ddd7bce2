//! Handles servers that send more messages than can be used: reads them in larger chunks, and does not parse repeated
//! notifications again.

use std::time::Duration;

use tokio::io::AsyncRead;

use crate::frame::LineReader;
use crate::token_bucket::TokenBucket;

/// How long reading pauses during a flood. The pipe fills up in the meantime, so that one wake-up handles all of it. A
/// response within the flood is delayed by at most this.
const PAUSE: Duration = Duration::from_millis(5);
/// Longer lines are not remembered. A change notification has about a hundred bytes.
const REMEMBERED_BYTES: usize = 512;

/// Tracks the most recent messages of one server.
pub(crate) struct FloodControl {
    bucket: TokenBucket,
    is_on: bool,
    /// The last line that announced a change of a list, and that list.
    announcement: Vec<u8>,
    list: u8,
}

impl FloodControl {
    pub(crate) fn new(messages_per_second: u64) -> Self {
        Self {
            bucket: TokenBucket::new(messages_per_second, messages_per_second),
            is_on: false,
            announcement: Vec::new(),
            list: 0,
        }
    }

    /// Returns the list whose change a line announces, if the line equals the last such line.
    pub(crate) fn repeated(&mut self, line: &[u8]) -> Option<u8> {
        let is_same = self.list != 0 && self.announcement == line;
        if is_same {
            self.count(1);
        }
        is_same.then_some(self.list)
    }

    /// Records a handled line: the number of unsolicited messages in it, and the list whose change it announced (zero
    /// if none). Responses do not count: there are no more of them than requests.
    pub(crate) fn taken(&mut self, line: &[u8], unsolicited: u64, list: u8) {
        self.count(unsolicited);
        if list != 0 && line.len() <= REMEMBERED_BYTES {
            self.announcement.clear();
            self.announcement.extend_from_slice(line);
            self.list = list;
        }
    }

    fn count(&mut self, messages: u64) {
        self.is_on = messages > 0 && !self.bucket.take(messages);
    }

    /// Pauses before the next read during a flood.
    pub(crate) async fn pause<R: AsyncRead + Unpin>(&mut self, lines: &mut LineReader<R>) {
        if self.is_on {
            lines.widen();
            tokio::time::sleep(PAUSE).await;
        }
    }
}

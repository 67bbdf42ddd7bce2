//! A server that sends more messages than anyone reads: it is read in larger parts, and what it repeats is not
//! parsed again.

use std::time::Duration;

use tokio::io::AsyncRead;

use crate::frame::LineReader;
use crate::token_bucket::TokenBucket;

/// How long the reading rests while there is a flood. A pipe fills up meanwhile, so that one wake-up serves it all;
/// an answer among the flood comes later by this at the most.
const PAUSE: Duration = Duration::from_millis(5);
/// Longer lines are not remembered; an announcement has about a hundred bytes.
const REMEMBERED_BYTES: usize = 512;

/// What is known of the newest messages of one server.
pub(crate) struct FloodControl {
    bucket: TokenBucket,
    is_on: bool,
    /// The last line that announced a change of a list, and the list.
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

    /// The list that a line announces a change of, if it is the same line as the last that did.
    pub(crate) fn repeated(&mut self, line: &[u8]) -> Option<u8> {
        let is_same = self.list != 0 && self.announcement == line;
        if is_same {
            self.count(1);
        }
        is_same.then_some(self.list)
    }

    /// Notes a line that was acted on: how many messages it held that nobody asked for, and the list that it
    /// announced a change of (zero is none). Answers do not count: there are no more of them than requests.
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

    /// Rests before more is read, while there is a flood.
    pub(crate) async fn pause<R: AsyncRead + Unpin>(&mut self, lines: &mut LineReader<R>) {
        if self.is_on {
            lines.widen();
            tokio::time::sleep(PAUSE).await;
        }
    }
}

//! The one writer to the client: messages in the order they were given, one per line.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::conversation::{MessageSink, lock};
use crate::response::Response;

/// Messages that wait to be written; answers beyond them wait in their requests.
const QUEUE: usize = 1024;
/// Pieces up to this size are written together.
const SMALL: usize = 16 * 1024;

/// The way to the client.
pub(super) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Vec<Bytes>>>>,
    waiting: std::sync::Arc<AtomicUsize>,
    waiting_most: usize,
}

impl Writer {
    /// Begins to write. The handle is done when all was written, or when nobody reads any more.
    pub(super) fn start(
        stdout: impl AsyncWrite + Send + Unpin + 'static,
        waiting_most: usize,
    ) -> (Self, JoinHandle<()>) {
        let (queue, messages) = mpsc::channel(QUEUE);
        let waiting = std::sync::Arc::new(AtomicUsize::new(0));
        let written = tokio::spawn(write(stdout, messages, waiting.clone()));
        let writer = Self {
            queue: Mutex::new(Some(queue)),
            waiting,
            waiting_most,
        };
        (writer, written)
    }

    /// Writes an answer; waits while the client does not read.
    pub(super) async fn answer(&self, answer: Response) {
        let queue = lock(&self.queue).clone();
        if let Some(queue) = queue {
            self.waiting.fetch_add(answer.len(), Ordering::Relaxed);
            let _ = queue.send(answer.parts).await;
        }
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        *lock(&self.queue) = None;
    }
}

impl MessageSink for Writer {
    fn send(&self, message: String) -> bool {
        let length = message.len();
        if self.waiting.load(Ordering::Relaxed) + length > self.waiting_most {
            return false;
        }
        let queue = lock(&self.queue).clone();
        let sent = queue.is_some_and(|queue| queue.try_send(vec![Bytes::from(message)]).is_ok());
        if sent {
            self.waiting.fetch_add(length, Ordering::Relaxed);
        }
        sent
    }
}

async fn write(
    mut stdout: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Vec<Bytes>>,
    waiting: std::sync::Arc<AtomicUsize>,
) {
    let (mut taken, mut together) = (Vec::new(), BytesMut::new());
    while messages.recv_many(&mut taken, QUEUE).await > 0 {
        for parts in taken.drain(..) {
            for part in parts {
                let length = part.len();
                if length <= SMALL {
                    append_single_line(&mut together, &part);
                } else if write_large(&mut stdout, &mut together, part).await.is_err() {
                    return;
                }
                let _ = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
                    Some(waiting.saturating_sub(length))
                });
            }
            together.put_u8(b'\n');
        }
        if stdout.write_all(&together).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
        together.clear();
    }
}

/// Writes a large piece without copying it, after what stands before it.
async fn write_large(
    stdout: &mut (impl AsyncWrite + Unpin),
    before: &mut BytesMut,
    part: Bytes,
) -> std::io::Result<()> {
    stdout.write_all(before).await?;
    before.clear();
    if memchr::memchr2(b'\n', b'\r', &part).is_none() {
        return stdout.write_all(&part).await;
    }
    append_single_line(before, &part);
    stdout.write_all(before).await?;
    before.clear();
    Ok(())
}

/// Appends JSON without its line breaks. They only stand between values, so a space does as well.
fn append_single_line(line: &mut BytesMut, json: &[u8]) {
    let start = line.len();
    line.put_slice(json);
    let new = line.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', new).is_some() {
        for byte in new.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn every_message_is_one_line_whatever_its_size_and_its_breaks() {
        let (near, mut far) = tokio::io::duplex(64);
        let (writer, written) = Writer::start(near, 1 << 20);
        let large = format!("[\n\"{}\"]", "x".repeat(SMALL));
        assert!(writer.send("{\r\n}".to_owned()));
        let parts = vec![
            Bytes::from_static(b"{\"r\":"),
            Bytes::from(large),
            Bytes::from_static(b"}"),
        ];
        let send = async move {
            writer.answer(Response { parts, status: 200 }).await;
            writer.close();
        };
        let mut text = String::new();
        let (_, read) = tokio::join!(send, far.read_to_string(&mut text));
        read.unwrap();
        written.await.unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{}", text.len());
        assert_eq!(lines[0], "{  }");
        assert!(lines[1].starts_with("{\"r\":[ \"xx") && lines[1].ends_with("x\"]}"));
    }

    #[tokio::test]
    async fn notifications_to_a_client_that_does_not_read_are_not_piled_up() {
        let (near, _far) = tokio::io::duplex(1);
        let (writer, written) = Writer::start(near, 100);
        let sent = (0..1000)
            .filter(|_| writer.send("0123456789".to_owned()))
            .count();
        assert!((1..=20).contains(&sent), "{sent}");
        written.abort();
    }
}

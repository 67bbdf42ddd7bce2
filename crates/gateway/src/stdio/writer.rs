//! Writes messages to the client in order, one per line.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::conversation::{MessageSink, lock};
use crate::response::Response;

/// Maximum number of queued messages. Further responses wait in their requests.
const QUEUE: usize = 1024;
/// Parts up to this size are copied together into one write.
const SMALL: usize = 16 * 1024;

/// Queues messages for the client.
pub(super) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Vec<Bytes>>>>,
    queued: std::sync::Arc<AtomicUsize>,
    queued_max: usize,
}

impl Writer {
    /// Starts the writing task. The handle completes when everything is written or the client stops reading.
    pub(super) fn start(
        stdout: impl AsyncWrite + Send + Unpin + 'static,
        queued_max: usize,
    ) -> (Self, JoinHandle<()>) {
        let (queue, messages) = mpsc::channel(QUEUE);
        let queued = std::sync::Arc::new(AtomicUsize::new(0));
        let written = tokio::spawn(write(stdout, messages, queued.clone()));
        let writer = Self {
            queue: Mutex::new(Some(queue)),
            queued,
            queued_max,
        };
        (writer, written)
    }

    /// Writes a response. Waits while the client does not read.
    pub(super) async fn respond(&self, response: Response) {
        let queue = lock(&self.queue).clone();
        if let Some(queue) = queue {
            self.queued.fetch_add(response.len(), Ordering::Relaxed);
            let _ = queue.send(response.parts).await;
        }
    }

    /// Stops accepting messages.
    pub(super) fn close(&self) {
        *lock(&self.queue) = None;
    }
}

impl MessageSink for Writer {
    fn send(&self, message: String) -> bool {
        let length = message.len();
        if self.queued.load(Ordering::Relaxed) + length > self.queued_max {
            return false;
        }
        let queue = lock(&self.queue).clone();
        let sent = queue.is_some_and(|queue| queue.try_send(vec![Bytes::from(message)]).is_ok());
        if sent {
            self.queued.fetch_add(length, Ordering::Relaxed);
        }
        sent
    }
}

async fn write(
    mut stdout: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Vec<Bytes>>,
    queued: std::sync::Arc<AtomicUsize>,
) {
    let (mut batch, mut buffer) = (Vec::new(), BytesMut::new());
    while messages.recv_many(&mut batch, QUEUE).await > 0 {
        for parts in batch.drain(..) {
            for part in parts {
                let length = part.len();
                if length <= SMALL {
                    append_single_line(&mut buffer, &part);
                } else if write_large(&mut stdout, &mut buffer, part).await.is_err() {
                    return;
                }
                let _ = queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |queued| {
                    Some(queued.saturating_sub(length))
                });
            }
            buffer.put_u8(b'\n');
        }
        if stdout.write_all(&buffer).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
        buffer.clear();
    }
}

/// Writes a large part without copying it, after the buffered data before it.
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

/// Appends JSON with its line breaks replaced by spaces. Valid JSON has line breaks only between values.
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
            writer.respond(Response { parts, status: 200 }).await;
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

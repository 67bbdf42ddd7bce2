//! Writes frames to a server: immediately if the stream accepts them, otherwise queued in order.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// Bytes queued for a server that reads slowly. Beyond this callers wait, within their own timeouts.
const BACKLOG_BYTES: usize = 1024 * 1024;
/// A buffer that grew beyond this is released once it is empty.
const KEPT_CAPACITY: usize = 256 * 1024;

type Stream = Box<dyn AsyncWrite + Send + Unpin>;

/// The writing side of a connection.
///
/// A single frame is written by its caller, which avoids a task switch. Frames of concurrent callers are collected and
/// written by a task that runs after all callers that are currently ready, so that one write carries all of them. That
/// task also writes what the stream does not accept at once; it lives only as long as there is something to write.
pub(crate) struct Outbox {
    sink: Mutex<Sink>,
    room: Notify,
}

/// The stream and the bytes that it has not accepted yet.
struct Sink {
    /// `None` once the stream is closed.
    stream: Option<Stream>,
    backlog: Vec<u8>,
    written: usize,
    is_draining: bool,
    /// Wakes the draining task when the stream is closed.
    drainer: Option<Waker>,
}

/// Whether other frames are likely to follow at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteMode {
    Immediate,
    Batched,
}

/// What happened to a frame.
enum Push {
    Taken,
    Full,
    Closed,
}

impl Outbox {
    pub(crate) fn new(stream: Stream) -> Arc<Self> {
        let sink = Sink {
            stream: Some(stream),
            backlog: Vec::new(),
            written: 0,
            is_draining: false,
            drainer: None,
        };
        Arc::new(Self {
            sink: Mutex::new(sink),
            room: Notify::new(),
        })
    }

    /// Sends a frame, waiting for space if necessary. Returns `false` if the stream is closed. A frame is written
    /// completely or not at all, even if the future is dropped.
    pub(crate) async fn send(self: &Arc<Self>, frame: String, mode: WriteMode) -> bool {
        let frame = line(frame);
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the attempt, so that space freed in between is not missed.
            room.as_mut().enable();
            match self.push(&frame, mode) {
                Push::Taken => return true,
                Push::Closed => return false,
                Push::Full => room.await,
            }
        }
    }

    /// Sends a frame if there is space for it.
    pub(crate) fn try_send(self: &Arc<Self>, frame: String) {
        // Callers do not wait for these: a server that does not read loses them.
        let _ = self.push(&line(frame), WriteMode::Immediate);
    }

    /// Closes the stream and discards what was not written.
    pub(crate) fn close(&self) {
        let drainer = {
            let mut sink = self.lock();
            sink.stream = None;
            sink.drainer.take()
        };
        drainer.iter().for_each(Waker::wake_by_ref);
        self.room.notify_waiters();
    }

    fn push(self: &Arc<Self>, frame: &[u8], mode: WriteMode) -> Push {
        let mut sink = self.lock();
        if sink.backlog.len() - sink.written >= BACKLOG_BYTES {
            return if sink.stream.is_some() {
                Push::Full
            } else {
                Push::Closed
            };
        }
        let runtime = Handle::try_current().ok();
        let is_collected = mode == WriteMode::Batched && runtime.is_some();
        let is_idle = sink.backlog.is_empty();
        let Some(stream) = &mut sink.stream else {
            return Push::Closed;
        };
        let mut rest = frame;
        if is_idle && !is_collected {
            // The waker does nothing: the draining task writes the rest with its own waker.
            match Pin::new(stream).poll_write(&mut Context::from_waker(Waker::noop()), frame) {
                Poll::Ready(Ok(count)) => rest = frame.get(count..).unwrap_or_default(),
                Poll::Ready(Err(_)) => {
                    sink.stream = None;
                    return Push::Closed;
                }
                Poll::Pending => {}
            }
        }
        if sink.written >= BACKLOG_BYTES {
            // A backlog that never becomes empty must not keep what was written long ago.
            let written = std::mem::take(&mut sink.written);
            sink.backlog.drain(..written);
        }
        sink.backlog.extend_from_slice(rest);
        match runtime {
            Some(runtime) if !sink.backlog.is_empty() && !sink.is_draining => {
                sink.is_draining = true;
                runtime.spawn(Arc::clone(self).drain());
            }
            _ => {}
        }
        Push::Taken
    }

    async fn drain(self: Arc<Self>) {
        std::future::poll_fn(|context| self.lock().poll_drain(context)).await;
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Writes until nothing is left or the stream is closed.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let (Some(stream), Some(rest)) = (&mut self.stream, self.backlog.get(self.written..))
        {
            if rest.is_empty() {
                break;
            }
            match Pin::new(stream).poll_write(context, rest) {
                Poll::Ready(Ok(count)) if count > 0 => self.written += count,
                Poll::Ready(_) => self.stream = None,
                Poll::Pending => {
                    self.drainer = Some(context.waker().clone());
                    return Poll::Pending;
                }
            }
        }
        self.drainer = None;
        self.is_draining = false;
        self.written = 0;
        self.backlog.clear();
        if self.backlog.capacity() > KEPT_CAPACITY {
            self.backlog = Vec::new();
        }
        Poll::Ready(())
    }
}

fn line(frame: String) -> Vec<u8> {
    let mut bytes = frame.into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn frames_arrive_whole_and_in_order_however_slowly_they_are_read() {
        let (near, mut far) = tokio::io::duplex(7);
        let outbox = Outbox::new(Box::new(near));
        let sending = async {
            for number in 0..500 {
                assert!(
                    outbox
                        .send(format!("frame {number}"), WriteMode::Immediate)
                        .await
                );
            }
        };
        let reading = async {
            let expected: String = (0..500).map(|number| format!("frame {number}\n")).collect();
            let mut got = vec![0; expected.len()];
            far.read_exact(&mut got).await.unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), expected);
        };
        tokio::join!(sending, reading);
    }

    #[tokio::test]
    async fn frames_of_several_callers_go_by_one_write_and_one_alone_at_once() {
        let counted = Counted::default();
        let outbox = Outbox::new(Box::new(counted.clone()));
        let writes = || counted.0.lock().unwrap().clone();
        for number in 0..3 {
            assert!(outbox.send(number.to_string(), WriteMode::Batched).await);
        }
        assert!(outbox.send("3".to_owned(), WriteMode::Immediate).await);
        assert_eq!(writes(), [""; 0], "no other task was ready yet");
        tokio::task::yield_now().await;
        assert_eq!(writes(), ["0\n1\n2\n3\n"]);
        assert!(outbox.send("4".to_owned(), WriteMode::Immediate).await);
        assert_eq!(writes(), ["0\n1\n2\n3\n", "4\n"]);
    }

    /// Records what each write carried.
    #[derive(Clone, Default)]
    struct Counted(Arc<Mutex<Vec<String>>>);

    impl AsyncWrite for Counted {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            self.0.lock().unwrap().push(text);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn r_sec_01_a_server_that_does_not_read_fills_the_backlog_and_no_more() {
        let (near, mut far) = tokio::io::duplex(16);
        let outbox = Outbox::new(Box::new(near));
        let frame = "x".repeat(300 * 1024);
        for _ in 0..4 {
            assert!(outbox.send(frame.clone(), WriteMode::Immediate).await);
        }
        let mut fifth = Box::pin(outbox.send(frame.clone(), WriteMode::Immediate));
        let mut context = Context::from_waker(Waker::noop());
        assert!(fifth.as_mut().poll(&mut context).is_pending());
        for _ in 0..100 {
            outbox.try_send(frame.clone());
        }
        assert!(outbox.lock().backlog.len() < 2 * BACKLOG_BYTES);
        let mut sunk = Vec::new();
        let mut reading = (&mut far).take(5 * (frame.len() as u64 + 1));
        let (sent, read) = tokio::join!(fifth, reading.read_to_end(&mut sunk));
        assert!(sent && read.unwrap() == 5 * (frame.len() + 1));
    }

    #[tokio::test]
    async fn a_closed_stream_releases_its_waiters() {
        let (near, _far) = tokio::io::duplex(16);
        let outbox = Outbox::new(Box::new(near));
        assert!(
            outbox
                .send("x".repeat(2 * BACKLOG_BYTES), WriteMode::Immediate)
                .await
        );
        let waiting = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move { outbox.send("next".to_owned(), WriteMode::Immediate).await }
        });
        tokio::task::yield_now().await;
        outbox.close();
        assert!(!waiting.await.unwrap());
        assert!(!outbox.send("later".to_owned(), WriteMode::Immediate).await);
    }

    #[tokio::test]
    async fn r_sec_01_a_backlog_that_never_runs_dry_does_not_grow() {
        let (near, mut far) = tokio::io::duplex(16);
        let outbox = Outbox::new(Box::new(near));
        let frame = "x".repeat(200 * 1024);
        let mut sunk = vec![0; frame.len() + 1];
        for _ in 0..3 {
            assert!(outbox.send(frame.clone(), WriteMode::Immediate).await);
        }
        for _ in 0..50 {
            assert!(outbox.send(frame.clone(), WriteMode::Immediate).await);
            far.read_exact(&mut sunk).await.unwrap();
            assert_eq!(sunk.last(), Some(&b'\n'), "frames stay whole");
        }
        let kept = outbox.lock().backlog.len();
        assert!(kept < 3 * BACKLOG_BYTES, "{kept}");
    }
}

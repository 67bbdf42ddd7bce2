//! Writes log lines on a separate thread. A client that starts Pegboard but never reads its stderr would otherwise block
//! it as soon as the pipe is full.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Maximum number of queued lines. Further lines are dropped and counted.
const LINES_MAX: usize = 1024;

/// The output of the log.
pub(crate) type Sink = Box<dyn Write + Send>;

/// Queues lines without blocking.
pub(crate) struct LogWriter {
    /// The thread starts with the first line, because most commands never log anything.
    sender: OnceLock<Option<SyncSender<WriterCommand>>>,
    sink: Mutex<Option<Sink>>,
    /// Formats the number of dropped lines.
    notice: fn(u64) -> String,
    dropped: Arc<AtomicU64>,
}

enum WriterCommand {
    Write(String),
    /// Flushes, then signals the sender.
    Flush(SyncSender<()>),
}

impl LogWriter {
    pub(crate) fn new(sink: Sink, notice: fn(u64) -> String) -> Self {
        Self {
            sender: OnceLock::new(),
            sink: Mutex::new(Some(sink)),
            notice,
            dropped: Arc::default(),
        }
    }

    /// Queues a line, or drops and counts it.
    pub(crate) fn write(&self, line: String) {
        let sender = self.sender.get_or_init(|| self.start());
        let is_taken = sender
            .as_ref()
            .is_some_and(|to| to.try_send(WriterCommand::Write(line)).is_ok());
        if !is_taken {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Dropped lines that are not reported yet.
    #[cfg(test)]
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all queued lines are written, at most for the given time.
    pub(crate) fn flush(&self, within: Duration) {
        let Some(Some(sender)) = self.sender.get() else {
            return;
        };
        let (done, wait) = sync_channel(1);
        // A full queue means that the output is blocked.
        if sender.try_send(WriterCommand::Flush(done)).is_ok() {
            let _: Result<(), RecvTimeoutError> = wait.recv_timeout(within);
        }
    }

    fn start(&self) -> Option<SyncSender<WriterCommand>> {
        let sink = self
            .sink
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let (sender, commands) = sync_channel(LINES_MAX);
        let (dropped, notice) = (self.dropped.clone(), self.notice);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread
            .spawn(move || run(sink, &commands, &dropped, notice))
            .ok()?;
        Some(sender)
    }
}

/// Writes until the sender is dropped. Write errors are ignored.
fn run(
    mut sink: Sink,
    commands: &Receiver<WriterCommand>,
    dropped: &AtomicU64,
    notice: fn(u64) -> String,
) {
    for command in commands {
        match command {
            WriterCommand::Write(line) => {
                let _ = sink.write_all(line.as_bytes());
                let lost = dropped.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = sink.write_all(notice(lost).as_bytes());
                }
            }
            WriterCommand::Flush(done) => {
                let _ = sink.flush();
                let _ = done.try_send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_testkit::wait_until_sync;

    /// A sink that blocks until it gets a signal.
    struct Stuck {
        go_on: Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // An error means that the test has released it.
            let _ = self.go_on.recv();
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn r_obs_01_a_blocked_log_reader_never_stalls_the_program() {
        let (hold, go_on) = sync_channel(0);
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Stuck {
            go_on,
            written: written.clone(),
        };
        let writer = LogWriter::new(Box::new(sink), |lost| {
            format!("{lost} lines were dropped\n")
        });
        for number in 0..LINES_MAX * 3 {
            writer.write(format!("{number}\n"));
        }
        assert!(writer.dropped() >= (LINES_MAX as u64) * 2 - 1);
        writer.flush(Duration::from_millis(1));
        drop(hold);
        wait_until_sync("what was taken is written", Duration::from_secs(30), || {
            let written = written.lock().unwrap();
            let text = String::from_utf8_lossy(&written);
            text.contains(&format!("\n{}\n", LINES_MAX - 1)) && text.contains("lines were dropped")
        });
    }
}

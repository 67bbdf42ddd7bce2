//! A server's stderr: keeps the newest part, logs lines, and skips floods.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::contract::LogSink;
use crate::errors::ErrorContext;
use crate::redact::{Redactor, truncate};

/// Bytes read at a time: a whole pipe.
const CHUNK: usize = 64 * 1024;
/// Longer lines are emitted in parts.
const LINE_BYTES: usize = 8 * 1024;
/// Bytes processed per window; the rest of a flood is dropped.
const WINDOW_BYTES: usize = 512 * 1024;
const WINDOW: Duration = Duration::from_secs(1);

/// The newest part of a server's stderr, without secrets.
#[derive(Clone)]
pub(crate) struct Ring {
    lines: Arc<Mutex<Lines>>,
    limit: usize,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<String>,
    bytes: usize,
}

impl Ring {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            lines: Arc::default(),
            limit,
        }
    }

    /// Returns the stored text.
    pub(crate) fn text(&self) -> String {
        self.lock()
            .kept
            .iter()
            .fold(String::new(), |mut text, line| {
                text.push_str(line);
                text.push('\n');
                text
            })
    }

    fn push(&self, line: &str) {
        let line = truncate(line, self.limit.saturating_sub(1));
        let mut lines = self.lock();
        lines.bytes += line.len() + 1;
        lines.kept.push_back(line.to_owned());
        while lines.bytes > self.limit {
            let Some(oldest) = lines.kept.pop_front() else {
                break;
            };
            lines.bytes -= oldest.len() + 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads stderr to its end.
pub(crate) async fn drain<R: AsyncRead + Unpin>(
    mut source: R,
    ring: Ring,
    errors: ErrorContext,
    logs: Arc<dyn LogSink>,
) {
    let mut splitter = Splitter {
        pending: Vec::new(),
        redactor: Arc::clone(&errors.redactor),
    };
    let mut emit = |line: &str| {
        ring.push(line);
        logs.append(&errors.server, line);
    };
    let mut chunk = vec![0; CHUNK];
    let mut window = Instant::now();
    let mut looked_at = 0;
    let mut dropped = 0usize;
    // The end of a flood explains its cause; only its newest part is kept.
    let mut newest = Vec::new();
    loop {
        let count = match source.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        if window.elapsed() >= WINDOW {
            window = Instant::now();
            looked_at = 0;
            splitter.resume(&mut dropped, &mut newest, &mut emit);
        }
        looked_at += count;
        if looked_at <= WINDOW_BYTES {
            splitter.feed(bytes, &mut emit);
        } else {
            newest.extend_from_slice(bytes);
            let surplus = if newest.len() > 2 * CHUNK {
                newest.len() - CHUNK
            } else {
                0
            };
            newest.drain(..surplus);
            dropped += surplus;
        }
    }
    splitter.resume(&mut dropped, &mut newest, &mut emit);
    splitter.finish(&mut emit);
}

/// Splits bytes into lines and redacts each of them.
struct Splitter {
    pending: Vec<u8>,
    redactor: Arc<Redactor>,
}

impl Splitter {
    fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(&str)) {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        for part in lines.flat_map(|line| line.chunks(LINE_BYTES)) {
            self.pending.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.finish(emit);
            } else if self.pending.len() > LINE_BYTES + self.redactor.longest() {
                self.emit_part(emit);
            }
        }
    }

    /// Emits the start of a long line, and holds back what may be the start of a secret.
    fn emit_part(&mut self, emit: &mut impl FnMut(&str)) {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        let cleaned = self.redactor.clean(&text);
        let start = truncate(
            &cleaned,
            cleaned.len().saturating_sub(self.redactor.longest()),
        )
        .to_owned();
        let rest = cleaned
            .get(start.len()..)
            .unwrap_or_default()
            .as_bytes()
            .to_vec();
        emit(&start);
        self.pending = rest;
    }

    fn finish(&mut self, emit: &mut impl FnMut(&str)) {
        let bytes = std::mem::take(&mut self.pending);
        let text = String::from_utf8_lossy(&bytes);
        let line = text.trim_end_matches(['\n', '\r']);
        if !line.is_empty() {
            emit(&self.redactor.clean(line));
        }
    }

    /// Continues after a flood. The first line of its newest part may begin inside a secret, so it is dropped.
    fn resume(&mut self, dropped: &mut usize, newest: &mut Vec<u8>, emit: &mut impl FnMut(&str)) {
        if newest.is_empty() {
            return;
        }
        let whole_lines = memchr::memchr(b'\n', newest).map_or(newest.len(), |end| end + 1);
        *dropped += whole_lines + self.pending.len();
        self.pending.clear();
        emit(&format!("[{dropped} bytes of a flood omitted]"));
        self.feed(newest.get(whole_lines..).unwrap_or_default(), emit);
        *dropped = 0;
        newest.clear();
    }
}

#[cfg(test)]
mod tests {
    use pegboard_model::ServerName;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);
    impl LogSink for Kept {
        fn append(&self, _: &ServerName, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    async fn run<R: AsyncRead + Unpin>(source: R, limit: usize) -> (String, Vec<String>) {
        let mut redactor = Redactor::default();
        redactor.add("canary-secret");
        let server = ServerName::parse("loud").unwrap();
        let errors = ErrorContext {
            server,
            redactor: Arc::new(redactor),
            text_bytes: 100,
        };
        let (ring, kept) = (Ring::new(limit), Arc::new(Kept::default()));
        drain(
            source,
            ring.clone(),
            errors,
            Arc::clone(&kept) as Arc<dyn LogSink>,
        )
        .await;
        let lines = std::mem::take(&mut *kept.0.lock().unwrap());
        (ring.text(), lines)
    }

    #[tokio::test]
    async fn r_obs_03_lines_are_kept_and_logged_without_secrets() {
        let (text, lines) = run(
            &b"start\r\nTOKEN=canary-secret\nno end canary-secret"[..],
            1_000,
        )
        .await;
        assert_eq!(text, "start\nTOKEN=***\nno end ***\n");
        assert_eq!(lines, ["start", "TOKEN=***", "no end ***"]);
    }

    #[tokio::test]
    async fn r_obs_03_a_secret_across_the_parts_of_a_long_line_is_found() {
        for shift in 0..20 {
            let long = format!(
                "{}canary-secret{}",
                "x".repeat(LINE_BYTES - shift),
                "y".repeat(LINE_BYTES)
            );
            let (_, lines) = run(long.as_bytes(), 1_000_000).await;
            assert!(!lines.concat().contains("canary"), "{shift}");
            assert!(lines.len() > 1);
        }
    }

    #[tokio::test]
    async fn a_text_without_line_ends_is_kept_in_parts() {
        let (text, lines) = run(&[b'z'; 200 * 1024][..], 64 * 1024).await;
        assert!(
            text.len() > 32 * 1024 && text.len() <= 64 * 1024,
            "{}",
            text.len()
        );
        assert!(lines.iter().all(|line| line.len() <= 2 * LINE_BYTES + 100));
    }

    #[tokio::test]
    async fn the_ring_keeps_the_newest_lines() {
        let many: String = (0..1_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        let (text, _) = run(many.as_bytes(), 100).await;
        assert!(text.len() <= 100 && text.ends_with("line 999\n"), "{text}");
    }

    #[tokio::test]
    async fn r_sec_01_a_flood_is_bounded_and_its_end_is_kept() {
        let flood = tokio::io::AsyncReadExt::take(tokio::io::repeat(b'x'), 300 * 1024 * 1024);
        let source = tokio::io::AsyncReadExt::chain(flood, &b"\nthe end\n"[..]);
        let (text, lines) = run(source, 64 * 1024).await;
        assert!(text.len() <= 64 * 1024);
        assert!(text.ends_with("the end\n"));
        assert!(lines.iter().map(String::len).sum::<usize>() < 64 * 1024 * 1024);
        assert!(text.contains("bytes of a flood omitted"));
    }
}

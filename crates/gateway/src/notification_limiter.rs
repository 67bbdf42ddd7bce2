//! Limits how many notifications of a server reach a client: per call and per second.

use std::time::Duration;

use pegboard_jsonrpc::quoted;
use pegboard_model::Limits;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(1);

/// The remaining budget of a call or session.
#[derive(Debug)]
pub(crate) struct NotificationLimiter {
    per_second: u64,
    /// Notifications and bytes left for the call. `None` for a session, which only has the limit per second.
    left: Option<(u64, usize)>,
    window: Instant,
    in_window: u64,
    dropped_messages: u64,
    dropped_progress: u64,
}

impl NotificationLimiter {
    /// The limits for one call.
    pub(crate) fn for_call(limits: &Limits) -> Self {
        Self {
            left: Some((limits.relayed_per_call, limits.relayed_bytes_per_call)),
            ..Self::for_session(limits)
        }
    }

    /// The limits for messages between calls.
    pub(crate) fn for_session(limits: &Limits) -> Self {
        Self {
            per_second: limits.relayed_per_second,
            left: None,
            window: Instant::now(),
            in_window: 0,
            dropped_messages: 0,
            dropped_progress: 0,
        }
    }

    /// Whether a log message of this size may be forwarded. Counts it as dropped if not.
    pub(crate) fn admits_message(&mut self, bytes: usize) -> bool {
        let is_admitted = self.admits(bytes);
        self.dropped_messages += u64::from(!is_admitted);
        is_admitted
    }

    /// Whether a progress notification of this size may be forwarded. Counts it as dropped if not.
    pub(crate) fn admits_progress(&mut self, bytes: usize) -> bool {
        let is_admitted = self.admits(bytes);
        self.dropped_progress += u64::from(!is_admitted);
        is_admitted
    }

    fn admits(&mut self, bytes: usize) -> bool {
        if self.window.elapsed() >= WINDOW {
            self.window = Instant::now();
            self.in_window = 0;
        }
        if self.in_window >= self.per_second {
            return false;
        }
        if let Some((count, left)) = &mut self.left {
            if *count == 0 || *left < bytes {
                return false;
            }
            *count -= 1;
            *left -= bytes;
        }
        self.in_window += 1;
        true
    }

    /// Whether the current one-second window is over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.window.elapsed() >= WINDOW
    }

    /// Returns `params` for a log message about what was dropped since the last report, if anything was.
    pub(crate) fn take_report(&mut self) -> Option<String> {
        let messages = std::mem::take(&mut self.dropped_messages);
        let progress = std::mem::take(&mut self.dropped_progress);
        let mut parts = Vec::new();
        if messages > 0 {
            parts.push(format!("{messages} log messages"));
        }
        if progress > 0 {
            parts.push(format!("{progress} progress notifications"));
        }
        if parts.is_empty() {
            return None;
        }
        let text = format!("{} dropped: the server sent too many", parts.join(" and "));
        Some(format!(
            r#"{{"level":"warning","logger":"pegboard","data":{}}}"#,
            quoted(&text)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            relayed_per_call: 5,
            relayed_per_second: 3,
            relayed_bytes_per_call: 100,
            ..Limits::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_forwarded_notifications_are_limited_per_second_and_in_total() {
        let mut limiter = NotificationLimiter::for_call(&limits());
        let admitted = |limiter: &mut NotificationLimiter| {
            (0..10).filter(|_| limiter.admits_message(1)).count()
        };
        assert_eq!(admitted(&mut limiter), 3);
        tokio::time::advance(WINDOW).await;
        assert_eq!(admitted(&mut limiter), 2);
        tokio::time::advance(WINDOW).await;
        assert!(!limiter.admits_progress(1));
        let report = limiter.take_report().unwrap();
        assert!(
            report.contains("15 log messages and 1 progress"),
            "{report}"
        );
        assert_eq!(limiter.take_report(), None);
        let mut large = NotificationLimiter::for_call(&limits());
        assert!(large.admits_message(100) && !large.admits_message(1));
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_a_session_has_no_limit_but_that_of_a_second() {
        let mut limiter = NotificationLimiter::for_session(&limits());
        for _ in 0..10 {
            assert_eq!((0..9).filter(|_| limiter.admits_message(1_000)).count(), 3);
            tokio::time::advance(WINDOW).await;
        }
    }
}

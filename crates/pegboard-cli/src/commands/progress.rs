//! A progress line for discoveries, on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pegboard_hub::{Hub, StartProgress};
use pegboard_model::EventKind;

use crate::format::count;
use crate::output::Output;

/// The interval at which the line is updated.
const TICK: Duration = Duration::from_millis(200);
/// After this time, a package runner is probably downloading.
const DOWNLOADING: Duration = Duration::from_secs(3);

/// Shows a line that counts discovered servers and names those that are starting. Returns `None` without a terminal.
pub(crate) fn progress(hub: &Hub, servers: usize, output: &Output) -> Option<Progress> {
    if !output.is_interactive() {
        return None;
    }
    let bar = ProgressBar::new(servers as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} servers  {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    let task = tokio::spawn(show(hub.clone(), bar.clone()));
    Some(Progress { bar, task })
}

async fn show(hub: Hub, bar: ProgressBar) {
    use tokio::sync::broadcast::error::RecvError;
    let mut events = hub.subscribe();
    let mut tick = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            event = events.recv() => match event.map(|event| event.kind) {
                Ok(EventKind::ServerDiscovered { .. } | EventKind::ServerFailed { .. }) => bar.inc(1),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
            _ = tick.tick() => {
                let (starts, waiting) = hub.starts();
                bar.set_message(text(&starts, waiting));
            }
        }
    }
}

/// Formats the line: `starting excel, 12 s; npx may be downloading · starting fetch, 3 s · 20 servers queued`.
fn text(starts: &[StartProgress], waiting: usize) -> String {
    let mut parts: Vec<String> = starts
        .iter()
        .map(|start| {
            let seconds = start.elapsed.as_secs();
            let line = format!("starting {}, {seconds} s", start.server);
            match start.downloads_with {
                Some(runner) if start.elapsed >= DOWNLOADING => {
                    format!("{line}; {runner} may be downloading")
                }
                _ => line,
            }
        })
        .collect();
    if waiting > 0 {
        parts.push(match waiting {
            1 => "1 server queued".to_owned(),
            _ => format!("{} queued", count(waiting, "server")),
        });
    }
    parts.join(" · ")
}

/// A progress line; dropping it clears the line.
pub(crate) struct Progress {
    bar: ProgressBar,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.task.abort();
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::ServerName;

    fn start(server: &str, seconds: u64, downloads_with: Option<&'static str>) -> StartProgress {
        StartProgress {
            server: ServerName::parse(server).unwrap(),
            elapsed: Duration::from_secs(seconds),
            downloads_with,
        }
    }

    #[test]
    fn r_disc_13_the_progress_names_the_servers_and_what_they_may_wait_for() {
        let starts = [
            start("excel", 12, Some("npx")),
            start("fetch", 2, Some("uvx")),
        ];
        assert_eq!(
            text(&starts, 20),
            "starting excel, 12 s; npx may be downloading · starting fetch, 2 s · \
             20 servers queued"
        );
        assert_eq!(text(&[start("own", 40, None)], 0), "starting own, 40 s");
        assert_eq!(text(&[], 1), "1 server queued");
        assert_eq!(text(&[], 0), "");
    }
}

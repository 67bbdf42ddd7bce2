//! The process itself: start, crash, and grandchildren.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pegboard_testkit::script::{Grandchild, Moment};
use pegboard_testkit::{Script, append_line};

use crate::output;

/// Runs the parts of the script before the first message.
pub(crate) fn begin(script: &Script) {
    if let Some(file) = &script.count_file {
        let _ = append_line(file, &format!("start {}", std::process::id()));
    }
    if let Some(kind) = script.process.grandchild {
        leave_grandchild(kind);
    }
    if script.process.stderr_env {
        for (key, value) in std::env::vars_os() {
            let line = format!("{}={}\n", key.to_string_lossy(), value.to_string_lossy());
            output::to_stderr(line.as_bytes());
        }
    }
    if script.process.stderr_bytes > 0 {
        output::flood(script.process.stderr_bytes, &mut std::io::stderr().lock());
    }
    use_processor(Duration::from_millis(script.start_cpu_ms));
    pause(script.start_delay_ms);
    if script
        .crash
        .is_some_and(|crash| crash.when == Moment::Start)
    {
        crash(script);
    }
}

/// Exits with the scripted code.
pub(crate) fn crash(script: &Script) -> ! {
    std::process::exit(script.crash.map_or(1, |crash| crash.code))
}

/// Waits; zero returns at once.
pub(crate) fn pause(ms: u64) {
    if ms > 0 {
        std::thread::sleep(Duration::from_millis(ms));
    }
}

/// Uses this much CPU time, or wall-clock time if the system does not report CPU time.
fn use_processor(time: Duration) {
    /// Steps between two reads of the clock.
    const STEPS: u64 = 100_000;
    let begun = Instant::now();
    let used = || {
        let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
        let nanos = text.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    };
    let mut number = 0_u64;
    while !time.is_zero() && used().unwrap_or_else(|| begun.elapsed()) < time {
        for step in 0..STEPS {
            number = std::hint::black_box(number.wrapping_mul(31).wrapping_add(step));
        }
    }
}

/// Waits until the process is killed.
pub(crate) fn park_forever() -> ! {
    loop {
        std::thread::park();
    }
}

fn leave_grandchild(kind: Grandchild) {
    let mut command = match kind {
        Grandchild::SameGroup => Command::new("sleep"),
        Grandchild::OwnSession => {
            let mut command = Command::new("setsid");
            command.arg("sleep");
            command
        }
    };
    // Standard output and error are inherited, so the pipes stay open after the server exited.
    if let Err(error) = command.arg("1000").stdin(Stdio::null()).spawn() {
        output::to_stderr(format!("no grandchild: {error}\n").as_bytes());
    }
}

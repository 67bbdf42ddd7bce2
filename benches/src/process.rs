//! A program that serves over HTTP, and what the system knows of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A serving program; it is asked to end when this is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl ServerProcess {
    /// Starts it and reads its output until it tells where it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let copy = writer.try_clone().expect("a pipe's end");
        command.stdout(writer).stderr(copy);
        let child = command.spawn().expect("a serving program");
        let mut process = Self {
            child,
            address: String::new(),
        };
        // Our own ends must be closed, or the output would have no end.
        drop(command);
        let mut lines = BufReader::new(reader).lines();
        let mut said = String::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("a serving program never told its address:\n{said}");
            };
            if let Some(address) = address_in(&line) {
                process.address = address;
                std::thread::spawn(move || lines.for_each(drop));
                return process;
            }
            said += &line;
            said.push('\n');
        }
    }

    /// The time that its threads have run, in nanoseconds.
    pub(crate) fn cpu_nanos(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let run_time = |task: std::fs::DirEntry| -> Option<u64> {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        let tasks = tasks.expect("its threads").flatten();
        tasks.filter_map(run_time).sum()
    }

    /// Its resident memory in megabytes.
    pub(crate) fn resident_megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.expect("its resident memory") / 1024.0
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let port = rest.get(..digits)?;
    (digits > 0).then(|| format!("127.0.0.1:{port}"))
}

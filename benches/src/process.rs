//! A program that serves HTTP, with its CPU time and memory.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A running server; it gets SIGTERM on drop.
pub(crate) struct ServerProcess {
    child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl ServerProcess {
    /// Starts it and reads its output until it prints its address.
    pub(crate) fn start(mut command: Command) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let copy = writer.try_clone().expect("a pipe's end");
        command.stdout(writer).stderr(copy);
        let child = command.spawn().expect("a serving program");
        let mut process = Self {
            child,
            address: String::new(),
        };
        // Our own ends must be closed, otherwise the output would never end.
        drop(command);
        let mut lines = BufReader::new(reader).lines();
        let mut output = String::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("the server did not print its address:\n{output}");
            };
            if let Some(address) = address_in(&line) {
                process.address = address;
                std::thread::spawn(move || lines.for_each(drop));
                return process;
            }
            output += &line;
            output.push('\n');
        }
    }

    /// The CPU time of its threads in nanoseconds.
    pub(crate) fn cpu_nanos(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let run_time = |task: std::fs::DirEntry| -> Option<u64> {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        let tasks = tasks.expect("its threads").flatten();
        tasks.filter_map(run_time).sum()
    }

    /// The resident memory in megabytes.
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

/// The processes whose environment or command line contains a text. Pegboard hides its environment from other users
/// than root, so only root counts all of them.
pub(crate) fn with_marker(marker: &str) -> Vec<u32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").expect("the list of processes");
    let pids = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    let is_marked = |pid: &u32| {
        let holds = |file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            memchr::memmem::find(&bytes, marker.as_bytes()).is_some()
        };
        *pid != own && (holds("environ") || holds("cmdline"))
    };
    pids.filter(is_marked).collect()
}

/// The memory of a process in megabytes, with its part of what it shares with others; 0 if it has ended.
pub(crate) fn pss_megabytes(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}

fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let port = rest.get(..digits)?;
    (digits > 0).then(|| format!("127.0.0.1:{port}"))
}

//! A program that runs in the background of a test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;
use serde_json::Value;

use super::TIMEOUT;

/// A running program. Killed on drop.
pub(crate) struct Running {
    child: Child,
    /// Both streams by line, in the order of arrival.
    output: Arc<Mutex<String>>,
    /// Standard output alone.
    stdout: Arc<Mutex<String>>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        Self::with_input(command)
    }

    /// Starts a command that has its standard input already.
    pub(crate) fn with_input(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = Arc::new(Mutex::new(String::new()));
        let stdout = Arc::new(Mutex::new(String::new()));
        follow(child.stdout.take(), vec![output.clone(), stdout.clone()]);
        follow(child.stderr.take(), vec![output.clone()]);
        Self {
            child,
            output,
            stdout,
        }
    }

    /// Returns everything printed so far.
    pub(crate) fn output(&self) -> String {
        self.output.lock().expect("not poisoned").clone()
    }

    /// Waits until the text was printed.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let description = format!("`{text}` in its output");
        wait_until_sync(&description, TIMEOUT, || self.output().contains(text));
    }

    /// Waits until standard output is one complete JSON text, and returns it.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let mut value = None;
        wait_until_sync("JSON in its standard output", TIMEOUT, || {
            let text = self.stdout.lock().expect("not poisoned").clone();
            value = serde_json::from_str(&text).ok();
            value.is_some()
        });
        value.expect("it was parsed")
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal in the notation of `kill`.
    pub(crate) fn signal(&self, signal: &str) {
        super::kill(signal, self.child.id());
    }

    /// Waits for the exit.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until_sync("the end of the program", TIMEOUT, || {
            status = self.child.try_wait().expect("the child can be waited for");
            status.is_some()
        });
        status.expect("it has ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(source: Option<impl Read + Send + 'static>, outputs: Vec<Arc<Mutex<String>>>) {
    let source = BufReader::new(source.expect("the pipe is there"));
    std::thread::spawn(move || {
        for line in source.lines().map_while(Result::ok) {
            for output in &outputs {
                let mut output = output.lock().expect("not poisoned");
                output.push_str(&line);
                output.push('\n');
            }
        }
    });
}

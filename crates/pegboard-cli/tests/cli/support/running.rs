//! A program that runs in the background of a test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;

use super::TIMEOUT;

/// A running program. Killed on drop.
pub(crate) struct Running {
    child: Child,
    output: Arc<Mutex<String>>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = Arc::new(Mutex::new(String::new()));
        follow(child.stdout.take(), output.clone());
        follow(child.stderr.take(), output.clone());
        Self { child, output }
    }

    /// Returns everything printed so far.
    pub(crate) fn output(&self) -> String {
        self.output.lock().expect("not poisoned").clone()
    }

    /// Waits until the text was printed.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let description = format!("`{text}` in what it says");
        wait_until_sync(&description, TIMEOUT, || self.output().contains(text));
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

fn follow(source: Option<impl Read + Send + 'static>, output: Arc<Mutex<String>>) {
    let source = BufReader::new(source.expect("the pipe is there"));
    std::thread::spawn(move || {
        for line in source.lines().map_while(Result::ok) {
            let mut output = output.lock().expect("not poisoned");
            output.push_str(&line);
            output.push('\n');
        }
    });
}

//! A run of the program that goes on while the test looks.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;

use super::TIMEOUT;

/// A program that runs. It is killed when the test ends before it does.
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

    /// Everything it said so far.
    pub(crate) fn output(&self) -> String {
        self.output
            .lock()
            .expect("nobody panics with the text")
            .clone()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let description = format!("`{text}` in what it says");
        wait_until_sync(&description, TIMEOUT, || self.output().contains(text));
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, written as `kill` takes it.
    pub(crate) fn signal(&self, signal: &str) {
        super::kill(signal, self.child.id());
    }

    /// Waits for its end.
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
            let mut output = output.lock().expect("nobody panics with the text");
            output.push_str(&line);
            output.push('\n');
        }
    });
}

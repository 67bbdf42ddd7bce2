//! A run of the program at a terminal with simulated input.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::TIMEOUT;

/// A program whose input and output are a terminal. Killed on drop.
pub(crate) struct AtTerminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl AtTerminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal of ours");
        unlockpt(&master).expect("a terminal that opens");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let name = name.to_str().expect("a plain name");
        let open = || {
            let file = OpenOptions::new().read(true).write(true).open(name);
            file.expect("the program's side of the terminal")
        };
        command.env("TERM", "xterm");
        let child = command
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .expect("the program starts");
        drop(command);
        let keys = File::from(master);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut screen = keys.try_clone().expect("another handle");
        let written = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                written
                    .lock()
                    .expect("no panic")
                    .extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, seen }
    }

    /// Returns everything printed so far.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("no panic")).into_owned()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let what = format!("`{text}` on the screen");
        wait_until_sync(&what, TIMEOUT, || self.seen().contains(text));
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
    }

    /// Waits for the exit and returns the exit code.
    pub(crate) fn ends(&mut self) -> i32 {
        let mut status = None;
        wait_until_sync("the end of the program", TIMEOUT, || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        status.and_then(|status| status.code()).unwrap_or(-1)
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

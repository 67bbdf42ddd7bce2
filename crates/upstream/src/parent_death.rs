//! Makes a child die with this process, even if it is killed. Contains one of the project's three unsafe blocks; the
//! others are in the encoder.

use tokio::process::Command;

/// Asks the kernel to kill the child when the thread that starts it ends.
///
/// This is why children are started from threads that live as long as the program.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(crate) fn kill_with_parent(command: &mut Command) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    let arrange = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the request; then the signal would never be sent.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(std::io::Error::from_raw_os_error(
                rustix::io::Errno::SRCH.raw_os_error(),
            ))
        }
    };
    // SAFETY: between fork and exec only async-signal-safe operations are allowed. `arrange` makes two bare system
    // calls (prctl, getppid), compares integers and builds an error from an integer: no allocation, no lock.
    unsafe {
        command.pre_exec(arrange);
    }
}

/// Not available on other systems, and neither is the sweep at the next start.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_with_parent(_command: &mut Command) {}

//! The only module that creates processes.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

use crate::errors::ErrorContext;
use crate::kill::ProcessGroup;
use crate::marks::{MARK, next_mark, sweep_orphans};
use crate::parent_death::kill_with_parent;
use crate::process::Process;
use crate::sandbox::Confinement;
use crate::suggest_program::suggest_program;
use crate::watcher::{WATCH_ARGUMENT, has_watcher_program, is_watched};
use crate::{owner_limit, subreaper};

/// What is run. It holds secrets, so it has no `Debug`.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    /// How the process is confined, if it is.
    pub(crate) confinement: Option<Arc<Confinement>>,
}

/// A started process. Dropping it kills its group.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) group: Arc<ProcessGroup>,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts a server's process in its own process group.
pub(crate) async fn spawn(launch: &Launch, errors: &ErrorContext) -> ToolResult<Spawned> {
    let (sender, started) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let mark = next_mark();
    let job = {
        let launch = launch.clone();
        move || {
            let _runtime = runtime.enter();
            // The first call starts the watcher, which must not be confined.
            let is_watched = is_watched();
            let spawned = match launch.confinement.clone() {
                Some(confinement) => start_confined(launch, mark, is_watched, confinement),
                None => start(&launch, mark, is_watched),
            };
            // If the receiver is gone, dropping the process kills it.
            let _ = sender.send(spawned);
        }
    };
    let no_thread = || {
        errors.error(
            Reason::SpawnResource,
            "could not be started: no thread could be created",
        )
    };
    launchers()
        .ok_or_else(no_thread)?
        .send(Box::new(job))
        .map_err(|_| no_thread())?;
    subreaper::reap_as_they_end();
    match started.await {
        Ok(Ok(spawned)) => Ok(spawned),
        Ok(Err(error)) => Err(explain(&error, launch, errors)),
        Err(_) => Err(no_thread()),
    }
}

#[allow(clippy::disallowed_methods)] // This module is the one place where processes are created.
fn start(launch: &Launch, mark: String, is_watched: bool) -> std::io::Result<Spawned> {
    let mut command = Command::new(program_file(
        &launch.program,
        launch.env.get("PATH").map(String::as_str),
    ));
    command
        .arg0(&launch.program)
        .args(&launch.args)
        .env_clear()
        .envs(&launch.env)
        .env(MARK, &mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(folder) = &launch.cwd {
        command.current_dir(folder);
    }
    if !is_watched {
        kill_with_parent(&mut command);
    }
    let starting = subreaper::starting();
    let mut child = command.spawn()?;
    let missing = || std::io::Error::other("the process has no pipes");
    let pid = child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(Pid::from_raw)
        .ok_or_else(missing)?;
    let group = Arc::new(ProcessGroup::new(pid, mark));
    drop(starting);
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Spawned {
            child,
            group,
            stdin,
            stdout,
            stderr,
        }),
        _ => Err(missing()),
    }
}

/// Starts a process from a fresh thread that confines itself first. The thread ends when the process is started, or with
/// the process if that dies with its thread.
fn start_confined(
    launch: Launch,
    mark: String,
    is_watched: bool,
    confinement: Arc<Confinement>,
) -> std::io::Result<Spawned> {
    let runtime = tokio::runtime::Handle::current();
    let (sender, started) = channel();
    let confined = move || {
        let _runtime = runtime.enter();
        let spawned = confinement
            .apply()
            .and_then(|()| start(&launch, mark, is_watched));
        let process = match &spawned {
            Ok(spawned) if !is_watched => i32::try_from(spawned.group.pid()).ok(),
            _ => None,
        };
        let process = process.and_then(Process::open);
        let _ = sender.send(spawned);
        #[cfg(target_os = "linux")]
        if let Some(process) = process {
            process.wait_for_end();
        }
        #[cfg(not(target_os = "linux"))]
        drop(process);
    };
    std::thread::Builder::new()
        .name("pegboard-confine".to_owned())
        .spawn(confined)?;
    let ended = |_| std::io::Error::other("the thread that confines it ended");
    started.recv().map_err(ended)?
}

/// Returns the file that a bare name refers to on the server's own PATH. Looked up here because the system's fast way
/// to start a process takes no name if PATH is changed. An unknown name is left to the system's error.
pub(crate) fn program_file(program: &str, path: Option<&str>) -> PathBuf {
    let name = Path::new(program);
    let folders = path.filter(|_| !program.contains('/'));
    let is_program = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(path);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let candidates = folders.into_iter().flat_map(std::env::split_paths);
    let mut candidates = candidates.filter(|folder| folder.is_absolute());
    candidates
        .find_map(|folder| Some(folder.join(name)).filter(is_program))
        .unwrap_or_else(|| name.to_owned())
}

/// Starts the program as a watcher, detached from the terminal's signals.
#[allow(clippy::disallowed_methods)] // This module is the one place where processes are created.
pub(crate) fn start_watcher(program: &Path, owner: &str) -> std::io::Result<std::process::Child> {
    use std::os::unix::process::CommandExt;
    std::process::Command::new(program)
        .args([WATCH_ARGUMENT, owner])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Starts a program that outlives this one, in the environment and the session of this process; it leaves the session
/// itself. Its standard output is a pipe on which it reports that it is ready.
///
/// # Errors
/// Fails if the program cannot be started.
#[allow(clippy::disallowed_methods)] // This module is the one place where processes are created.
pub fn start_background(
    program: &Path,
    arguments: &[&str],
) -> std::io::Result<std::process::Child> {
    std::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Runs a tool of the system, for example `systemctl`, in the environment of this process and waits for its end.
///
/// # Errors
/// Fails if the program cannot be started.
#[allow(clippy::disallowed_methods)] // This module is the one place where processes are created.
pub fn run_tool(program: &Path, arguments: &[&str]) -> std::io::Result<std::process::Output> {
    std::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
}

/// The largest output of a tool that is kept.
const TOOL_OUTPUT: u64 = 1024 * 1024;

/// What a tool wrote and how it ended.
pub(crate) struct ToolOutput {
    pub(crate) is_success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end, such as a package manager, in the root folder: it must not read settings of the current
/// one. Kills it after `limit`.
#[allow(clippy::disallowed_methods)] // This module is the one place where processes are created.
pub(crate) async fn run_to_end(
    program: &str,
    args: &[&str],
    input: Option<&str>,
    variables: &BTreeMap<String, String>,
    limit: std::time::Duration,
) -> std::io::Result<ToolOutput> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let path = variables.get("PATH").map(String::as_str);
    let mut command = Command::new(program_file(program, path));
    command
        .args(args)
        .env_clear()
        .envs(variables)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let starting = subreaper::starting();
    let mut child = command.spawn()?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let registered = pid.and_then(Pid::from_raw).map(RegisteredChild::new);
    drop(starting);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A program that does not read its input says in its output why.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let read_out = async {
            match stdout {
                Some(stdout) => stdout.take(TOOL_OUTPUT).read_to_end(&mut out).await,
                None => Ok(0),
            }
        };
        let read_err = async {
            match stderr {
                Some(stderr) => stderr.take(TOOL_OUTPUT).read_to_end(&mut err).await,
                None => Ok(0),
            }
        };
        let (read, also_read) = tokio::join!(read_out, read_err);
        read.and(also_read)?;
        let status = child.wait().await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(ToolOutput {
            is_success: status.success(),
            stdout: text(out),
            stderr: text(err),
        })
    };
    let outcome = tokio::time::timeout(limit, work).await;
    drop(registered);
    outcome.map_err(|_| std::io::Error::other("it took too long"))?
}

/// A child that is not a leftover of a server.
struct RegisteredChild(Pid);

impl RegisteredChild {
    fn new(pid: Pid) -> Self {
        subreaper::register_server(pid);
        Self(pid)
    }
}

impl Drop for RegisteredChild {
    fn drop(&mut self) {
        subreaper::unregister(self.0);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Threads that live as long as the program, because a child dies with the thread that started it. As many as there are
/// cores: starting more processes at a time only makes each of them slower.
fn launchers() -> Option<&'static Sender<Job>> {
    static LAUNCHERS: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    let start = || {
        if has_watcher_program() {
            // Processes started by servers stay findable, even if they clear their environment or leave their group.
            subreaper::adopt_orphans();
            owner_limit::mark_ourselves();
        } else {
            sweep_beside();
        }
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let thread = |_| {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name("pegboard-launch".to_owned())
                .spawn(move || launch_all(&queue))
                .is_ok()
        };
        // `filter` rather than `any`: every thread must be started.
        ((0..cores).filter(|core| thread(*core)).count() > 0).then_some(jobs)
    };
    LAUNCHERS.get_or_init(start).as_ref()
}

/// Kills in the background what an earlier program left, before the first server starts. In a watched program the
/// watcher does this.
fn sweep_beside() {
    let thread = std::thread::Builder::new().name("pegboard-sweep".to_owned());
    // Without a thread the next program will do it.
    let _ = thread.spawn(sweep_orphans);
}

fn launch_all(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A panic here would end the thread and with it every child that it started.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

fn explain(error: &std::io::Error, launch: &Launch, errors: &ErrorContext) -> ToolError {
    let program = errors.quote(&launch.program);
    if let Some(folder) = launch.cwd.as_deref().filter(|folder| !folder.is_dir()) {
        let folder = errors.quote(&folder.to_string_lossy());
        return errors
            .error(
                Reason::SpawnFailed,
                format_args!("could not be started: its folder `{folder}` does not exist"),
            )
            .at_field("cwd")
            .with_remedy("Create the folder, or fix `cwd` of the server.");
    }
    let path = launch.env.get("PATH").map_or("", String::as_str);
    match error.kind() {
        ErrorKind::NotFound if find(launch, path).is_some() => errors
            .error(Reason::SpawnFailed, format_args!("could not be started: the interpreter in the first line of `{program}` does not exist"))
            .with_remedy("Install the interpreter, or set it as `command` with the script as the first argument."),
        ErrorKind::NotFound if launch.program.contains('/') => {
            errors.error(Reason::SpawnNotFound, format_args!("could not be started: `{program}` does not exist"))
        }
        ErrorKind::NotFound => {
            let not_found = format_args!("could not be started: `{program}` not found in PATH");
            let error = errors.error(Reason::SpawnNotFound, not_found);
            match suggest_program(&launch.program, path) {
                Some(near) => {
                    let near = UntrustedText::new(&near);
                    error.with_remedy(format!("Did you mean `{near}`? Fix `command` of the server."))
                }
                None => {
                    let folders = path.replace(':', ", ");
                    let remedy = format!("{} Searched: {}.", error.remedy, errors.quote(&folders));
                    error.with_remedy(remedy)
                }
            }
        }
        ErrorKind::PermissionDenied if launch.confinement.is_some() => errors
            .error(Reason::SpawnDenied, format_args!("could not be started: `{program}` or its interpreter cannot be executed in its sandbox"))
            .with_remedy("Make the file executable, or add the folder of the program to `read` of the server's `sandbox`."),
        ErrorKind::PermissionDenied => {
            errors.error(Reason::SpawnDenied, format_args!("could not be started: `{program}` is not executable"))
        }
        _ if is_shortage(error) => {
            errors.error(Reason::SpawnResource, format_args!("could not be started now: {}", system_words(error)))
        }
        _ => errors.error(Reason::SpawnFailed, format_args!("could not be started: `{program}`: {}", system_words(error))),
    }
}

fn system_words(error: &std::io::Error) -> String {
    UntrustedText::new(&error.to_string()).to_string()
}

fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let shortages = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| {
        shortages
            .iter()
            .any(|shortage| shortage.raw_os_error() == code)
    })
}

/// Returns the file that a program's name refers to, if there is one.
fn find(launch: &Launch, path: &str) -> Option<PathBuf> {
    let base = launch.cwd.as_deref().unwrap_or(Path::new("."));
    let mut candidates: Vec<PathBuf> = if launch.program.contains('/') {
        vec![base.join(&launch.program)]
    } else {
        std::env::split_paths(path)
            .map(|folder| base.join(folder).join(&launch.program))
            .collect()
    };
    candidates.retain(|file| file.is_file());
    candidates.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::errors;
    use rustix::io::Errno;

    #[track_caller]
    fn check(errno: Errno, expected: Reason, retryable: bool) {
        let launch = Launch {
            program: "/bin/sh".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            confinement: None,
        };
        let error = std::io::Error::from_raw_os_error(errno.raw_os_error());
        let error = explain(&error, &launch, &errors());
        assert_eq!((error.reason, error.retryable), (expected, retryable));
        assert!(error.message.contains("`tested`"), "{error}");
    }

    #[test]
    fn r_sec_01_b15_a_lack_of_processes_files_or_memory_may_be_retried() {
        for errno in [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            check(errno, Reason::SpawnResource, true);
        }
        check(Errno::ACCESS, Reason::SpawnDenied, false);
    }
}

//! `pegboard service`: lets the service manager of the user start Pegboard.

mod files;
mod systemctl;
mod units;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use pegboard::dashboard::own_variables;
use pegboard_background::state_id;
use pegboard_config::{Environment, Paths};
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::Serialize;

use self::files::{FileState, ServiceFile};
use self::systemctl::Systemctl;
use self::units::{LAUNCHD_LABEL, SERVICE_UNIT, SOCKET_UNIT, ServiceDefinition};
use super::{CommandResult, Output};
use crate::background;
use crate::failure::Failure;
use crate::output::Paint;

#[derive(Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the service's files and let the service manager listen for clients
    #[command(
        after_help = "Examples:\n  pegboard service install --dry-run\n  pegboard service install"
    )]
    Install(InstallArgs),
    /// Stop the service and remove the files that `install` wrote
    #[command(after_help = "Example:\n  pegboard service uninstall")]
    Uninstall(ManagerArgs),
    /// Show whether the service is installed and active
    #[command(
        after_help = "Examples:\n  pegboard service status\n  pegboard service status --json\n\n\
        Exit codes: 0 installed and active, 3 otherwise."
    )]
    Status(ManagerArgs),
}

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// Print the files and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    manager: ManagerArgs,
}

#[derive(Args)]
pub(crate) struct ManagerArgs {
    /// The service manager [default: launchd on macOS, else systemd]
    #[arg(long, value_enum, value_name = "NAME")]
    manager: Option<Manager>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Manager {
    Systemd,
    Launchd,
}

/// The document of `--json`; documented in docs/commands.md.
#[derive(Serialize)]
struct Status {
    manager: Manager,
    /// Whether the service manager runs and can be controlled.
    available: bool,
    /// Whether all files are installed and the service manager listens.
    active: bool,
    files: Vec<FileStatus>,
    /// The states of the units as the service manager names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    units: Vec<UnitStatus>,
}

#[derive(Serialize)]
struct FileStatus {
    path: PathBuf,
    state: FileState,
}

#[derive(Serialize)]
struct UnitStatus {
    unit: &'static str,
    state: Option<String>,
}

pub(crate) fn run(command: &ServiceCommand, output: &Output) -> CommandResult {
    let environment = Environment::from_process();
    match command {
        ServiceCommand::Install(args) => install(args, &environment, output),
        ServiceCommand::Uninstall(args) => uninstall(args.manager(), &environment, output),
        ServiceCommand::Status(args) => status(args.manager(), &environment, output),
    }
}

impl ManagerArgs {
    fn manager(&self) -> Manager {
        let usual = match cfg!(target_os = "macos") {
            true => Manager::Launchd,
            false => Manager::Systemd,
        };
        self.manager.unwrap_or(usual)
    }
}

fn install(args: &InstallArgs, environment: &Environment, output: &Output) -> CommandResult {
    let manager = args.manager.manager();
    let files = service_files(manager, environment)?;
    if args.dry_run {
        return preview(&files, output);
    }
    let systemctl = controlled(manager, environment)?;
    for file in &files {
        file.check()?;
    }
    let new: Vec<&ServiceFile> = files
        .iter()
        .filter(|file| file.state() == FileState::Missing)
        .collect();
    let written = write_all(&files).and_then(|()| match &systemctl {
        Some(systemctl) => activate(systemctl),
        None => Ok(()),
    });
    if let Err(error) = written {
        // What could not be activated is not left behind.
        for file in new {
            let _ = file.remove();
        }
        return Err(error.into());
    }
    for file in &files {
        output.line(&format!("wrote {}", file.path.display()))?;
    }
    match manager {
        Manager::Systemd => {
            output.line(&format!(
                "{SOCKET_UNIT} is active: systemd starts Pegboard for the first client"
            ))?;
            let state = Paths::from_env(environment).state_dir;
            if let Ok(running) = background::find(&state) {
                output.note(&format!(
                    "Process {} continues to serve its clients. Move them to the service with `pegboard restart`.",
                    running.pid
                ));
            }
        }
        Manager::Launchd => output.note(&format!(
            "Start it now with `launchctl bootstrap gui/$(id -u) {}`; from the next login on it starts by itself.",
            files.iter().map(|file| file.path.display().to_string()).collect::<String>()
        )),
    }
    Ok(())
}

fn preview(files: &[ServiceFile], output: &Output) -> CommandResult {
    if output.json {
        let files: Vec<_> = files
            .iter()
            .map(|file| {
                serde_json::json!({"path": file.path, "state": file.state(), "text": file.text})
            })
            .collect();
        return output.document(&serde_json::json!({ "files": files }));
    }
    for file in files {
        let note = match file.state() {
            FileState::Missing => "new",
            FileState::Installed => "unchanged",
            FileState::Outdated => "replaced",
            FileState::Changed => "changed by you: not replaced",
            FileState::Foreign => "not written by Pegboard: not replaced",
        };
        let title = format!("{} ({note})", file.path.display());
        output.line(&output.paint(Paint::Strong, &title))?;
        output.line(&file.text)?;
    }
    output.note("Nothing was written. Leave out `--dry-run` to install.");
    Ok(())
}

fn write_all(files: &[ServiceFile]) -> ToolResult<()> {
    files.iter().try_for_each(ServiceFile::write)
}

fn activate(systemctl: &Systemctl) -> ToolResult<()> {
    systemctl.run(&["daemon-reload"])?;
    systemctl.run(&["enable", "--now", SOCKET_UNIT])
}

fn uninstall(manager: Manager, environment: &Environment, output: &Output) -> CommandResult {
    let files = service_files(manager, environment)?;
    let installed: Vec<&ServiceFile> = files
        .iter()
        .filter(|file| file.state() != FileState::Missing)
        .collect();
    if installed.is_empty() {
        output.line("the service is not installed")?;
        return Ok(());
    }
    for file in &installed {
        file.check()?;
    }
    let systemctl = match manager {
        Manager::Systemd => Systemctl::find(environment).ok(),
        Manager::Launchd => None,
    };
    if let Some(systemctl) = &systemctl {
        // Units that systemd has not read yet could not be stopped.
        systemctl.run(&["daemon-reload"])?;
        let has = |unit: &str| installed.iter().any(|file| file.path.ends_with(unit));
        if has(SOCKET_UNIT) {
            systemctl.run(&["disable", "--now", SOCKET_UNIT])?;
        }
        if has(SERVICE_UNIT) {
            systemctl.run(&["stop", SERVICE_UNIT])?;
        }
    }
    for file in &installed {
        file.remove()?;
        output.line(&format!("removed {}", file.path.display()))?;
    }
    match (manager, systemctl) {
        (Manager::Systemd, Some(systemctl)) => systemctl.run(&["daemon-reload"])?,
        (Manager::Systemd, None) => remove_link(&files, output)?,
        (Manager::Launchd, _) => output.note(&format!(
            "A running one continues until the next logout, or until `launchctl bootout gui/$(id -u)/{LAUNCHD_LABEL}`."
        )),
    }
    Ok(())
}

/// Removes the link that `systemctl enable` made, if no systemd runs that could do it.
fn remove_link(files: &[ServiceFile], output: &Output) -> CommandResult {
    for file in files {
        let (Some(folder), Some(name)) = (file.path.parent(), file.path.file_name()) else {
            continue;
        };
        let link = folder.join("sockets.target.wants").join(name);
        if std::fs::read_link(&link).is_ok_and(|target| target == file.path)
            && std::fs::remove_file(&link).is_ok()
        {
            output.line(&format!("removed {}", link.display()))?;
        }
    }
    Ok(())
}

fn status(manager: Manager, environment: &Environment, output: &Output) -> CommandResult {
    let files = service_files(manager, environment)?;
    let systemctl = match manager {
        Manager::Systemd => Systemctl::find(environment),
        Manager::Launchd => Err(ToolError::new(
            Reason::ServiceManagerMissing,
            "the state of launchd is not read",
        )),
    };
    let units = match &systemctl {
        Ok(systemctl) => [SOCKET_UNIT, SERVICE_UNIT]
            .map(|unit| UnitStatus {
                unit,
                state: systemctl.state(unit),
            })
            .into(),
        Err(_) => Vec::new(),
    };
    let is_installed = files
        .iter()
        .all(|file| !matches!(file.state(), FileState::Missing | FileState::Foreign));
    let listens = units.iter().any(|unit| {
        unit.unit == SOCKET_UNIT && unit.state.as_deref().is_some_and(|state| state == "active")
    });
    let status = Status {
        manager,
        available: systemctl.is_ok(),
        active: is_installed && (listens || manager == Manager::Launchd),
        files: files
            .iter()
            .map(|file| FileStatus {
                path: file.path.clone(),
                state: file.state(),
            })
            .collect(),
        units,
    };
    match output.json {
        true => output.document(&status)?,
        false => {
            print_status(&status, output)?;
            if let Err(error) = &systemctl {
                output.note(&error.message);
            }
        }
    }
    match status.active {
        true => Ok(()),
        false => Err(Failure::shown(Reason::NotRunning.exit_code())),
    }
}

fn print_status(status: &Status, output: &Output) -> CommandResult {
    for file in &status.files {
        let (paint, word) = match file.state {
            FileState::Missing => (Paint::Dim, "missing"),
            FileState::Installed => (Paint::Good, "installed"),
            FileState::Outdated => (Paint::Warn, "outdated"),
            FileState::Changed => (Paint::Warn, "changed"),
            FileState::Foreign => (Paint::Bad, "not written by Pegboard"),
        };
        let word = output.paint(paint, word);
        output.line(&format!("{}: {word}", file.path.display()))?;
    }
    for unit in &status.units {
        let state = unit.state.as_deref().unwrap_or("unknown");
        output.line(&format!("{}: {state}", unit.unit))?;
    }
    if status
        .files
        .iter()
        .any(|file| file.state == FileState::Outdated)
    {
        output.note("An outdated file is replaced by `pegboard service install`.");
    }
    Ok(())
}

/// Returns the service manager that activates the files; `None` for launchd, which reads them at the next login.
fn controlled(manager: Manager, environment: &Environment) -> ToolResult<Option<Systemctl>> {
    match manager {
        Manager::Systemd => Systemctl::find(environment).map(Some),
        Manager::Launchd if cfg!(target_os = "macos") => Ok(None),
        Manager::Launchd => Err(ToolError::new(
            Reason::ServiceManagerMissing,
            "launchd exists on macOS only",
        )
        .with_remedy("Leave out `--manager`, or show the file with `--dry-run`.")),
    }
}

fn service_files(manager: Manager, environment: &Environment) -> ToolResult<Vec<ServiceFile>> {
    let paths = Paths::from_env(environment);
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("the path of this program is unknown: {error}");
        ToolError::new(Reason::Internal, message)
    })?;
    let definition = ServiceDefinition {
        program,
        variables: own_variables(environment, &paths),
        state_id: state_id(&paths.state_dir),
        logs: paths.state_dir.join("logs"),
    };
    match manager {
        Manager::Systemd => definition.systemd(&systemd_folder(environment)),
        Manager::Launchd => definition.launchd(&environment.home.join("Library/LaunchAgents")),
    }
}

/// Returns the folder in which systemd looks for the units of the user.
fn systemd_folder(environment: &Environment) -> PathBuf {
    let config = environment.vars.get("XDG_CONFIG_HOME").map(Path::new);
    let config = config.filter(|folder| folder.is_absolute());
    let config = config.map_or_else(|| environment.home.join(".config"), Path::to_owned);
    config.join("systemd/user")
}

//! A temporary directory with a configuration and a state.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::tool_lists::{Size, write_lists};

/// The profile that lists every tool.
pub(crate) const DIRECT: &str = "direct";

pub(crate) struct Setup {
    pub(crate) folder: TempDir,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().expect("a temporary folder"),
        }
    }

    /// A setup with discovered servers, which no longer respond.
    pub(crate) fn known(servers: usize, tools: usize) -> Self {
        let setup = Self::new();
        let lists = setup.generated_lists(servers, tools, Size::One);
        let stop = setup.folder.path().join("stop");
        let stop_word = stop.display().to_string();
        setup.configure_mocks(&lists, &["--hang-if", &stop_word]);
        setup.refresh();
        std::fs::write(&stop, "").expect("the file that silences the servers");
        setup
    }

    /// Configures replaying servers, one per list.
    pub(crate) fn configure(&self, lists: &[PathBuf], delay_ms: u64) {
        let delay = delay_ms.to_string();
        let options = ["--delay-ms", delay.as_str()];
        self.write_config(&servers("pegboard-replay", lists, &options));
    }

    /// Configures mock servers, one per list.
    pub(crate) fn configure_mocks(&self, lists: &[PathBuf], options: &[&str]) {
        self.write_config(&servers("mock-server", lists, options));
    }

    /// Writes a configuration with an additional profile that lists every tool.
    pub(crate) fn write_config(&self, text: &str) {
        let text = format!("{text}\n[profiles.{DIRECT}]\nmode = \"direct\"\n");
        std::fs::create_dir_all(self.folder.path().join("config"))
            .expect("a folder for the config");
        std::fs::write(self.folder.path().join("config/config.toml"), text).expect("a config file");
    }

    pub(crate) fn generated_lists(&self, servers: usize, tools: usize, size: Size) -> Vec<PathBuf> {
        write_lists(self.folder.path(), servers, tools, size)
    }

    /// Refreshes all servers.
    pub(crate) fn refresh(&self) {
        let mut command = self.pegboard();
        command.args(["refresh", "--all"]).stdout(Stdio::null());
        let refreshed = command.status();
        assert!(
            refreshed.is_ok_and(|status| status.success()),
            "the first refresh failed"
        );
    }

    /// Deletes the state.
    pub(crate) fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path().join("state"));
    }

    pub(crate) fn pegboard(&self) -> Command {
        let mut command = Command::new(program("pegboard"));
        command
            .env("PEGBOARD_CONFIG_DIR", self.folder.path().join("config"))
            .env("PEGBOARD_STATE_DIR", self.folder.path().join("state"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The gateway over HTTP on a free port.
    pub(crate) fn serve(&self) -> Command {
        let mut command = self.pegboard();
        command.args(["serve", "--port", "0", "--no-auth"]);
        command
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path
    }
}

fn servers(name: &str, lists: &[PathBuf], options: &[&str]) -> String {
    let mut text = String::new();
    for (index, list) in lists.iter().enumerate() {
        let list = list.display().to_string();
        let words: Vec<&str> = [list.as_str()].iter().chain(options).copied().collect();
        text += &format!(
            "[servers.server_{index}]\ncommand = {:?}\nargs = {words:?}\n",
            program(name)
        );
    }
    text
}

/// A program in the same directory as this one.
pub(crate) fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("this program's path");
    here.parent().unwrap_or(Path::new(".")).join(name)
}

/// The JSON files of a directory that contain tool lists.
pub(crate) fn recorded_lists(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of lists");
    let mut lists: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .filter(|path| {
            !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('_'))
        })
        .collect();
    lists.sort();
    lists
        .iter()
        .map(|list| list.canonicalize().expect("a list's path"))
        .collect()
}

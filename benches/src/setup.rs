//! A folder with a configuration and a state of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Setup {
    pub(crate) folder: TempDir,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().expect("a temporary folder"),
        }
    }

    /// Writes a configuration of servers, each a replay of one list.
    pub(crate) fn configure(&self, lists: &[PathBuf], delay_ms: u64) {
        let mut text = String::new();
        let replay = program("pegboard-replay");
        for (index, list) in lists.iter().enumerate() {
            text += &format!(
                "[servers.server_{index}]\ncommand = {:?}\nargs = [{:?}, \"--delay-ms\", \"{delay_ms}\"]\n",
                replay, list
            );
        }
        std::fs::create_dir_all(self.folder.path().join("config"))
            .expect("a folder for the config");
        std::fs::write(self.folder.path().join("config/config.toml"), text).expect("a config file");
    }

    /// Lists of made-up tools, about as large as real ones: 2 kB a tool.
    pub(crate) fn generated_lists(&self, servers: usize, tools: usize) -> Vec<PathBuf> {
        let path = |server: usize| self.folder.path().join(format!("list_{server}.json"));
        for server in 0..servers {
            let tools: Vec<Value> = (0..tools).map(|tool| tool_json(server, tool)).collect();
            let text = json!({ "tools": tools }).to_string();
            std::fs::write(path(server), text).expect("a list");
        }
        (0..servers).map(path).collect()
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
}

fn tool_json(server: usize, tool: usize) -> Value {
    let filler = "Works on the records of the project and answers with what it found. ".repeat(12);
    let properties: serde_json::Map<String, Value> = (0..8)
        .map(|index| {
            let property = json!({"type": "string", "description": format!("Part {index} of the request; left out, everything counts.")});
            (format!("part_{index}"), property)
        })
        .collect();
    json!({
        "name": format!("work_on_record_{tool}"),
        "description": format!("Tool {tool} of server {server}. {filler}"),
        "inputSchema": {"type": "object", "properties": properties, "required": ["part_0"]},
    })
}

/// A program that was built beside this one.
pub(crate) fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("this program's path");
    here.parent().unwrap_or(Path::new(".")).join(name)
}

/// The JSON files of a folder that hold a list of tools.
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

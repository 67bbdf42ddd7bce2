//! Reads labelled rows and real tool lists.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) label: String,
    pub(crate) definition: String,
    pub(crate) peers: Vec<RealTool>,
    /// Tools of the same server.
    pub(crate) siblings: Vec<String>,
    pub(crate) is_held_out: bool,
}

pub(crate) struct RealTool {
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) definition: String,
}

pub(crate) struct RealServer {
    pub(crate) name: String,
    pub(crate) tools: Vec<RealTool>,
    pub(crate) instructions: Option<String>,
}

#[derive(Deserialize)]
struct RawRow {
    name: String,
    description: String,
    label: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<Value>,
    #[serde(default)]
    peers: Vec<RawPeer>,
}

#[derive(Deserialize)]
struct RawPeer {
    server: String,
    tool: Value,
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    Ok(paths)
}

pub(crate) fn read_rows(folder: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for path in files(folder, "jsonl")? {
        for line in fs::read_to_string(&path)?
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            let raw: RawRow = serde_json::from_str(line)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            rows.push(row(raw));
        }
    }
    Ok(rows)
}

fn row(raw: RawRow) -> Row {
    let definition = raw
        .tool
        .unwrap_or_else(|| json!({"name": raw.name, "description": raw.description}));
    let (own, others): (Vec<RawPeer>, Vec<RawPeer>) = raw
        .peers
        .into_iter()
        .partition(|peer| raw.server.as_deref() == Some(peer.server.as_str()));
    let siblings = own.iter().map(|peer| tool("", &peer.tool).name).collect();
    Row {
        is_held_out: crc32(format!("{}\n{}", raw.name, raw.description).as_bytes())
            .is_multiple_of(3),
        definition: definition.to_string(),
        peers: others
            .iter()
            .map(|peer| tool(&peer.server, &peer.tool))
            .collect(),
        siblings,
        name: raw.name,
        description: raw.description,
        label: raw.label,
    }
}

fn tool(server: &str, definition: &Value) -> RealTool {
    let text = |key: &str| {
        definition
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    RealTool {
        server: server.to_owned(),
        name: text("name"),
        description: text("description"),
        definition: definition.to_string(),
    }
}

pub(crate) fn read_real(folder: &Path) -> Result<Vec<RealServer>, Box<dyn Error>> {
    let mut servers = Vec::new();
    for path in files(folder, "json")? {
        let list: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let Some(tools) = list.get("tools").and_then(Value::as_array) else {
            continue;
        };
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        servers.push(RealServer {
            tools: tools
                .iter()
                .map(|definition| tool(&name, definition))
                .collect(),
            instructions: list
                .get("instructions")
                .and_then(Value::as_str)
                .map(str::to_owned),
            name,
        });
    }
    Ok(servers)
}

/// The checksum that chooses the held-out rows; any stable one would do.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let mask = (crc & 1).wrapping_neg();
            crc = (crc >> 1) ^ (0xedb8_8320 & mask);
        }
    }
    !crc
}

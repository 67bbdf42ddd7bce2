//! A catalog from recorded tool lists: one JSON file with `tools` per server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_config::{Settings, code_server};
use pegboard_guard::admit;
use pegboard_model::{
    DiscoveryStatus, HashKey, Limits, ServerName, ServerRecord, ServerSpec, Template, Timestamp,
    Transport,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::Failure;
use crate::format::count;

/// The largest file that is read as a list.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Deserialize)]
struct Recorded {
    server: Option<String>,
    tools: Vec<Value>,
}

/// Reads the catalog of a directory. Returns it with a note for each file or tool that was skipped. Files whose names
/// start with `_` are ignored.
pub(super) fn read(folder: &Path) -> Result<(Catalog, Vec<String>), Failure> {
    let mut entries: BTreeMap<ServerName, ServerEntry> = BTreeMap::new();
    let mut notes = Vec::new();
    for file in files(folder)? {
        let recorded = match one(&file) {
            Ok(recorded) => recorded,
            Err(why) => {
                notes.push(format!("note: skipped {}: {why}", file.display()));
                continue;
            }
        };
        let stem = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let wanted = recorded.server.or(stem).unwrap_or_default();
        let Some(name) = free_name(&wanted, &entries) else {
            notes.push(format!(
                "note: skipped {}: its name is not a valid server name",
                file.display()
            ));
            continue;
        };
        // Files may be pretty-printed; servers send compact JSON.
        let tools: Vec<Box<RawValue>> = recorded
            .tools
            .iter()
            .filter_map(|tool| to_raw_value(tool).ok())
            .collect();
        let admission = admit(&name, false, &tools, &Limits::default());
        let left_out = recorded.tools.len() - admission.tools.len();
        if left_out > 0 {
            notes.push(format!(
                "note: skipped {} of {name}",
                count(left_out, "tool")
            ));
        }
        let spec = spec(&name);
        let record = ServerRecord {
            status: DiscoveryStatus::Success,
            discovered_at: Some(Timestamp(0)),
            tools: admission.tools.into(),
            ..ServerRecord::undiscovered(name.clone(), spec.hash)
        };
        entries.insert(name, ServerEntry::new(Arc::new(spec), Arc::new(record)));
    }
    if entries.is_empty() {
        let message = format!("`{}` contains no recorded tool list", folder.display());
        let remedy = "Give a directory of JSON files, one per server, each with an array `tools`.";
        return Err(Failure::usage(message, remedy));
    }
    Ok((entries.into_values().collect(), notes))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read `{}`: {error}", folder.display());
        Failure::usage(message, "Give a directory of recorded tool lists.")
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let is_other = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('_'));
        if is_json && !is_other {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn one(file: &Path) -> Result<Recorded, String> {
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("the file has {size} bytes"));
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Returns an unused server name for the name of a file, with a number appended if it is taken.
fn free_name(wanted: &str, taken: &BTreeMap<ServerName, ServerEntry>) -> Option<ServerName> {
    const ROOM_FOR_NUMBER: usize = 20;
    let corrected = ServerName::corrected(wanted)?;
    let first = ServerName::parse(&corrected).ok()?;
    if !taken.contains_key(&first) {
        return Some(first);
    }
    let start: String = corrected.chars().take(ROOM_FOR_NUMBER).collect();
    let start = start.trim_end_matches('_');
    let numbered =
        (2..1000).filter_map(|number| ServerName::parse(&format!("{start}_{number}")).ok());
    let mut free = numbered.filter(|name| !taken.contains_key(name));
    free.next()
}

/// Returns a definition that is never started.
fn spec(name: &ServerName) -> ServerSpec {
    let transport = Transport::Stdio {
        command: Template::literal("recorded"),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    code_server(
        name.clone(),
        transport,
        &Settings::default(),
        &HashKey([0; 32]),
    )
}

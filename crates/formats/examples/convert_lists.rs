//! Converts tool lists to all formats and counts the losses.
//!
//! ```text
//! cargo run -p pegboard-formats --example convert_lists -- DIR [--out DIR]
//! ```
//!
//! DIR contains one JSON file per server, each an object with `tools` like a result of `tools/list`. With `--out` the
//! document of each server and format is written to `FORMAT/SERVER.json` and the losses to `FORMAT/SERVER.losses.json`.
//! Exits with 1 if a rule of a provider is violated.

#![allow(clippy::print_stdout, reason = "this program prints a table")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pegboard_formats::{Format, LossKind, SourceTool, definitions};
use pegboard_model::{ExposedName, ServerName};
use pegboard_testkit::provider_rules::check_tools;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct ToolList {
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    description: Option<String>,
    input_schema: Option<Box<RawValue>>,
}

#[derive(Default)]
struct Count {
    losses: usize,
    tools: BTreeSet<String>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut folder, mut out) = (None, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = arguments.next().map(PathBuf::from),
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    let folder = folder.ok_or("usage: convert_lists DIR [--out DIR]")?;
    let mut counts: BTreeMap<(LossKind, Format), Count> = BTreeMap::new();
    let mut untouched: BTreeMap<Format, usize> = BTreeMap::new();
    let (mut tools, mut broken) = (0_usize, 0_usize);
    for file in files(&folder)? {
        let stem = file
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or("server")
            .to_owned();
        let list: ToolList = serde_json::from_str(&fs::read_to_string(&file)?)?;
        let server = server_name(&stem)?;
        let names: Vec<String> = list
            .tools
            .iter()
            .map(|t| ExposedName::of(&server, &t.name).to_string())
            .collect();
        let sources: Vec<SourceTool<'_>> = list
            .tools
            .iter()
            .zip(&names)
            .map(|(tool, name)| SourceTool {
                name,
                server: Some(server.as_str()),
                description: tool.description.as_deref(),
                input_schema: tool.input_schema.as_ref().map_or("null", |s| s.get()),
                ..SourceTool::default()
            })
            .collect();
        tools += sources.len();
        for format in Format::all() {
            let rendered = definitions(&sources, format);
            for violation in check_tools(&rendered.document, format) {
                broken += 1;
                println!("{format} {stem} {}: {}", violation.path, violation.rule);
            }
            *untouched.entry(format).or_default() += sources.len() - rendered.losses.len();
            for tool in &rendered.losses {
                for loss in &tool.losses {
                    let count = counts.entry((loss.kind, format)).or_default();
                    count.losses += 1;
                    count.tools.insert(tool.name.clone());
                }
            }
            if let Some(out) = &out {
                let folder = out.join(format.name());
                fs::create_dir_all(&folder)?;
                let text = serde_json::to_string_pretty(&rendered.document)?;
                fs::write(folder.join(format!("{stem}.json")), text)?;
                let text = serde_json::to_string_pretty(&rendered.losses)?;
                fs::write(folder.join(format!("{stem}.losses.json")), text)?;
            }
        }
    }
    print_table(tools, &counts, &untouched);
    println!(
        "\n{tools} tools in {} formats; rules broken: {broken}",
        Format::all().len()
    );
    Ok(ExitCode::from(u8::from(broken > 0)))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| {
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        name.ends_with(".json") && !name.starts_with('_')
    });
    files.sort();
    Ok(files)
}

fn server_name(stem: &str) -> Result<ServerName, Box<dyn Error>> {
    match ServerName::parse(stem) {
        Ok(name) => Ok(name),
        Err(bad) => {
            let corrected = bad.corrected.ok_or("a file name without letters")?;
            ServerName::parse(&corrected).map_err(|_| "no server name can be made".into())
        }
    }
}

fn print_table(
    tools: usize,
    counts: &BTreeMap<(LossKind, Format), Count>,
    untouched: &BTreeMap<Format, usize>,
) {
    let formats = Format::all();
    let head: Vec<String> = formats.iter().map(ToString::to_string).collect();
    println!("| losses (tools) | effect | {} |", head.join(" | "));
    println!("|---|---|{}", "---:|".repeat(formats.len()));
    for kind in LossKind::ALL {
        let cells: Vec<String> = formats
            .iter()
            .map(|format| match counts.get(&(*kind, *format)) {
                Some(count) => format!("{} ({})", count.losses, count.tools.len()),
                None => "–".to_owned(),
            })
            .collect();
        if cells.iter().any(|cell| cell != "–") {
            let effect = serde_json::to_value(kind.effect()).unwrap_or_default();
            let effect = effect.as_str().unwrap_or_default();
            println!("| `{kind}` | {effect} | {} |", cells.join(" | "));
        }
    }
    let cells: Vec<String> = formats
        .iter()
        .map(|f| untouched.get(f).unwrap_or(&0).to_string())
        .collect();
    println!("| **nothing lost**, of {tools} | | {} |", cells.join(" | "));
}

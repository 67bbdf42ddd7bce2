//! `scan-batch --poisoned FOLDER --real FOLDER`: measures the scanner on labelled and on real definitions.
//!
//! The poisoned folder has `*.jsonl` files with one object per line: `name`, `description`, `label`, and optionally
//! `server`, `tool` (a whole definition) and `peers` (`server`, `tool`). The real folder has one JSON file per server
//! with `tools`, and optionally `instructions`. A third of the labelled rows, chosen by a checksum, is the held-out
//! part; its rate is printed separately.

mod data;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use pegboard_guard::{PeerTool, Peers, ScanContext, scan_definition, scan_text};
use pegboard_model::{Finding, Severity};

use crate::data::{RealServer, Row, read_real, read_rows};

#[derive(Parser)]
#[command(about = "Measure the scanner on labelled and on real definitions")]
struct Args {
    /// Folder with labelled rows (*.jsonl)
    #[arg(long, value_name = "FOLDER")]
    poisoned: Option<PathBuf>,
    /// Folder with the tool lists of real servers (*.json)
    #[arg(long, value_name = "FOLDER")]
    real: Option<PathBuf>,
    /// Also list the missed poisoned rows of the part that is not held out
    #[arg(long)]
    missed: bool,
    /// Also list the missed rows of the held-out part; rules must not be written with it
    #[arg(long)]
    missed_held_out: bool,
    /// Compare every real server with all the others, as if one user had configured all of them
    #[arg(long)]
    together: bool,
    /// Also list notes, which hold nothing back
    #[arg(long)]
    notes: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    if let Some(folder) = &args.poisoned {
        labelled(args, &read_rows(folder)?, &mut out)?;
    }
    if let Some(folder) = &args.real {
        real(args, &read_real(folder)?, &mut out)?;
    }
    Ok(())
}

fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

fn is_flagged(findings: &[Finding]) -> bool {
    worst(findings) >= Some(Severity::Flag)
}

#[derive(Default)]
struct Count {
    rows: usize,
    flagged: usize,
    held_out: usize,
    held_out_flagged: usize,
}

fn labelled(args: &Args, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut listed = Vec::new();
    for row in rows {
        let peers = row.peers.iter().map(|peer| PeerTool {
            server: peer.server.clone(),
            name: peer.name.clone(),
            description: peer.description.clone(),
        });
        let own = row.siblings.iter().map(String::as_str);
        let context = ScanContext::new(own, Peers::new(peers));
        let findings = scan_definition(&row.definition, &context);
        let count = counts.entry(&row.label).or_default();
        let flagged = usize::from(is_flagged(&findings));
        if row.is_held_out {
            count.held_out += 1;
            count.held_out_flagged += flagged;
        } else {
            count.rows += 1;
            count.flagged += flagged;
        }
        let is_attack = row.label == "poisoned";
        let may_list = if row.is_held_out {
            args.missed_held_out
        } else {
            args.missed
        };
        if may_list && is_attack && flagged == 0 {
            let description: String = row.description.chars().take(300).collect();
            listed.push(format!("missed {}: {description:?} {findings:?}", row.name));
        }
        let is_negative = matches!(row.label.as_str(), "hard_negative" | "benign");
        if !row.is_held_out && is_negative && flagged == 1 {
            listed.push(format!("false alarm {}: {}", row.name, reasons(&findings)));
        }
    }
    writeln!(
        out,
        "{:<36} {:>6} {:>9} {:>9} {:>9}",
        "label", "rows", "flagged", "held out", "flagged"
    )?;
    for (label, count) in &counts {
        let rate = |flagged: usize, rows: usize| format!("{:.1} %", 100.0 * ratio(flagged, rows));
        let (known, held) = (
            rate(count.flagged, count.rows),
            rate(count.held_out_flagged, count.held_out),
        );
        writeln!(
            out,
            "{label:<36} {:>6} {known:>9} {:>9} {held:>9}",
            count.rows, count.held_out
        )?;
    }
    for line in listed {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of rows are small")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn reasons(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        format!(
            "{} ({}) at {}: {}",
            finding.rule,
            finding.severity.as_str(),
            finding.place,
            finding.excerpt
        )
    };
    findings.iter().map(line).collect::<Vec<_>>().join("; ")
}

fn real(args: &Args, servers: &[RealServer], out: &mut impl Write) -> io::Result<()> {
    let (mut definitions, mut flagged, mut blocked) = (0, 0, 0);
    let mut took = Vec::new();
    for server in servers {
        let others = servers
            .iter()
            .filter(|other| args.together && other.name != server.name);
        let peers = others.flat_map(|other| {
            other.tools.iter().map(|tool| PeerTool {
                server: other.name.clone(),
                name: tool.name.clone(),
                description: tool.description.clone(),
            })
        });
        let own: Vec<(&str, &str)> = server
            .tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.description.as_str()))
            .collect();
        let peers = Peers::new(peers).without_copies(&own, server.tools.len());
        let context = ScanContext::new(own.iter().map(|(name, _)| *name), peers);
        let mut check = |name: &str, findings: &[Finding]| {
            definitions += 1;
            flagged += usize::from(is_flagged(findings));
            blocked += usize::from(worst(findings) == Some(Severity::Block));
            if is_flagged(findings) || (args.notes && !findings.is_empty()) {
                return writeln!(out, "{}/{name}: {}", server.name, reasons(findings));
            }
            Ok(())
        };
        for tool in &server.tools {
            let started = Instant::now();
            let findings = scan_definition(&tool.definition, &context);
            took.push(started.elapsed());
            check(&tool.name, &findings)?;
        }
        if let Some(instructions) = &server.instructions {
            check(
                "(instructions)",
                &scan_text("instructions", instructions, &context),
            )?;
        }
    }
    took.sort();
    let at = |share: usize| {
        took.get(took.len() * share / 100)
            .copied()
            .unwrap_or(Duration::ZERO)
    };
    writeln!(
        out,
        "{definitions} real definitions: {flagged} flagged ({:.2} %), {blocked} blocked; time per tool: median {:?}, 95 % {:?}, 99 % {:?}",
        100.0 * ratio(flagged, definitions),
        at(50),
        at(95),
        at(99),
    )
}

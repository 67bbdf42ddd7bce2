//! `pegboard config`: prints and checks the configuration.

use clap::Subcommand;
use pegboard::Configuration;
use pegboard_config::{EffectiveValue, Problem, Severity, SourceFile};
use pegboard_store::SqliteStore;
use serde::Serialize;

use super::{CommandResult, Global, Output, builder, server_name};
use crate::failure::Failure;
use crate::format::count;
use crate::output::Paint;
use crate::overrides::{has_overrides, override_problems};

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the paths of the config files and the state directory
    Path,
    /// Show every value and its source
    Explain {
        /// Only this server
        server: Option<String>,
    },
    /// Read the configuration and report every problem
    Check,
    /// Print the JSON Schema of the config file
    Schema,
}

#[derive(Serialize)]
struct PathDocument<'a> {
    config: std::path::PathBuf,
    state: &'a std::path::Path,
    project: Option<&'a std::path::Path>,
    files: &'a [SourceFile],
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    servers: usize,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct ExplainDocument<'a> {
    values: Vec<&'a EffectiveValue>,
}

pub(crate) fn run(command: &ConfigCommand, global: &Global, output: &Output) -> CommandResult {
    if let ConfigCommand::Schema = command {
        return output.document(&pegboard_config::schema());
    }
    let configuration = builder(global).load()?;
    match command {
        ConfigCommand::Path => path(&configuration, output),
        ConfigCommand::Explain { server } => explain(&configuration, server.as_deref(), output),
        ConfigCommand::Check => {
            let mut configuration = configuration;
            let found = of_known_tools(&configuration, output);
            configuration.loaded.problems.extend(found);
            check(&configuration, global.strict, output)
        }
        ConfigCommand::Schema => Ok(()),
    }
}

fn path(configuration: &Configuration, output: &Output) -> CommandResult {
    let loaded = &configuration.loaded;
    if output.json {
        return output.document(&PathDocument {
            config: configuration.paths.user_file(),
            state: &configuration.paths.state_dir,
            project: loaded.project.as_deref(),
            files: &loaded.files,
        });
    }
    for file in &loaded.files {
        let there = if file.exists { "" } else { "  (missing)" };
        let layer = format!("{:?}", file.layer).to_lowercase();
        output.line(&format!("{layer:<8} {}{there}", file.path.display()))?;
    }
    output.line(&format!(
        "{:<8} {}",
        "state",
        configuration.paths.state_dir.display()
    ))
}

fn explain(configuration: &Configuration, server: Option<&str>, output: &Output) -> CommandResult {
    let prefix = server.map(|server| format!("servers.{server}."));
    let wanted = |value: &&EffectiveValue| {
        prefix
            .as_ref()
            .is_none_or(|p| value.key.starts_with(p.as_str()))
    };
    let values: Vec<_> = configuration.loaded.values.iter().filter(wanted).collect();
    if let Some(server) = server.filter(|_| values.is_empty()) {
        server_name(server, configuration)?;
    }
    if output.json {
        return output.document(&ExplainDocument { values });
    }
    let rows = values.into_iter().map(|value| {
        let place = match (&value.file, value.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            (Some(file), None) => file.display().to_string(),
            _ => String::new(),
        };
        let layer = format!("{:?}", value.layer).to_lowercase();
        vec![value.key.clone(), value.value.clone(), layer, place]
    });
    output.line(&output.table(&["KEY", "VALUE", "LAYER", "LOCATION"], rows.collect(), None))
}

/// Returns the problems of tool overrides, checked against the stored tool lists. Starts no server.
fn of_known_tools(configuration: &Configuration, output: &Output) -> Vec<Problem> {
    let loaded = &configuration.loaded;
    if !has_overrides(loaded) {
        return Vec::new();
    }
    let servers = loaded.servers.values();
    let wanted = servers.map(|spec| (&spec.name, &spec.hash));
    let opened = SqliteStore::open_in_background(&configuration.state);
    match opened.and_then(|(store, _)| store.load_matching(wanted)) {
        Ok(kept) => {
            let records = kept.records.iter();
            let known = records.map(|record| (&record.server, record)).collect();
            override_problems(loaded, &known)
        }
        Err(error) => {
            output.note(&format!("tool overrides were not checked: {error}"));
            Vec::new()
        }
    }
}

fn check(configuration: &Configuration, strict: bool, output: &Output) -> CommandResult {
    let loaded = &configuration.loaded;
    if output.json {
        output.document(&CheckDocument {
            servers: loaded.servers.len(),
            problems: &loaded.problems,
        })?;
    } else {
        for problem in &loaded.problems {
            let paint = match problem.severity {
                Severity::Error => Paint::Bad,
                Severity::Warning => Paint::Warn,
                Severity::Advice => Paint::Dim,
            };
            output.line(&output.paint(paint, &problem.to_string()))?;
        }
        let servers = count(loaded.servers.len(), "server");
        output.note(&format!(
            "{servers} usable, {}",
            count(loaded.problems.len(), "problem")
        ));
    }
    let warned = loaded
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::Warning);
    if loaded.has_errors() || (strict && warned) {
        Err(Failure::shown(2))
    } else {
        Ok(())
    }
}

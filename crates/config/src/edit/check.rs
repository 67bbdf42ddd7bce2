//! Verifies that an edit changed only what it should.

use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{Layer, Limits, Reason};
use serde_json::{Map, Value};

use super::plan::Step;
use crate::environment::Environment;
use crate::node::Node;
use crate::problem::{Problem, Severity, shown_path};
use crate::reader::TableReader;
use crate::server::read_server;
use crate::settings::Settings;
use crate::template::Resolver;
use crate::text::SourceText;

/// Compares the edited file with the old one after the same change to its values. This detects any unintended effect
/// of editing the text.
pub(super) fn check_only_intended_change(
    old: &SourceText,
    new: &SourceText,
    step: &Step,
) -> Result<(), Problem> {
    let json = |source: &SourceText| match source.tree().map(Node::to_json) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let mut expected = json(old);
    let location = step.location();
    let servers = expected
        .entry(location.root.clone())
        .or_insert_with(|| Value::Object(Map::new()));
    if servers.is_null() {
        *servers = Value::Object(Map::new());
    }
    if let Some(servers) = servers.as_object_mut() {
        match step {
            Step::Put { fields, .. } => {
                servers.insert(
                    location.key.clone(),
                    Value::Object(fields.iter().cloned().collect()),
                );
            }
            Step::Remove { .. } => drop(servers.remove(&location.key)),
            Step::Set { path, value, .. } => {
                if let Some(server) = servers.get_mut(&location.key) {
                    set_json(server, path, value.as_ref());
                }
            }
            Step::Entry {
                value: Some(value), ..
            } => {
                servers.insert(location.key.clone(), value.clone());
            }
            Step::Entry { value: None, .. } => drop(servers.remove(&location.key)),
        }
    }
    let mut found = json(new);
    for map in [&mut expected, &mut found] {
        map.retain(|key, value| {
            let root = matches!(key.as_str(), "servers" | "mcpServers" | "policies");
            !(root && (value.is_null() || value.as_object().is_some_and(Map::is_empty)))
        });
    }
    if expected == found {
        Ok(())
    } else {
        Err(manual_edit_problem(old, step))
    }
}

/// Sets or removes a nested value.
pub(super) fn set_json(target: &mut Value, path: &[String], value: Option<&Value>) {
    let Some((first, rest)) = path.split_first() else {
        if let Some(value) = value {
            *target = value.clone();
        }
        return;
    };
    let Some(map) = target.as_object_mut() else {
        return;
    };
    match (rest.is_empty(), value) {
        (true, None) => drop(map.remove(first)),
        (false, None) if !map.contains_key(first) => {}
        _ => set_json(
            map.entry(first.clone())
                .or_insert_with(|| Value::Object(Map::new())),
            rest,
            value,
        ),
    }
}

/// Reads the server as loading would. Missing variables do not prevent writing.
pub(super) fn check_edited_server(source: &SourceText, step: &Step) -> Result<(), Problem> {
    if matches!(step, Step::Entry { .. }) {
        return Ok(());
    }
    let Some(entry) = step.location().entry(source) else {
        return Ok(());
    };
    let (env, limits) = (Environment::default(), Limits::default());
    let values = Resolver::without_secrets(&env, &limits);
    let folder = source.path.parent().unwrap_or(Path::new("/"));
    let mut reader = TableReader {
        source,
        values: &values,
        // The file's layer is unknown here; loading checks the rest.
        layer: Layer::Project,
        folder,
        server: Some(&entry.key),
        own_env: BTreeMap::new(),
        problems: Vec::new(),
    };
    read_server(entry, &Settings::default(), &mut reader);
    let matters = |problem: &Problem| {
        problem.severity == Severity::Error && problem.reason != Reason::ConfigSecretMissing
    };
    match reader.problems.into_iter().find(matters) {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}

/// The error for a file whose form is too unusual to edit, with what to write by hand.
pub(super) fn manual_edit_problem(source: &SourceText, step: &Step) -> Problem {
    let location = step.location();
    let entry = format!("`{}` under `{}`", location.key, location.root);
    let what = match step {
        Step::Put { fields, .. } => {
            let keys: Vec<&str> = fields.iter().map(|(key, _)| key.as_str()).collect();
            format!("add {entry} with the keys {}", keys.join(", "))
        }
        Step::Remove { .. } | Step::Entry { value: None, .. } => format!("remove {entry}"),
        Step::Entry {
            value: Some(value), ..
        } => format!("set {entry} to {value}"),
        Step::Set {
            path,
            value: Some(_),
            ..
        } => format!("set `{}` of {entry}", path.join(".")),
        Step::Set {
            path, value: None, ..
        } => format!("remove `{}` of {entry}", path.join(".")),
    };
    let message = format!(
        "`{}` cannot be edited safely because of its form; nothing was written",
        shown_path(&source.path)
    );
    let help = format!("open the file and {what}");
    Problem::error(Reason::ConfigInvalid, message)
        .help(help)
        .of_server(&location.key)
        .in_file(&source.path)
}

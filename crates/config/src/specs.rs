//! Turns merged servers into `ServerSpec`s, and records the effective values.

use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{
    HashKey, Layer, Origin, Reason, Sandbox, SandboxMode, ServerName, Share, Template, Transport,
    TrustState,
};

use crate::definition_warnings::written_secrets;
use crate::env_overrides::EnvOverride;
use crate::environment::{Environment, Paths};
use crate::explain::{EffectiveValue, explain_entry};
use crate::file::ConfigFile;
use crate::hash::config_hash;
use crate::load::LoadedConfig;
use crate::merge::MergedServer;
use crate::node::Entry;
use crate::package_runners::unpinned_package;
use crate::policies::attach_rules;
use crate::problem::{Problem, Severity, shown_text};
use crate::regular_file::special_file_problem;
use crate::review::{InheritedVariables, TrustReview};
use crate::sandbox::in_project;
use crate::settings::Settings;
use crate::trust_store::TrustStore;

/// Turns valid servers into specs, lists the others as broken, and records the effective values of all.
pub(crate) fn build_specs(
    merged: BTreeMap<String, MergedServer<'_>>,
    files: &[ConfigFile],
    env: &Environment,
    paths: &Paths,
    key: &HashKey,
    loaded: &mut LoadedConfig,
) {
    let from_project = files.iter().any(|file| file.layer == Layer::Project);
    let trust_store = from_project.then(|| {
        let file = TrustStore::file(&paths.state_dir);
        loaded.problems.extend(special_file_problem(&file));
        // The watcher compares with the file that the next write creates.
        loaded
            .contents
            .record(&TrustStore::new_file(&paths.state_dir));
        TrustStore::open(&paths.state_dir)
    });
    for (name, server) in merged {
        explain(&name, &server, &mut loaded.values);
        let MergedServer {
            definition: Some(mut definition),
            ..
        } = server
        else {
            loaded.broken.insert(name, server.problems);
            continue;
        };
        let Ok(parsed) = ServerName::parse(&name) else {
            continue;
        };
        let origin = Origin {
            layer: server.layer,
            file: server
                .place
                .map(|(file, _, _)| file.source.path.to_path_buf()),
            line: server
                .place
                .map(|(file, _, entry)| file.source.line_of(entry.key_start)),
        };
        if server.layer == Layer::Project {
            run_in_project(&mut definition.transport, loaded.project.as_deref());
        }
        let (sandbox, usual) = match server.layer {
            Layer::Project => {
                let own = server.user_sandbox.as_ref();
                let (written, bound) = (
                    definition.options.sandbox.take(),
                    loaded.settings.project_sandbox,
                );
                let project = loaded.project.as_deref();
                let (sandbox, ignored) = in_project(written, bound, own, project);
                for key in ignored {
                    loaded
                        .problems
                        .push(sandbox_ignored(&name, key, server.place));
                }
                (sandbox, SandboxMode::Default)
            }
            _ => {
                let of_settings = || Sandbox::of_mode(loaded.settings.sandbox);
                let written = definition.options.sandbox.take();
                (written.unwrap_or_else(of_settings), SandboxMode::Off)
            }
        };
        let is_usual = sandbox
            == Sandbox {
                within: sandbox.within.clone(),
                ..Sandbox::of_mode(usual)
            };
        let hash = config_hash(
            &definition.transport,
            definition.options.oauth.as_deref(),
            (!is_usual).then_some(&sandbox),
            &definition.options.integrity,
            key,
        );
        definition.options.sandbox = Some(sandbox);
        let trust_state = match (&trust_store, &loaded.project) {
            (Some(trust_store), Some(project)) if server.layer == Layer::Project => {
                trust_store.state_of(project, &parsed, &hash)
            }
            _ => TrustState::Granted,
        };
        if let Some(found) = unpinned_package(&definition.transport) {
            let package = shown_text(&found.package, 100);
            let message =
                format!("`{package}` has no fixed version, so each start may run a different one");
            let mut advice = Problem::new(Severity::Advice, Reason::SupplyUnpinned, message)
                .help(found.help)
                .of_server(&name);
            if let Some((file, _, entry)) = server.place {
                let at = entry
                    .node
                    .get("args")
                    .or(entry.node.get("command"))
                    .unwrap_or(entry)
                    .key_start;
                advice = advice.at(&file.source, at);
            }
            loaded.problems.push(advice);
        }
        if let Transport::Stdio { args, .. } = &definition.transport {
            warn_about_secrets(&parsed, args, server.place, &mut loaded.problems);
        }
        let mut most = server.user_requests;
        if server.layer == Layer::Project && !loaded.settings.project_sampling {
            most.sampling = false;
            if definition.options.sampling == Some(true) {
                loaded.problems.push(sampling_ignored(&name, server.place));
            }
        }
        if server.layer == Layer::Project {
            let written = definition.options.share;
            let share = written.in_project(server.user_share);
            definition.options.share = share;
            if written != share && written != Share::Auto {
                loaded
                    .problems
                    .push(wide_share_ignored(&name, share, server.place));
            }
        }
        let mut spec = definition.into_spec(parsed.clone(), origin, trust_state, hash);
        spec.rules.client_requests = spec.rules.client_requests.and(most);
        let switch = server.env_overrides.iter().find(|key| key.key == "enabled");
        spec.rules.enabled_by = switch.map(|key| key.variable.clone());
        attach_rules(&mut spec.rules, server.user_rules, &loaded.rules);
        if spec.origin.layer == Layer::Project {
            let inherited = inherited(&server.env_overrides, &loaded.settings, env);
            let review = TrustReview::new(&spec, server.own, &inherited);
            // Trust from an earlier version that did not show everything is void.
            spec.trust_state = review.trust_state;
            loaded.reviews.insert(parsed.clone(), review);
        }
        loaded.servers.insert(parsed, spec);
    }
}

/// Advises to move secrets out of arguments.
fn warn_about_secrets(
    server: &ServerName,
    args: &[Template],
    place: Option<(&ConfigFile, &str, &Entry)>,
    problems: &mut Vec<Problem>,
) {
    for (at, warning) in written_secrets(server, args) {
        let message = format!("argument {} looks like a secret", at + 1);
        let mut advice = Problem::new(Severity::Advice, Reason::SecretWritten, message)
            .help(warning.text)
            .of_server(server.as_str());
        if let Some((file, _, entry)) = place {
            let list = entry.node.get("args").or(entry.node.get("command"));
            advice = advice.at(&file.source, list.unwrap_or(entry).key_start);
        }
        problems.push(advice);
    }
}

/// Returns the user's variables that a project's server receives although its file does not name them.
fn inherited(
    env_overrides: &[EnvOverride],
    settings: &Settings,
    env: &Environment,
) -> InheritedVariables {
    let allowed = settings.env_allow.iter();
    let allowed = allowed.filter(|name| env.vars.contains_key(*name));
    InheritedVariables {
        env_overrides: env_overrides
            .iter()
            .map(|key| key.variable.clone())
            .collect(),
        allowed: allowed.cloned().collect(),
    }
}

/// A project's file must not enable use of the user's model by itself.
fn sampling_ignored(name: &str, place: Option<(&ConfigFile, &str, &Entry)>) -> Problem {
    let message = "a project file cannot allow its server to use the client's model; `sampling` is ignored here";
    let help =
        "set `project_sampling = true` under `[settings]` in your own config file to allow it";
    let problem = Problem::warning(Reason::ConfigInvalid, message)
        .help(help)
        .of_server(name);
    match place {
        Some((file, _, entry)) => {
            let at = entry.node.get("sampling").unwrap_or(entry).key_start;
            problem.at(&file.source, at)
        }
        None => problem,
    }
}

/// A project's file must not connect its server with more clients than the user's own file, and with none outside the
/// project.
fn wide_share_ignored(
    name: &str,
    share: Share,
    place: Option<(&ConfigFile, &str, &Entry)>,
) -> Problem {
    let word = share.as_str();
    let message = format!("a project file cannot share its server so widely; `{word}` applies");
    let help = format!("write `{word}`, or define the server only in your own config file");
    let problem = Problem::warning(Reason::ConfigInvalid, message)
        .help(help)
        .of_server(name);
    match place {
        Some((file, _, entry)) => {
            let at = entry.node.get("share").unwrap_or(entry).key_start;
            problem.at(&file.source, at)
        }
        None => problem,
    }
}

/// A project's file must not loosen how its server is confined.
fn sandbox_ignored(name: &str, key: &str, place: Option<(&ConfigFile, &str, &Entry)>) -> Problem {
    let message = format!("a project file can only tighten a sandbox; `{key}` is limited here");
    let help =
        "set `project_sandbox` under `[settings]`, or define the server, in your own config file";
    let problem = Problem::warning(Reason::ConfigInvalid, message)
        .help(help)
        .of_server(name);
    match place {
        Some((file, _, entry)) => {
            let at = entry.node.get("sandbox").unwrap_or(entry).key_start;
            problem.at(&file.source, at)
        }
        None => problem,
    }
}

/// A project's servers run in the project folder, wherever Pegboard was started.
fn run_in_project(transport: &mut Transport, project: Option<&Path>) {
    if let (
        Transport::Stdio {
            cwd: cwd @ None, ..
        },
        Some(project),
    ) = (transport, project)
    {
        *cwd = Some(Template::literal(project.to_string_lossy()));
    }
}

fn explain(name: &str, server: &MergedServer<'_>, values: &mut Vec<EffectiveValue>) {
    let first = values.len();
    if let Some((file, _, entry)) = server.place {
        for inner in entry.node.entries() {
            let key = ["servers.", name, ".", &shown_text(&inner.key, 60)].concat();
            explain_entry(values, "servers", key, inner, &file.source, server.layer);
        }
    }
    for change in &server.env_overrides {
        let key = format!("servers.{name}.{}", change.key);
        let mut position = 0;
        values.retain(|row| {
            position += 1;
            position <= first || row.key != key
        });
        let value = change.shown.clone();
        values.push(EffectiveValue::new(key, value, Layer::Environment));
    }
    if let (Some(note), Some(row)) = (&server.replaces, values.get_mut(first)) {
        row.note = Some(note.clone());
    }
}

//! Writes the chosen servers of a plan.
//!
//! Secrets are stored first, so that no server is written without them. All servers of one file are written in one
//! edit: all of them, or none. If that fails, the secrets that were added for them are removed again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pegboard_model::{Reason, Secret, SecretLookup, ServerName};
use serde::Serialize;

use super::plan::{ImportPlan, ImportServer, ServerState};
use super::read::hash_of;
use super::selection::Selection;
use super::table::FileScope;
use super::value::SecretForm;
use crate::edit::{NewServer, add_servers};
use crate::problem::{Problem, shown_path};
use crate::secrets::SecretStore;

/// What to do with values that look like secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretMode {
    /// Move them into the secret store and write references.
    #[default]
    Store,
    /// Write them into the config file as they are.
    Keep,
    /// Do not import servers with such values.
    Refuse,
}

/// Options of [`ImportPlan::apply`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ApplyOptions {
    /// What to do with values that look like secrets.
    pub secrets: SecretMode,
    /// Values of [`RequiredSecret`](super::RequiredSecret)s that the user entered, by name.
    pub entered: BTreeMap<String, Secret>,
}

/// The result of an import.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// One result for each selected server.
    pub results: Vec<ImportResult>,
    /// Names of the secrets that were stored.
    pub stored_secrets: Vec<String>,
    /// Names of secrets that a written server needs and that are not stored.
    pub missing_secrets: Vec<String>,
}

/// The result for one server.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ImportResult {
    /// The name in the first client's file, escaped for display.
    pub original_name: String,
    /// The name in Pegboard.
    pub name: Option<ServerName>,
    /// Whether it was written.
    pub state: ResultState,
    /// The file that it was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Whether the server needs trust before it runs.
    pub needs_trust: bool,
    /// Why it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a server was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResultState {
    /// It is in the file.
    Written,
    /// There was nothing to write.
    Skipped,
    /// It could not be written.
    Failed,
}

impl ImportReport {
    /// Returns the names of the written servers that run without a trust review.
    pub fn written(&self) -> impl Iterator<Item = &ImportResult> {
        let results = self.results.iter();
        results.filter(|result| result.state == ResultState::Written)
    }

    /// Whether something could not be written.
    pub fn has_failures(&self) -> bool {
        self.results
            .iter()
            .any(|result| result.state == ResultState::Failed)
    }
}

impl ImportPlan {
    /// Returns a hash of everything that an import would write. Two plans with the same hash write the same, even if
    /// other parts of the clients' files differ.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let options = ApplyOptions {
            secrets: SecretMode::Keep,
            ..ApplyOptions::default()
        };
        hasher.update(&serde_json::to_vec(&self.servers).unwrap_or_default());
        for server in &self.servers {
            let written = new_server(server, &options);
            hasher.update(format!("{written:?}").as_bytes());
        }
        for file in [&self.user_file, &self.project_file] {
            hasher.update(file.as_os_str().as_encoded_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Writes the selected servers. The clients' files are not changed.
    ///
    /// # Errors
    /// Fails without any change if a client's file with a selected server has changed since the scan.
    pub fn apply(
        &self,
        selection: &Selection,
        options: &ApplyOptions,
        store: &SecretStore,
    ) -> Result<ImportReport, Problem> {
        let selected: Vec<&ImportServer> = self
            .servers
            .iter()
            .filter(|server| selection.contains(server))
            .collect();
        self.check_unchanged(&selected)?;
        let mut report = ImportReport {
            results: Vec::new(),
            stored_secrets: Vec::new(),
            missing_secrets: Vec::new(),
        };
        let (writable, skipped): (Vec<_>, Vec<_>) = selected
            .into_iter()
            .partition(|server| skip_reason(server, options).is_none());
        for server in skipped {
            let is_named = selection.names(server);
            report
                .results
                .push(skipped_result(server, is_named, options));
        }
        for scope in [FileScope::User, FileScope::Project] {
            let servers: Vec<_> = writable
                .iter()
                .filter(|server| server.scope == scope)
                .copied()
                .collect();
            if !servers.is_empty() {
                let file = match scope {
                    FileScope::User => &self.user_file,
                    FileScope::Project => &self.project_file,
                };
                write(&servers, file, options, store, &mut report);
            }
        }
        Ok(report)
    }

    fn check_unchanged(&self, selected: &[&ImportServer]) -> Result<(), Problem> {
        let sources = selected.iter().flat_map(|server| &server.sources);
        let paths: BTreeSet<&Path> = sources.map(|source| source.path.as_path()).collect();
        for path in paths {
            if hash_of(path).as_ref() != self.hashes.get(path) {
                let message = format!(
                    "`{}` has changed since it was read; nothing was imported",
                    shown_path(path)
                );
                return Err(Problem::error(Reason::ConfigIo, message)
                    .help("run the import again")
                    .in_file(path));
            }
        }
        Ok(())
    }
}

/// Returns why there is nothing to write for a server.
fn skip_reason(server: &ImportServer, options: &ApplyOptions) -> Option<String> {
    let existing = server
        .existing
        .as_ref()
        .map(ServerName::as_str)
        .unwrap_or_default();
    Some(match server.state {
        ServerState::Same => format!("it is configured as `{existing}`"),
        ServerState::Pegboard => "it is Pegboard itself".to_owned(),
        ServerState::Read => "Pegboard reads this file itself".to_owned(),
        ServerState::Broken => {
            let problem = server.problem.as_ref();
            problem.map_or(String::new(), |problem| problem.message.clone())
        }
        _ if options.secrets == SecretMode::Refuse && !server.secrets.is_empty() => {
            "it contains values that look like secrets".to_owned()
        }
        _ => return None,
    })
}

/// A server that was requested by name and cannot be written is a failure.
fn skipped_result(server: &ImportServer, is_named: bool, options: &ApplyOptions) -> ImportResult {
    let has_nothing_to_do = matches!(
        server.state,
        ServerState::Same | ServerState::Pegboard | ServerState::Read
    );
    let is_failure = is_named && !has_nothing_to_do;
    ImportResult {
        original_name: server.original_name.clone(),
        name: server.existing.clone().or_else(|| server.name.clone()),
        state: match is_failure {
            true => ResultState::Failed,
            false => ResultState::Skipped,
        },
        file: None,
        needs_trust: false,
        reason: skip_reason(server, options),
    }
}

/// Stores the secrets of some servers and writes them into one file.
fn write(
    servers: &[&ImportServer],
    file: &Path,
    options: &ApplyOptions,
    store: &SecretStore,
    report: &mut ImportReport,
) {
    let written = write_locked(servers, file, options, store);
    let reason = match written {
        Ok(mut added) => {
            report.stored_secrets.append(&mut added);
            None
        }
        Err(reason) => Some(reason),
    };
    let known: BTreeSet<String> = store
        .names()
        .into_iter()
        .map(|secret| secret.name)
        .collect();
    for server in servers {
        report.results.push(ImportResult {
            original_name: server.original_name.clone(),
            name: server.name.clone(),
            state: match reason {
                Some(_) => ResultState::Failed,
                None => ResultState::Written,
            },
            file: reason.is_none().then(|| file.to_owned()),
            needs_trust: server.scope == FileScope::Project,
            reason: reason.clone(),
        });
        let missing = server
            .required_secrets
            .iter()
            .filter(|secret| !known.contains(&secret.name));
        for secret in missing.filter(|_| reason.is_none()) {
            if !report.missing_secrets.contains(&secret.name) {
                report.missing_secrets.push(secret.name.clone());
            }
        }
    }
}

/// Stores the secrets, then writes the servers. Returns the names of the added secrets. If the file cannot be written,
/// they are removed again, and the error is the reason.
fn write_locked(
    servers: &[&ImportServer],
    file: &Path,
    options: &ApplyOptions,
    store: &SecretStore,
) -> Result<Vec<String>, String> {
    // One import at a time, including the removal: another import may use the same secrets.
    let _lock = store
        .lock_imports()
        .map_err(|problem| failure(&problem, &[], store))?;
    let mut added = Vec::new();
    let written = check_place(servers, file)
        .and_then(|()| stored_secrets(servers, options, store, &mut added))
        .and_then(|()| {
            let written = servers
                .iter()
                .filter_map(|server| new_server(server, options));
            add_servers(file, &written.collect::<Vec<_>>())
        });
    match written {
        Ok(()) => Ok(added),
        Err(problem) => Err(failure(&problem, &added, store)),
    }
}

/// Refuses to write a project's servers through a link. The project could place a link to the user's own file, whose
/// servers run without a review.
fn check_place(servers: &[&ImportServer], file: &Path) -> Result<(), Problem> {
    if servers.iter().all(|server| server.scope == FileScope::User) {
        return Ok(());
    }
    let folder = file.parent();
    let is_link = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|found| found.is_symlink())
    };
    let link = folder.into_iter().chain([file]).find(|path| is_link(path));
    let Some(link) = link else {
        return Ok(());
    };
    let message = format!("`{}` is a link; nothing was imported", shown_path(link));
    Err(Problem::error(Reason::ConfigPermission, message)
        .help("replace the link with a folder or file of the project")
        .in_file(link))
}

/// Removes the secrets that were added in vain. Returns the reason of the failure.
fn failure(problem: &Problem, added: &[String], store: &SecretStore) -> String {
    let left: Vec<&str> = added
        .iter()
        .filter(|name| store.remove(name).is_err())
        .map(String::as_str)
        .collect();
    let reason = format!("{}; {}", problem.message, problem.help);
    match left.is_empty() {
        true => reason,
        false => format!(
            "{reason}; these secrets stay in the store: {}",
            left.join(", ")
        ),
    }
}

/// Stores the secrets that are not in the store yet. Their names are added to `added`.
fn stored_secrets(
    servers: &[&ImportServer],
    options: &ApplyOptions,
    store: &SecretStore,
    added: &mut Vec<String>,
) -> Result<(), Problem> {
    let known: BTreeSet<String> = store
        .list()?
        .into_iter()
        .map(|secret| secret.name)
        .collect();
    let mut wanted: BTreeMap<&str, &Secret> = BTreeMap::new();
    for server in servers {
        if options.secrets == SecretMode::Store {
            let secrets = server.secret_names.iter();
            wanted.extend(secrets.map(|secret| (secret.name.as_str(), &secret.value)));
        }
        for secret in server
            .required_secrets
            .iter()
            .filter(|secret| !known.contains(&secret.name))
        {
            wanted.extend(
                options
                    .entered
                    .get_key_value(&secret.name)
                    .map(|(name, value)| (name.as_str(), value)),
            );
        }
    }
    for (name, value) in wanted {
        if known.contains(name) {
            // The name was free, or had this value, when the files were read.
            if store.secret(name).as_ref() != Some(value) {
                let message = format!("the secret `{name}` has changed since the files were read");
                return Err(
                    Problem::error(Reason::ConfigInvalid, message).help("run the import again")
                );
            }
            continue;
        }
        store.set(name, value.clone())?;
        added.push(name.to_owned());
    }
    Ok(())
}

fn new_server(server: &ImportServer, options: &ApplyOptions) -> Option<NewServer> {
    let name_of = |value: &Secret, hint: &str| server.secret_name(value, hint);
    let form = match options.secrets {
        SecretMode::Keep => SecretForm::Literal,
        _ => SecretForm::Reference(&name_of),
    };
    server.draft.as_ref()?.server(server.name.clone()?, &form)
}

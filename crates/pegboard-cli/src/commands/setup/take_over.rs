//! Which servers of the clients are in Pegboard after the import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pegboard_config::clients::{
    FileScope, ImportPlan, ImportReport, ImportServer, Selection, ServerState,
};
use pegboard_model::{ServerName, UntrustedText};

/// Longest name of a server in a plan.
const SHOWN_NAME: usize = 60;

/// Where a client defines a server that Pegboard has: its key, its file and the name there.
type Source = (&'static str, PathBuf, String);

/// The servers that clients have and Pegboard has too.
pub(super) struct Imported {
    sources: BTreeMap<Source, ServerName>,
    /// Servers that do not work before the user has set a secret. Their clients keep them.
    incomplete: BTreeSet<ServerName>,
}

impl Imported {
    /// Collects the user's servers that were imported by this run or an earlier one. With `is_plan`, the selected
    /// servers count as imported.
    pub(super) fn new(
        plan: &ImportPlan,
        selection: &Selection,
        report: Option<&ImportReport>,
        is_plan: bool,
    ) -> Self {
        let written: BTreeSet<&ServerName> = report
            .into_iter()
            .flat_map(ImportReport::written)
            .filter_map(|result| result.name.as_ref())
            .collect();
        let name_of = |server: &ImportServer| match server.state {
            ServerState::Same => server.existing.clone(),
            ServerState::New | ServerState::Differs => {
                let name = server.name.as_ref()?;
                let is_there = match is_plan {
                    true => selection.contains(server),
                    false => written.contains(name),
                };
                is_there.then(|| name.clone())
            }
            _ => None,
        };
        let missing = report.map(|report| report.missing_secrets.as_slice());
        let missing = missing.unwrap_or_default();
        let mut imported = Self {
            sources: BTreeMap::new(),
            incomplete: BTreeSet::new(),
        };
        for server in &plan.servers {
            if server.scope != FileScope::User {
                continue;
            }
            let Some(name) = name_of(server) else {
                continue;
            };
            let lacks_secret = |secret: &pegboard_config::clients::RequiredSecret| {
                !secret.is_stored && (is_plan || missing.contains(&secret.name))
            };
            if server.required_secrets.iter().any(lacks_secret) {
                imported.incomplete.insert(name.clone());
            }
            for source in &server.sources {
                let key = (source.client, source.path.clone(), source.name.clone());
                imported.sources.insert(key, name.clone());
            }
        }
        imported
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The name in Pegboard of a server in a client's file. `None` if Pegboard does not have it, or if it does not work
    /// there yet.
    pub(super) fn name(
        &self,
        client: &'static str,
        file: &Path,
        name: &str,
    ) -> Option<&ServerName> {
        let shown = UntrustedText::new(name).shortened(SHOWN_NAME).to_string();
        let found = self.sources.get(&(client, file.to_owned(), shown))?;
        (!self.incomplete.contains(found)).then_some(found)
    }

    /// Whether a client's file has a server that can be taken out of it.
    pub(super) fn has_any(&self, client: &'static str, file: &Path) -> bool {
        let mut keys = self.sources.iter();
        keys.any(|((key, path, _), name)| {
            *key == client && path == file && !self.incomplete.contains(name)
        })
    }
}

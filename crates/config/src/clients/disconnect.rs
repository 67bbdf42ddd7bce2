//! `disconnect`: takes back what `connect` has written into a client's file.

use std::fmt;
use std::path::{Path, PathBuf};

use super::diff::unified_diff;
use super::locations::Places;
use super::own_entry::divide;
use super::record::{Connection, Connections};
use super::rewrite;
use super::table::Client;
use super::target::Target;
use super::text::{ClientText, read_bytes};
use super::undo::{Undone, undo};
use super::write::{AfterStep, check_writable, replace};
use crate::problem::Problem;

/// A change to a client's file that was not written yet.
#[non_exhaustive]
pub struct DisconnectPlan {
    /// The client.
    pub client: &'static Client,
    /// The file.
    pub path: PathBuf,
    /// Whether the file gets the content back that it had before `connect`, byte for byte.
    pub is_exact: bool,
    /// Whether the file is deleted, because `connect` created it.
    pub deletes_file: bool,
    /// Servers that are put back.
    pub put_back: Vec<String>,
    /// Servers that are not put back, because the file has another server of the same name now.
    pub kept: Vec<String>,
    /// Whether the file was deleted by someone else, so that only the record is removed.
    pub is_gone: bool,
    /// Whether an entry under Pegboard's name stays, because it is not Pegboard any more.
    pub has_other_entry: bool,
    /// Whether `connect` wrote the entry. An entry that was written by hand is removed too.
    pub has_record: bool,
    /// The file with the content from before `connect`, which is kept because the client's file does not get it back.
    pub former_content: Option<PathBuf>,
    target: Target,
    connections: Connections,
    current: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    created_folders: Vec<PathBuf>,
}

/// The texts may contain secrets.
impl fmt::Debug for DisconnectPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DisconnectPlan")
            .field("client", &self.client.key)
            .field("path", &self.path)
            .field("is_exact", &self.is_exact)
            .finish_non_exhaustive()
    }
}

impl DisconnectPlan {
    /// Determines what would be written to disconnect a client: one plan for each of its files with Pegboard in it.
    ///
    /// # Errors
    /// Fails if a file or the record cannot be read, parsed or edited safely.
    pub fn all(
        places: &Places<'_>,
        state_dir: &Path,
        client: &'static Client,
        port: Option<u16>,
    ) -> Result<Vec<Self>, Problem> {
        let connections = Connections::new(state_dir);
        let mut plans = Vec::new();
        for recorded in connections.all()? {
            if recorded.client != client.key {
                continue;
            }
            let current = read_bytes(&recorded.file)?;
            let found = connections.find(client.key, &recorded.file, current.as_deref())?;
            let target = Target::of_path(places, client, &recorded.file).transpose()?;
            if let (Some(connection), Some(target)) = (found, target) {
                plans.push(Self::from_record(target, state_dir, &connection, current)?);
            }
        }
        let Ok(target) = Target::choose(places, client, None) else {
            return Ok(plans);
        };
        if plans
            .iter()
            .any(|plan| plan.target.resolved == target.resolved)
        {
            return Ok(plans);
        }
        plans.extend(Self::without_record(target, state_dir, port)?);
        Ok(plans)
    }

    fn from_record(
        target: Target,
        state_dir: &Path,
        connection: &Connection,
        current: Option<Vec<u8>>,
    ) -> Result<Self, Problem> {
        let connections = Connections::new(state_dir);
        let undone = undo(&target, &connections, connection, current.as_deref())?;
        let former = connections.kept_backup(connection);
        let mut plan = Self::new(target, connections, current, undone);
        plan.has_record = true;
        plan.former_content = former.filter(|_| !plan.is_exact);
        plan.created_folders.clone_from(&connection.created_folders);
        Ok(plan)
    }

    /// Removes an entry that the user has written.
    fn without_record(
        target: Target,
        state_dir: &Path,
        port: Option<u16>,
    ) -> Result<Option<Self>, Problem> {
        let Some(current) = read_bytes(&target.resolved)? else {
            return Ok(None);
        };
        let mut text = ClientText::parse(&target.path, &current, target.file.format)?;
        let (own, _) = divide(&text, &target.container, port, None);
        if own.is_empty() {
            return Ok(None);
        }
        for server in &own {
            text = rewrite::take_out(&text, &target.container, &server.key)?.0;
        }
        let undone = Undone {
            content: Some(text.bytes()),
            ..Undone::default()
        };
        let connections = Connections::new(state_dir);
        Ok(Some(Self::new(target, connections, Some(current), undone)))
    }

    fn new(
        target: Target,
        connections: Connections,
        current: Option<Vec<u8>>,
        undone: Undone,
    ) -> Self {
        Self {
            client: target.client,
            path: target.path.clone(),
            is_exact: undone.is_exact,
            deletes_file: current.is_some() && undone.content.is_none(),
            put_back: undone.put_back,
            kept: undone.kept,
            is_gone: current.is_none(),
            has_other_entry: undone.has_other_entry,
            has_record: false,
            former_content: None,
            after: undone.content,
            created_folders: Vec::new(),
            target,
            connections,
            current,
        }
    }

    /// Whether the file already is as it was before, so that only the record is removed.
    pub fn is_disconnected(&self) -> bool {
        self.current == self.after
    }

    /// The difference as a unified diff. Values that may be secrets are masked.
    pub fn diff(&self) -> String {
        let parse = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.as_deref()?;
            ClientText::parse(&self.path, bytes, self.target.file.format).ok()
        };
        let (before, after) = (parse(&self.current), parse(&self.after));
        unified_diff(before.as_ref(), after.as_ref(), &self.target.container)
    }

    /// Writes the file and removes the record of the connection.
    ///
    /// # Errors
    /// Fails if the file was changed since the plan was made, or if something cannot be written.
    pub fn apply(&self) -> Result<(), Problem> {
        self.apply_with(&mut |_| ())
    }

    pub(crate) fn apply_with(&self, after_step: AfterStep<'_>) -> Result<(), Problem> {
        let _lock = self.connections.lock()?;
        let path = &self.target.resolved;
        if !self.is_disconnected() {
            check_writable(path)?;
            replace(
                path,
                self.current.as_deref(),
                self.after.as_deref(),
                after_step,
            )?;
        }
        if self.deletes_file {
            // A folder that is not empty belongs to the client by now.
            let created = self.created_folders.iter().rev();
            created
                .take_while(|folder| std::fs::remove_dir(folder).is_ok())
                .count();
        }
        if let Some(former) = &self.former_content {
            self.connections.keep_backup(former)?;
        }
        self.connections.remove(self.client.key, path)
    }
}

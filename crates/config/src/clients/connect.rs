//! `connect`: writes Pegboard into a client's file.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use pegboard_model::{Reason, UntrustedText};
use serde_json::Value;

use super::diff::unified_diff;
use super::entry::{ENTRY_NAME, EntryTransport, entry};
use super::locations::Places;
use super::own_entry::{divide, is_own_entry};
use super::record::{Connection, Connections, hash};
use super::rewrite::{self, Taken};
use super::table::Client;
use super::target::{Target, is_installed};
use super::text::{ClientText, read_bytes};
use super::undo::undo;
use super::write::{AfterStep, Step, check_unchanged, check_writable, missing_folders, replace};
use crate::node::Entry;
use crate::problem::{Problem, shown_path};

/// Which of a client's servers are taken out of its file, because Pegboard has them now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakeOver {
    /// None: the client keeps all its servers.
    #[default]
    None,
    /// All that Pegboard has.
    All,
    /// These. Pegboard must have each of them.
    Names(BTreeSet<String>),
}

/// What to write.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// How the client reaches Pegboard.
    pub transport: EntryTransport,
    /// Which servers are taken out.
    pub take_over: TakeOver,
    /// Whether the client runs Pegboard's tools without confirming each call, where it has a key for that. Pegboard's
    /// policies apply in any case.
    pub approves_calls: bool,
    /// Whether an entry for Pegboard that `connect` did not write may be replaced.
    pub replaces: bool,
    /// The file to write, if it is not the client's usual one.
    pub file: Option<PathBuf>,
    /// The port of Pegboard's own endpoint.
    pub port: Option<u16>,
}

impl ConnectOptions {
    /// Adds Pegboard and leaves everything else as it is.
    pub fn new(transport: EntryTransport) -> Self {
        Self {
            transport,
            take_over: TakeOver::None,
            approves_calls: true,
            replaces: false,
            file: None,
            port: None,
        }
    }
}

/// A change to a client's file that was not written yet.
#[non_exhaustive]
pub struct ConnectPlan {
    /// The client.
    pub client: &'static Client,
    /// The file.
    pub path: PathBuf,
    /// Servers that are taken out of the file.
    pub taken_out: Vec<String>,
    /// Servers that stay in the file, so that the client reaches them directly.
    pub direct: Vec<String>,
    /// Whether the file is created.
    pub creates_file: bool,
    /// Whether the client is installed, as far as its files show.
    pub is_installed: bool,
    target: Target,
    connections: Connections,
    /// The content of the file.
    current: Option<Vec<u8>>,
    /// The content to which disconnecting returns. It differs from `current` if the client was connected already.
    base: Option<Vec<u8>>,
    after: ClientText,
    record: Option<Connection>,
}

/// The texts may contain secrets.
impl fmt::Debug for ConnectPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectPlan")
            .field("client", &self.client.key)
            .field("path", &self.path)
            .field("taken_out", &self.taken_out)
            .finish_non_exhaustive()
    }
}

impl ConnectPlan {
    /// Determines what would be written. `has_server` decides whether Pegboard has a server of the client, from its name
    /// and its fields.
    ///
    /// # Errors
    /// Fails if the file cannot be read, parsed, edited safely or written, if it contains an entry for Pegboard that
    /// `connect` did not write, if the client does not support the transport, or if a server cannot be taken out.
    pub fn new(
        places: &Places<'_>,
        state_dir: &Path,
        client: &'static Client,
        options: &ConnectOptions,
        has_server: &dyn Fn(&str, &Value) -> bool,
    ) -> Result<Self, Problem> {
        let target = Target::choose(places, client, options.file.as_deref())?;
        let connections = Connections::new(state_dir);
        let path = &target.resolved;
        let current = read_bytes(path)?;
        let previous = connections.find(client.key, path, current.as_deref())?;
        let format = target.file.format;
        let parse = |bytes: Option<&[u8]>| {
            ClientText::parse(&target.path, bytes.unwrap_or_default(), format)
        };
        let text = parse(current.as_deref())?;
        rewrite::check_container(&text.source, &target.container)?;
        let entry = entry(
            client,
            target.file.root,
            &options.transport,
            options.approves_calls,
        )?;
        let written = previous.as_ref().map(|previous| &previous.entry);
        let (own, others) = divide(&text, &target.container, options.port, written);
        let chosen = choose_servers(&options.take_over, &others, has_server, &target)?;
        let stays = |server: &&Entry| !chosen.contains(&server.key);
        let direct: Vec<&Entry> = others.iter().filter(stays).collect();
        let mut plan = Self {
            client,
            path: target.path.clone(),
            taken_out: chosen.iter().cloned().collect(),
            direct: direct
                .into_iter()
                .map(|server| server.key.clone())
                .collect(),
            creates_file: current.is_none(),
            is_installed: is_installed(places, client),
            after: text,
            record: None,
            base: None,
            current,
            connections,
            target,
        };
        let is_connected = matches!(own.as_slice(), [own] if own.node.to_json() == entry);
        if is_connected && chosen.is_empty() {
            return Ok(plan);
        }
        check_writable(&plan.target.resolved)?;
        // A client that is connected already is disconnected first, so that undoing restores the original file.
        let base = match &previous {
            Some(previous) => {
                undo(
                    &plan.target,
                    &plan.connections,
                    previous,
                    plan.current.as_deref(),
                )?
                .content
            }
            None => plan.current.clone(),
        };
        let mut names = chosen;
        let recorded = previous.iter().flat_map(|previous| &previous.taken_out);
        names.extend(recorded.map(|taken| taken.name.clone()));
        let base_text = ClientText::parse(&plan.path, base.as_deref().unwrap_or_default(), format)?;
        let change = Change::new(base_text, &plan.target, &entry, &names, options)?;
        let created_folders = match &previous {
            Some(previous) => previous.created_folders.clone(),
            None => missing_folders(&plan.target.resolved),
        };
        plan.record = Some(Connection {
            client: client.key.to_owned(),
            file: plan.target.resolved.clone(),
            before: base.as_deref().map(hash),
            replaced: plan.current.as_deref().map(hash),
            after: hash(&change.text.bytes()),
            backup: None,
            created_folders,
            created_keys: change.created_keys,
            entry,
            taken_out: change.taken_out,
            is_done: false,
            previous: previous.map(Box::new),
        });
        plan.after = change.text;
        plan.base = base;
        Ok(plan)
    }

    /// Whether the file already is as requested.
    pub fn is_connected(&self) -> bool {
        self.record.is_none()
    }

    /// The difference as a unified diff. Values that may be secrets are masked.
    pub fn diff(&self) -> String {
        let before = self
            .current
            .as_deref()
            .and_then(|bytes| ClientText::parse(&self.path, bytes, self.target.file.format).ok());
        unified_diff(before.as_ref(), Some(&self.after), &self.target.container)
    }

    /// The text that is written.
    pub fn text(&self) -> &str {
        &self.after.source.text
    }

    /// Writes the file, after storing a back-up and a record of the change.
    ///
    /// # Errors
    /// Fails if the file was changed since the plan was made, or if something cannot be written. The file is unchanged
    /// then.
    pub fn apply(&self) -> Result<(), Problem> {
        self.apply_with(&mut |_| ())
    }

    pub(crate) fn apply_with(&self, after_step: AfterStep<'_>) -> Result<(), Problem> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let _lock = self.connections.lock()?;
        let (path, current) = (&self.target.resolved, self.current.as_deref());
        // Before the record is touched, which may be that of another process by now.
        check_unchanged(path, current)?;
        let mut record = record.clone();
        if let Some(base) = &self.base {
            record.backup = Some(self.connections.back_up(self.client.key, base)?);
        }
        after_step(Step::BackedUp);
        self.connections.put(record.clone())?;
        after_step(Step::Recorded);
        let bytes = self.after.bytes();
        if let Err(problem) = replace(path, current, Some(&bytes), after_step) {
            let restored = match record.previous {
                Some(previous) => self.connections.put(*previous),
                None => self.connections.remove(self.client.key, path),
            };
            // An unfinished record is recognized as such.
            drop(restored);
            return Err(problem);
        }
        record.is_done = true;
        record.previous = None;
        // The file is written, and the unfinished record describes it too.
        drop(self.connections.put(record));
        Ok(())
    }
}

/// The changed text, with what is needed to undo the change.
struct Change {
    text: ClientText,
    created_keys: usize,
    taken_out: Vec<Taken>,
}

impl Change {
    fn new(
        base: ClientText,
        target: &Target,
        entry: &Value,
        names: &BTreeSet<String>,
        options: &ConnectOptions,
    ) -> Result<Self, Problem> {
        let container = &target.container;
        let created_keys = rewrite::missing_keys(&base.source, container);
        let mut change = Self {
            text: base,
            created_keys,
            taken_out: Vec::new(),
        };
        let servers = container.servers(&change.text.source);
        let is_conflict =
            |server: &&Entry| server.key == ENTRY_NAME || is_own_entry(server, options.port, None);
        for server in servers.iter().filter(is_conflict) {
            if !options.replaces {
                return Err(conflict(server, &change.text, target));
            }
            change.take_out(target, &server.key, true)?;
        }
        change.text = rewrite::insert(&change.text, container, ENTRY_NAME, entry)?;
        for server in servers.iter().filter(|server| !is_conflict(server)) {
            if names.contains(&server.key) {
                change.take_out(target, &server.key, false)?;
            }
        }
        Ok(change)
    }

    fn take_out(&mut self, target: &Target, name: &str, is_replaced: bool) -> Result<(), Problem> {
        let (text, taken) = rewrite::take_out(&self.text, &target.container, name)?;
        self.text = text;
        self.taken_out.push(Taken {
            is_replaced,
            ..taken
        });
        Ok(())
    }
}

fn conflict(server: &Entry, text: &ClientText, target: &Target) -> Problem {
    let name = shown(&server.key);
    let path = shown_path(&target.path);
    let message = format!("`{path}` has an entry `{name}` that `pegboard connect` did not write");
    Problem::error(Reason::ConfigDuplicate, message)
        .help("keep it, or replace it with `--replace`; `pegboard disconnect` restores it")
        .at(&text.source, server.key_start)
}

/// The servers to take out.
fn choose_servers(
    take_over: &TakeOver,
    others: &[Entry],
    has_server: &dyn Fn(&str, &Value) -> bool,
    target: &Target,
) -> Result<BTreeSet<String>, Problem> {
    let has = |server: &Entry| has_server(&server.key, &server.node.to_json());
    let wanted = match take_over {
        TakeOver::None => return Ok(BTreeSet::new()),
        TakeOver::All => {
            let known = others.iter().filter(|server| has(server));
            return Ok(known.map(|server| server.key.clone()).collect());
        }
        TakeOver::Names(names) => names,
    };
    for name in wanted {
        let found = others.iter().find(|server| server.key == *name);
        let (reason, message, help) = match found {
            Some(server) if has(server) => continue,
            Some(_) => (
                Reason::ConfigInvalid,
                format!(
                    "Pegboard does not have the server `{}` as it is there",
                    shown(name)
                ),
                format!("run `pegboard import {}` first", target.client.key),
            ),
            None => (
                Reason::ServerUnknown,
                format!(
                    "`{}` does not define the server `{}`",
                    shown_path(&target.path),
                    shown(name)
                ),
                "`pegboard connect --status` lists the servers of each client".to_owned(),
            ),
        };
        return Err(Problem::error(reason, message)
            .help(help)
            .in_file(&target.path));
    }
    Ok(wanted.clone())
}

fn shown(name: &str) -> String {
    UntrustedText::new(name).shortened(60).to_string()
}

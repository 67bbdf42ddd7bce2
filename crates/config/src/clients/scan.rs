//! Scans the clients' files and plans an import. Nothing is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pegboard_model::{Reason, Secret, ServerName};

use super::check::check_server;
use super::convert::{FileContext, convert};
use super::draft::{Draft, masked_definition, shown_settings};
use super::identity::{Configured, StoredValues, configured_servers, identity, is_pegboard};
use super::locations::{FoundFile, Places, find_files};
use super::names::{SecretNames, ServerNames};
use super::plan::{
    FileState, ImportFile, ImportPlan, ImportSecret, ImportServer, ImportSource, NamedSecret,
    RequiredSecret, ServerState,
};
use super::read::{FileEntry, ReadFile, entries, read};
use super::table::{FileScope, Root};
use super::value::SecretForm;
use super::variables::Variables;
use crate::command_line::quoted;
use crate::load::LoadedConfig;
use crate::problem::{Problem, shown_text};
use crate::secrets::SecretStore;

/// Maximum number of servers in all files.
const MAX_SERVERS: usize = 5_000;
/// Maximum number of characters of a name from a file.
pub(super) const SHOWN_NAME: usize = 60;

impl ImportPlan {
    /// Finds and reads the files of all clients, and compares their servers with the configuration. Broken files and
    /// entries become part of the plan.
    pub fn scan(places: &Places<'_>, config: &LoadedConfig, secrets: &SecretStore) -> Self {
        let project_file = config
            .files
            .iter()
            .map(|file| &file.path)
            .find(|path| path.parent() == Some(&places.project.join(".pegboard")));
        let default = places.project.join(".pegboard/config.toml");
        let mut scan = Scan {
            places,
            config,
            plan: Self {
                files: Vec::new(),
                servers: Vec::new(),
                user_file: config.edit_target.clone(),
                project_file: project_file.cloned().unwrap_or(default),
                hashes: BTreeMap::new(),
            },
            known: HashMap::new(),
        };
        for found in find_files(places).iter().filter(|found| found.exists) {
            scan.file(found);
        }
        scan.complete(secrets);
        scan.plan
    }
}

struct Scan<'a> {
    places: &'a Places<'a>,
    config: &'a LoadedConfig,
    plan: ImportPlan,
    /// Servers by definition.
    known: HashMap<blake3::Hash, usize>,
}

impl Scan<'_> {
    fn file(&mut self, found: &FoundFile) {
        let mut row = ImportFile {
            client: found.client.key,
            client_name: found.client.name,
            path: found.path.clone(),
            scope: found.file.scope,
            state: FileState::Ok,
            problem: None,
            servers: Vec::new(),
        };
        let servers = match read(found) {
            Ok(file) => {
                self.plan.hashes.insert(found.path.clone(), file.hash);
                self.servers(found, &file)
            }
            Err(problem) => Err(problem),
        };
        let is_section = matches!(found.file.root, Root::PerProject(..));
        match servers {
            // The same file has a row of its own.
            Ok(servers) if servers.is_empty() && is_section => return,
            Err(_) if is_section => return,
            Ok(servers) if servers.is_empty() => row.state = FileState::Empty,
            Ok(servers) => row.servers = servers,
            Err(problem) => {
                row.state = FileState::Broken;
                row.problem = Some(without_text(problem));
            }
        }
        self.plan.files.push(row);
    }

    /// Adds the servers of a file. Returns their indexes.
    fn servers(&mut self, found: &FoundFile, file: &ReadFile) -> Result<Vec<usize>, Problem> {
        let tree = file.source.tree();
        let context = FileContext {
            client: found.client,
            scope: found.file.scope,
            source: &file.source,
            variables: Variables {
                syntax: found.client.variables,
                scope: found.file.scope,
                home: &self.places.env().home,
                project: &self.places.project,
                inputs: tree.and_then(|tree| {
                    let inputs = tree
                        .get("inputs")
                        .or_else(|| tree.get("mcp")?.node.get("inputs"));
                    Some(&inputs?.node)
                }),
            },
        };
        let entries = entries(&file.source, found.file.root, self.places)?;
        let mut indexes = Vec::with_capacity(entries.len());
        for entry in &entries {
            if self.plan.servers.len() >= MAX_SERVERS {
                let message = format!("the clients' files define more than {MAX_SERVERS} servers");
                return Err(
                    Problem::error(Reason::ConfigTooLarge, message).at(&file.source, entry.at)
                );
            }
            let index = self.server(found, &context, entry);
            if !indexes.contains(&index) {
                indexes.push(index);
            }
        }
        Ok(indexes)
    }

    /// Adds a server, or a source to the server with the same definition. Returns its index.
    fn server(
        &mut self,
        found: &FoundFile,
        context: &FileContext<'_>,
        entry: &FileEntry<'_>,
    ) -> usize {
        let source = ImportSource {
            client: found.client.key,
            client_name: found.client.name,
            path: found.path.clone(),
            line: context.source.line_of(entry.at),
            name: shown_text(entry.name, SHOWN_NAME).into_owned(),
        };
        let mut server = ImportServer {
            original_name: source.name.clone(),
            name: None,
            state: ServerState::New,
            scope: found.file.scope,
            existing: None,
            definition: None,
            settings: Vec::new(),
            enabled: true,
            secrets: Vec::new(),
            required_secrets: Vec::new(),
            policies: BTreeMap::new(),
            available_tools: Vec::new(),
            notes: Vec::new(),
            problem: None,
            sources: vec![source],
            raw_name: entry.name.to_owned(),
            draft: None,
            secret_names: Vec::new(),
        };
        let draft = match entry.name.is_empty() {
            true => Err(Problem::error(Reason::ConfigName, "the entry has no name")
                .help("give it a name in the client's file")
                .at(context.source, entry.at)),
            false => convert(context, entry.name, entry.at, entry.node),
        };
        match draft {
            Err(problem) => {
                server.state = ServerState::Broken;
                server.problem = Some(without_text(problem));
            }
            Ok(mut draft) if is_pegboard(entry.name, &draft, self.config.settings.port) => {
                server.state = ServerState::Pegboard;
                draft.notes.clear();
            }
            Ok(draft) if self.is_read_by_pegboard(found) => {
                server.state = ServerState::Read;
                server.draft = Some(draft);
            }
            Ok(mut draft) => {
                if entry.is_repeated {
                    draft.notes.push(
                        "the name is defined twice in the file; the last one is used".to_owned(),
                    );
                }
                let hash = identity(&draft);
                let same = hash.and_then(|hash| self.known.get(&hash).copied());
                if let Some(index) = same {
                    self.merge(index, server, draft);
                    return index;
                }
                if let Some(hash) = hash {
                    self.known.insert(hash, self.plan.servers.len());
                }
                server.draft = Some(draft);
            }
        }
        self.plan.servers.push(server);
        self.plan.servers.len() - 1
    }

    fn is_read_by_pegboard(&self, found: &FoundFile) -> bool {
        self.config.files.iter().any(|file| file.path == found.path)
    }

    /// Adds a source to a server. Lists of tools that differ are not combined, because that could permit more than
    /// either file does.
    fn merge(&mut self, index: usize, other: ImportServer, draft: Draft) {
        let Some(server) = self.plan.servers.get_mut(index) else {
            return;
        };
        // A project's file changes nothing about a server of the user's own files: no rule, and not whether it is
        // enabled.
        match (server.scope, other.scope) {
            (FileScope::User, FileScope::Project) => {
                server.sources.extend(other.sources);
                return;
            }
            (FileScope::Project, FileScope::User) => {
                let own = ImportServer {
                    draft: Some(draft),
                    ..other
                };
                let former = std::mem::replace(server, own);
                server.sources.extend(former.sources);
                return;
            }
            _ => {}
        }
        if let Some(first) = &mut server.draft {
            first.is_enabled |= draft.is_enabled;
            let (one, two) = (&first.rules, &draft.rules);
            if one.policies != two.policies || one.available != two.available {
                let client = other
                    .sources
                    .first()
                    .map_or("", |source| source.client_name);
                first.notes.push(format!(
                    "the lists of tools of {client} differ and are not carried over"
                ));
            }
            let more: Vec<_> = draft
                .notes
                .into_iter()
                .filter(|note| !first.notes.contains(note))
                .collect();
            first.notes.extend(more);
        }
        server.sources.extend(other.sources);
    }

    /// Compares with the configuration, and gives names.
    fn complete(&mut self, store: &SecretStore) {
        let configured = configured_servers(self.config);
        let mut stored = StoredValues::new(store);
        let names = self.config.servers.keys().map(ServerName::to_string);
        let names = names.chain(self.config.broken.keys().cloned());
        let names = names.chain(configured.iter().map(|server| server.name.to_string()));
        let mut names = ServerNames::new(names);
        for server in self
            .plan
            .servers
            .iter_mut()
            .filter(|server| server.state == ServerState::New)
        {
            compare(server, &configured, &mut stored, &mut names);
        }
        let stored_names: BTreeSet<String> = store
            .names()
            .into_iter()
            .map(|secret| secret.name)
            .collect();
        let mut secrets = SecretNames::new(stored_names, stored);
        for server in &self.plan.servers {
            let prompts = server.draft.iter().flat_map(Draft::prompts);
            prompts.for_each(|(_, name, _)| secrets.reserve(name));
        }
        let project = self.plan.project_file.clone();
        for server in &mut self.plan.servers {
            let file = match server.scope {
                FileScope::User => &self.plan.user_file,
                FileScope::Project => &project,
            };
            describe(server, &mut secrets);
            if let (true, Some(draft), Some(name)) =
                (server.is_importable(), &server.draft, &server.name)
                && let Err(problem) =
                    check_server(draft, name, server.scope, file, self.places.env())
            {
                server.state = ServerState::Broken;
                server.problem = Some(problem);
            }
        }
    }
}

/// Removes the line of the file. Masking knows which values of Pegboard's own files are secret, but not which ones of
/// any client's.
fn without_text(mut problem: Problem) -> Problem {
    problem.line_text = None;
    problem
}

fn compare(
    server: &mut ImportServer,
    configured: &[Configured],
    stored: &mut StoredValues<'_>,
    names: &mut ServerNames,
) {
    let Some(draft) = &server.draft else {
        return;
    };
    if let Some(same) = configured.iter().find(|known| known.is_same(draft, stored)) {
        server.state = ServerState::Same;
        server.existing = Some(same.name.clone());
        return;
    }
    let client = server.sources.first().map_or("", |source| source.client);
    match names.give(&server.raw_name, client) {
        Some(given) => {
            if given.differs {
                server.state = ServerState::Differs;
            }
            server.name = Some(given.name);
        }
        None => {
            server.state = ServerState::Broken;
            let message = "no valid server name can be made of its name";
            server.problem = Some(
                Problem::error(Reason::ConfigName, message)
                    .help("rename it in the client's file, or add it with `pegboard add`")
                    .of_server(&server.original_name),
            );
        }
    }
}

/// Fills in what people and programs see of a server.
fn describe(server: &mut ImportServer, secrets: &mut SecretNames<'_>) {
    let Some(draft) = server.draft.clone() else {
        return;
    };
    server.enabled = draft.is_enabled;
    let name = server.name.clone().or_else(|| server.existing.clone());
    if server.is_importable() {
        name_secrets(server, &draft, secrets);
    }
    for (place, name, prompt) in draft.prompts() {
        server.required_secrets.push(RequiredSecret {
            place,
            name: name.to_owned(),
            prompt: prompt.to_owned(),
            is_stored: secrets.is_stored(name),
        });
    }
    server.policies = draft.rules.policies.iter().cloned().collect();
    server.available_tools.clone_from(&draft.rules.available);
    server
        .notes
        .extend(draft.notes.iter().chain(&draft.rules.notes).cloned());
    let shown = name.as_ref().map_or("SERVER", ServerName::as_str);
    for (key, tool) in &draft.rules.approved {
        let pattern = quoted(&format!("{shown}/{tool}"));
        server.notes.push(format!(
            "`{key}` is not carried over: to run it without asking, type `pegboard policy set {pattern} allow`"
        ));
    }
    let hidden = |_: &Secret, _: &str| "hidden".to_owned();
    let name_of = |value: &Secret, hint: &str| server.secret_name(value, hint);
    let form = match server.is_importable() {
        true => SecretForm::Reference(&name_of),
        false => SecretForm::Reference(&hidden),
    };
    let placeholder = ServerName::parse("server").ok();
    let written = name
        .or(placeholder)
        .and_then(|name| draft.server(name, &form));
    server.definition = written.as_ref().map(masked_definition);
    server.settings = written.as_ref().map(shown_settings).unwrap_or_default();
}

fn name_secrets(server: &mut ImportServer, draft: &Draft, secrets: &mut SecretNames<'_>) {
    let Some(name) = server.name.clone() else {
        return;
    };
    for (place, value, hint) in draft.secrets() {
        let Some(secret) = secrets.give(&name, hint, value) else {
            continue;
        };
        server.secrets.push(ImportSecret {
            place,
            is_stored: secrets.is_stored(&secret),
            name: secret.clone(),
        });
        server.secret_names.push(NamedSecret {
            name: secret,
            hint: hint.to_owned(),
            value: value.clone(),
        });
    }
}

//! Combines the servers of all layers.

use std::collections::BTreeMap;

use pegboard_model::{ClientRequests, Layer, PolicyRule, Sandbox, ShareScope};

use crate::command_line::masked_command_line;
use crate::env_overrides::{
    EnvOverride, apply_env_overrides, has_env_overrides, servers_from_environment,
};
use crate::environment::Environment;
use crate::explain::EffectiveValue;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::node::Entry;
use crate::policies::retained_rules;
use crate::problem::{shown_path, shown_text};
use crate::review::ReplacedServer;
use crate::server::Definition;
use crate::template::Resolver;

/// A server after all files were merged.
pub(crate) struct MergedServer<'n> {
    pub(crate) definition: Option<Box<Definition>>,
    pub(crate) layer: Layer,
    /// File, root table and entry; `None` if only the environment defines the server.
    pub(crate) place: Option<(&'n ConfigFile, &'n str, &'n Entry)>,
    pub(crate) problems: Vec<usize>,
    /// The place of the definition that this one replaced.
    pub(crate) replaces: Option<String>,
    /// The user's own server that a project's file replaced. Kept when a second project file replaces the first one.
    pub(crate) own: Option<ReplacedServer>,
    pub(crate) env_overrides: Vec<EnvOverride>,
    /// Policies of the user's own server that a project's file replaced.
    pub(crate) user_rules: Vec<PolicyRule>,
    /// Client requests that the user's own file permits for such a server.
    pub(crate) user_requests: ClientRequests,
    /// The scope that the user's own file sets for such a server.
    pub(crate) user_share: Option<ShareScope>,
    /// The sandbox that the user's own file sets for such a server.
    pub(crate) user_sandbox: Option<Sandbox>,
}

impl<'n> MergedServer<'n> {
    fn new(definition: Option<Box<Definition>>, layer: Layer) -> Self {
        Self {
            definition,
            layer,
            place: None,
            problems: Vec::new(),
            replaces: None,
            own: None,
            env_overrides: Vec::new(),
            user_rules: Vec::new(),
            user_requests: ClientRequests::default(),
            user_share: None,
            user_sandbox: None,
        }
    }

    fn file(&self) -> Option<&'n ConfigFile> {
        self.place.map(|(file, _, _)| file)
    }

    fn shown_place(&self) -> Option<String> {
        self.place.map(|(file, _, entry)| {
            let line = file.source.line_of(entry.key_start);
            format!("replaces {}:{line}", shown_path(&file.source.path))
        })
    }
}

impl MergedServer<'_> {
    /// Returns the user's own server that is replaced by a definition of this layer.
    fn own_server(&mut self, by: Layer) -> Option<ReplacedServer> {
        match (by, self.layer) {
            (Layer::Project, Layer::Project) => self.own.take(),
            (Layer::Project, _) => Some(ReplacedServer {
                file: self.file().map(|file| shown_path(&file.source.path)),
                line: (self.place).map(|(file, _, entry)| file.source.line_of(entry.key_start)),
                command: (self.definition.as_ref())
                    .map(|definition| masked_command_line(&definition.transport)),
            }),
            _ => None,
        }
    }

    /// Returns the policies that stay in effect when a file of this layer redefines the server.
    fn rules_to_keep(&mut self, by: Layer) -> Vec<PolicyRule> {
        let mut user_rules = std::mem::take(&mut self.user_rules);
        if by == Layer::Project
            && self.layer != Layer::Project
            && let Some(definition) = &self.definition
        {
            user_rules.extend(retained_rules(self.file(), self.layer, definition));
        }
        user_rules
    }

    /// Returns the client requests that stay permitted when a file of this layer redefines the server.
    fn requests_to_keep(&self, by: Layer) -> ClientRequests {
        match &self.definition {
            Some(own) if by == Layer::Project && self.layer != Layer::Project => {
                self.user_requests.and(own.client_requests())
            }
            _ => self.user_requests,
        }
    }

    /// Returns the sandbox that a file of this layer cannot widen when it redefines the server.
    fn sandbox_to_keep(&mut self, by: Layer) -> Option<Sandbox> {
        match &mut self.definition {
            Some(own) if by == Layer::Project && self.layer != Layer::Project => {
                own.options.sandbox.take()
            }
            _ => self.user_sandbox.take(),
        }
    }

    /// Returns the scope that a file of this layer cannot widen when it redefines the server.
    fn share_to_keep(&self, by: Layer) -> Option<ShareScope> {
        match &self.definition {
            Some(own) if by == Layer::Project && self.layer != Layer::Project => {
                own.options.share.scope()
            }
            _ => self.user_share,
        }
    }
}

pub(crate) fn merge_servers<'n>(
    files: &'n [ConfigFile],
    values: &Resolver<'_>,
    loaded: &mut LoadedConfig,
) -> BTreeMap<String, MergedServer<'n>> {
    let mut merged: BTreeMap<String, MergedServer<'n>> = BTreeMap::new();
    let mut room = values.limits.servers;
    for file in files {
        let found = file.servers(&loaded.settings, values, room, &mut loaded.problems);
        room = room.saturating_sub(found.len());
        for (root, entry) in file.own_entries(&loaded.settings) {
            let key = format!("{}.{}", root.key, shown_text(&entry.key, 60));
            let value = "Pegboard itself (ignored)".to_owned();
            let row = EffectiveValue::new(key, value, file.layer);
            loaded.values.push(row.at(&file.source, entry.key_start));
        }
        for server in found {
            let key = server.name.map_or(server.shown, |name| name.to_string());
            let mut new = MergedServer::new(server.definition, file.layer);
            new.place = Some((file, server.root, server.entry));
            new.problems = server.problems;
            match merged.get_mut(&key) {
                // Different invalid names of one file may look the same when escaped; keep the problems of all.
                Some(old) if old.file().is_some_and(|old| std::ptr::eq(old, file)) => {
                    old.problems.append(&mut new.problems);
                }
                Some(old) => {
                    new.replaces = old.shown_place();
                    new.own = old.own_server(file.layer);
                    new.user_share = old.share_to_keep(file.layer);
                    new.user_sandbox = old.sandbox_to_keep(file.layer);
                    new.user_requests = old.requests_to_keep(file.layer);
                    new.user_rules = old.rules_to_keep(file.layer);
                    *old = new;
                }
                None => drop(merged.insert(key, new)),
            }
        }
    }
    merged
}

pub(crate) fn apply_environment(
    merged: &mut BTreeMap<String, MergedServer<'_>>,
    env: &Environment,
    loaded: &mut LoadedConfig,
) {
    if !has_env_overrides(env) {
        return;
    }
    let known = |name: &str| merged.contains_key(name);
    let defined = servers_from_environment(known, &loaded.settings, env, &mut loaded.problems);
    for (name, definition) in defined {
        let new = MergedServer::new(Some(Box::new(definition)), Layer::Environment);
        merged.insert(name.to_string(), new);
    }
    for (name, server) in merged.iter_mut() {
        if let Some(definition) = &mut server.definition {
            server.env_overrides = apply_env_overrides(name, definition, env, &mut loaded.problems);
        }
    }
}

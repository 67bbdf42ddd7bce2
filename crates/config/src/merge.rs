//! Servers of all layers laid over each other.

use std::collections::BTreeMap;

use pegboard_model::{ClientRequests, Layer, PolicyRule};

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
use crate::template::Values;

/// A server after the files were laid over each other.
pub(crate) struct MergedServer<'n> {
    pub(crate) definition: Option<Box<Definition>>,
    pub(crate) layer: Layer,
    /// Its place, unless only the environment defines it.
    pub(crate) place: Option<(&'n ConfigFile, &'n str, &'n Entry)>,
    pub(crate) problems: Vec<usize>,
    /// The definition of a lower layer that it took the place of.
    pub(crate) replaces: Option<String>,
    /// The user's own server that a project's file replaced, also when a second project file came after.
    pub(crate) own: Option<ReplacedServer>,
    pub(crate) env_overrides: Vec<EnvOverride>,
    /// What the user's own file says about policies of a server that a project's file replaced.
    pub(crate) kept: Vec<PolicyRule>,
    /// What the user's own file lets such a server request from clients.
    pub(crate) kept_requests: ClientRequests,
}

impl<'n> MergedServer<'n> {
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
    /// The user's own server that is lost when a file of this layer defines the server.
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

    /// The rules that stay when a file of this layer defines the server anew.
    fn rules_to_keep(&mut self, by: Layer) -> Vec<PolicyRule> {
        let mut kept = std::mem::take(&mut self.kept);
        if by == Layer::Project
            && self.layer != Layer::Project
            && let Some(definition) = &self.definition
        {
            kept.extend(retained_rules(self.file(), self.layer, definition));
        }
        kept
    }

    /// What a server may request from clients at the most when a file of this layer defines it again.
    fn requests_to_keep(&self, by: Layer) -> ClientRequests {
        match &self.definition {
            Some(own) if by == Layer::Project && self.layer != Layer::Project => {
                self.kept_requests.and(own.client_requests())
            }
            _ => self.kept_requests,
        }
    }
}

pub(crate) fn merge_servers<'n>(
    files: &'n [ConfigFile],
    values: &Values<'_>,
    loaded: &mut LoadedConfig,
) -> BTreeMap<String, MergedServer<'n>> {
    let mut merged: BTreeMap<String, MergedServer<'n>> = BTreeMap::new();
    let mut room = values.limits.servers;
    for file in files {
        let found = file.servers(&loaded.settings, values, room, &mut loaded.problems);
        room = room.saturating_sub(found.len());
        for (root, entry) in file.own_entries(&loaded.settings) {
            loaded.values.push(EffectiveValue {
                key: format!("{}.{}", root.key, shown_text(&entry.key, 60)),
                value: "Pegboard itself, not a server of it".to_owned(),
                layer: file.layer,
                file: Some(file.source.path.clone()),
                line: Some(file.source.line_of(entry.key_start)),
                note: None,
            });
        }
        for server in found {
            let key = server.name.map_or(server.shown, |name| name.to_string());
            let mut new = MergedServer {
                definition: server.definition,
                layer: file.layer,
                place: Some((file, server.root, server.entry)),
                problems: server.problems,
                replaces: None,
                own: None,
                env_overrides: Vec::new(),
                kept: Vec::new(),
                kept_requests: ClientRequests::default(),
            };
            match merged.get_mut(&key) {
                // Broken servers of one file may be shown alike; the reader sees the problems of all.
                Some(old) if old.file().is_some_and(|old| std::ptr::eq(old, file)) => {
                    old.problems.append(&mut new.problems);
                }
                Some(old) => {
                    new.replaces = old.shown_place();
                    new.own = old.own_server(file.layer);
                    new.kept_requests = old.requests_to_keep(file.layer);
                    new.kept = old.rules_to_keep(file.layer);
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
        let definition = Some(Box::new(definition));
        let (problems, env_overrides) = (Vec::new(), Vec::new());
        let new = MergedServer {
            definition,
            layer: Layer::Environment,
            place: None,
            problems,
            replaces: None,
            own: None,
            env_overrides,
            kept: Vec::new(),
            kept_requests: ClientRequests::default(),
        };
        merged.insert(name.to_string(), new);
    }
    for (name, server) in merged.iter_mut() {
        if let Some(definition) = &mut server.definition {
            server.env_overrides = apply_env_overrides(name, definition, env, &mut loaded.problems);
        }
    }
}

//! A machine with clients' files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pegboard_config::clients::{
    ApplyOptions, ImportPlan, ImportReport, ImportServer, Places, Selection, ServerState,
};
use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, SecretStore, load};
use pegboard_model::{HashKey, Limits, ServerName};

/// A home folder and a project folder.
pub(super) struct Machine {
    folder: tempfile::TempDir,
    pub(super) vars: BTreeMap<String, String>,
}

impl Machine {
    /// Creates a machine without files.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project/.git"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            vars: BTreeMap::new(),
        }
    }

    /// Creates a machine with the fixtures of some clients.
    pub(super) fn with(clients: &[&str]) -> Self {
        let machine = Self::new();
        clients.iter().for_each(|client| machine.add(client));
        machine
    }

    /// Copies the fixtures of a client.
    pub(super) fn add(&self, client: &str) {
        let fixtures = fixtures().join(client);
        assert!(fixtures.is_dir(), "no fixtures of {client}");
        for root in ["home", "project"] {
            self.copy(&fixtures.join(root), &self.path(root));
        }
    }

    fn copy(&self, from: &Path, to: &Path) {
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let (path, to) = (entry.path(), to.join(entry.file_name()));
            if path.is_dir() {
                self.copy(&path, &to);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text
                .replace("@HOME@", &self.path("home").display().to_string())
                .replace("@PROJECT@", &self.path("project").display().to_string());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, text).unwrap();
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn env(&self) -> Environment {
        let home = self.path("home");
        let mut vars = self.vars.clone();
        vars.insert("HOME".to_owned(), home.display().to_string());
        Environment {
            vars,
            home,
            working_dir: self.path("project"),
        }
    }

    pub(super) fn load(&self) -> LoadedConfig {
        let env = self.env();
        load(
            &LoadOptions::default(),
            &env,
            &Paths::from_env(&env),
            &HashKey([7; 32]),
            &Limits::default(),
        )
    }

    pub(super) fn secrets(&self) -> SecretStore {
        SecretStore::open(&Paths::from_env(&self.env()).state_dir)
    }

    pub(super) fn plan(&self) -> ImportPlan {
        let env = self.env();
        let mut places = Places::new(&env);
        places.is_macos = false;
        ImportPlan::scan(&places, &self.load(), &self.secrets())
    }

    /// Imports everything, including the project's servers.
    pub(super) fn import(&self) -> ImportReport {
        let mut selection = Selection::default();
        selection.project_servers = true;
        let options = ApplyOptions::default();
        self.plan()
            .apply(&selection, &options, &self.secrets())
            .unwrap()
    }

    pub(super) fn config(&self) -> String {
        fs::read_to_string(self.path("home/.config/pegboard/config.toml")).unwrap_or_default()
    }

    pub(super) fn project_config(&self) -> String {
        fs::read_to_string(self.path("project/.pegboard/config.toml")).unwrap_or_default()
    }

    /// Replaces the folders of the test.
    pub(super) fn shown(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "[ROOT]")
    }
}

pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/fixtures")
}

/// Formats the servers of a plan, one line each, with what people see of them.
pub(super) fn summary(machine: &Machine, plan: &ImportPlan) -> String {
    let mut lines = Vec::new();
    for server in &plan.servers {
        let state = format!("{:?}", server.state).to_lowercase();
        let name = server.name.as_ref().or(server.existing.as_ref());
        let name = name.map_or("-", ServerName::as_str);
        let definition = server.definition.as_deref().unwrap_or_default();
        let off = if server.enabled { "" } else { " (disabled)" };
        lines.push(format!(
            "{state} {} -> {name}{off}: {definition}",
            server.original_name
        ));
        for secret in &server.secrets {
            lines.push(format!("  secret {} = {}", secret.place, secret.name));
        }
        for secret in &server.required_secrets {
            lines.push(format!(
                "  asks {} = {} ({})",
                secret.place, secret.name, secret.prompt
            ));
        }
        for (pattern, policy) in &server.policies {
            lines.push(format!("  policy {pattern} = {}", policy.as_str()));
        }
        for tool in &server.available_tools {
            lines.push(format!("  available {tool}"));
        }
        for note in &server.notes {
            lines.push(format!("  note {note}"));
        }
        if let Some(problem) = &server.problem {
            let line = problem
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            lines.push(format!("  because {}{line}", problem.message));
        }
    }
    for file in plan.files.iter().filter(|file| file.problem.is_some()) {
        let problem = file.problem.as_ref().unwrap();
        lines.push(format!(
            "{:?} {}: {}",
            file.state, file.client, problem.message
        ));
    }
    machine.shown(&lines.join("\n"))
}

/// Returns the server of a name in a client's file.
pub(super) fn find<'p>(plan: &'p ImportPlan, name: &str) -> &'p ImportServer {
    let found = plan
        .servers
        .iter()
        .find(|server| server.original_name == name);
    found.unwrap_or_else(|| panic!("no server {name}"))
}

pub(super) fn state(plan: &ImportPlan, name: &str) -> ServerState {
    find(plan, name).state
}

//! Configuration changes of the HTTP API, written to config files.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_config::edit;
use pegboard_config::{LoadedConfig, Problem, TrustStore, write_file_atomically};
use pegboard_gateway::http;
use pegboard_model::{
    Layer, Policy, Reason, Secret, ServerName, ServerSpec, ToolError, ToolResult, TrustState,
};
use pegboard_store::ServerLogs;
use pegboard_upstream::LogoutOutcome;
use pegboard_web::{
    ClientInfo, ConfigAdmin, ConnectionChange, ConnectionPreview, ImportOutcome, ImportPreview,
    LoginAttempt, NewServer, Project, ProjectView, SecretHandling, StartedLogin, TrustReview,
};
use serde_json::{Map, Value};

use super::client_admin::ClientAdmin;
use super::config_reloader::ConfigReloader;
use super::projects::Projects;
use super::server_logins::ServerLogins;

/// Implements the API's configuration changes with the config files.
pub(crate) struct FileConfigAdmin {
    reload: Arc<ConfigReloader>,
    projects: Arc<Projects>,
    logs: ServerLogs,
    needs_token: bool,
    clients: ClientAdmin,
    logins: ServerLogins,
    /// Serializes imports and connections, so that two of them do not work with the same plan.
    client_changes: tokio::sync::Mutex<()>,
}

impl FileConfigAdmin {
    pub(crate) fn new(
        reload: Arc<ConfigReloader>,
        projects: Arc<Projects>,
        logs: ServerLogs,
        needs_token: bool,
        command: &str,
        logins: pegboard_upstream::Logins,
    ) -> Self {
        Self {
            logins: ServerLogins::new(logins, reload.hub.clone()),
            clients: ClientAdmin::new(reload.files.clone(), command),
            client_changes: tokio::sync::Mutex::default(),
            reload,
            projects,
            logs,
            needs_token,
        }
    }

    fn state_folder(&self) -> &Path {
        &self.reload.files.paths.state_dir
    }

    /// Returns a configured server that may be used.
    fn spec_of(&self, server: &ServerName) -> ToolResult<ServerSpec> {
        let loaded = self.reload.loaded();
        let Some(spec) = loaded.servers.get(server) else {
            let message = format!("no server `{server}` is configured");
            return Err(ToolError::new(Reason::ServerUnknown, message).at_server(server));
        };
        match (spec.enabled, spec.trust_state) {
            (false, _) => Err(spec.disabled_error()),
            (true, TrustState::Granted) => Ok(spec.clone()),
            (true, TrustState::Pending | TrustState::Changed) => {
                let message = format!("server `{server}` is not trusted");
                Err(ToolError::new(Reason::ServerPending, message).at_server(server))
            }
        }
    }

    /// Returns the file that defines a server.
    fn file_of(&self, server: &ServerName) -> ToolResult<PathBuf> {
        let loaded = self.reload.loaded();
        let origin = loaded.servers.get(server).map(|spec| spec.origin.clone());
        match origin.map(|origin| (origin.layer, origin.file)) {
            Some((Layer::User | Layer::Project | Layer::Flag, Some(file))) => Ok(file),
            _ => {
                let message = format!("server `{server}` is not defined in a config file");
                let error = ToolError::new(Reason::ConfigInvalid, message).at_server(server);
                Err(error
                    .with_remedy("Change it where it is defined: in the environment or by a flag."))
            }
        }
    }

    /// Changes a file and applies it. If the server is invalid afterwards, the file is restored.
    async fn edit(
        &self,
        file: PathBuf,
        server: &ServerName,
        change: impl FnOnce(&Path) -> Result<(), Problem> + Send + 'static,
    ) -> ToolResult<()> {
        let edited = file.clone();
        let before = run(move || {
            // A pipe or device is not read, because that could block forever.
            let about = std::fs::metadata(&edited).ok().filter(Metadata::is_file);
            let before = about.and_then(|about| {
                let text = std::fs::read(&edited).ok()?;
                Some((text, about.permissions().mode()))
            });
            change(&edited).map(|()| before)
        })
        .await?;
        let reloaded = self.reload.apply().await;
        let loaded = self.reload.loaded();
        let broken = loaded.broken_problem(server.as_str()).cloned();
        let unreadable = match reloaded.change {
            Some(_) => None,
            None => reloaded
                .problems
                .into_iter()
                .find(|problem| problem.server.is_none()),
        };
        let Some(problem) = broken.or(unreadable) else {
            return Ok(());
        };
        run(move || match before {
            Some((text, mode)) => write_file_atomically(&file, &text, mode & 0o777)
                .map_err(|error| Problem::error(Reason::ConfigIo, error.to_string())),
            None => Ok(()),
        })
        .await?;
        self.reload.apply().await;
        Err(config_error(problem))
    }
}

/// Runs blocking work.
async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> ToolResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(config_error),
        Err(_) => Err(ToolError::new(Reason::Internal, "the change was cancelled")),
    }
}

fn config_error(problem: Problem) -> ToolError {
    let place = match (&problem.file, problem.line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        _ => String::new(),
    };
    let message = format!("{place}{}", problem.message);
    ToolError::new(problem.reason, message).with_remedy(problem.help)
}

#[async_trait]
impl ConfigAdmin for FileConfigAdmin {
    fn projects(&self) -> Vec<Project> {
        self.projects.list()
    }

    fn project(&self, id: &str) -> Option<ProjectView> {
        self.projects.view(id)
    }

    fn essential(&self) -> Vec<String> {
        self.reload.loaded().settings.essential.clone()
    }

    fn config_values(&self, server: &ServerName) -> Vec<(String, String)> {
        let loaded: Arc<LoadedConfig> = self.reload.loaded();
        let start = format!("servers.{server}.");
        let rows = loaded.values.iter().filter_map(|row| {
            let key = row.key.strip_prefix(&start)?;
            Some((key.to_owned(), row.value.clone()))
        });
        rows.collect()
    }

    fn review(&self, server: &ServerName) -> Option<TrustReview> {
        self.reload.loaded().reviews.get(server).cloned()
    }

    async fn logs(&self, server: &ServerName) -> ToolResult<String> {
        let (logs, server) = (self.logs.clone(), server.clone());
        let read = tokio::task::spawn_blocking(move || logs.read(&server)).await;
        read.unwrap_or_else(|_| Ok(String::new()))
    }

    async fn add_server(&self, server: NewServer) -> ToolResult<()> {
        let file = self.reload.loaded().edit_target.clone();
        let name = server.name.clone();
        let is_new = !file.exists();
        let add = move |file: &Path| edit::add_server(file, &server, false);
        let added = self.edit(file.clone(), &name, add).await;
        if added.is_err() && is_new {
            // There was no file to restore.
            let removed = name.clone();
            let _ = run(move || edit::remove_server(&file, &removed)).await;
            self.reload.apply().await;
        }
        added
    }

    async fn change_server(
        &self,
        server: &ServerName,
        changes: Map<String, Value>,
    ) -> ToolResult<()> {
        let (file, name) = (self.file_of(server)?, server.clone());
        let change = move |file: &Path| edit::set_values(file, &name, &changes);
        self.edit(file, server, change).await
    }

    async fn remove_server(&self, server: &ServerName) -> ToolResult<()> {
        let (file, name) = (self.file_of(server)?, server.clone());
        let spec = self.reload.loaded().servers.get(server).cloned();
        run(move || edit::remove_server(&file, &name)).await?;
        self.reload.apply().await;
        if let Some(spec) = spec {
            self.logins.forget(&spec).await;
        }
        if self.reload.hub.forget_removed(server).await? {
            let (logs, name) = (self.logs.clone(), server.clone());
            // A log that cannot be deleted does not make the removal fail.
            let _ = tokio::task::spawn_blocking(move || logs.forget(&name)).await;
        }
        Ok(())
    }

    async fn begin_login(&self, server: &ServerName) -> ToolResult<StartedLogin> {
        self.logins.begin(&self.spec_of(server)?).await
    }

    fn login_attempt(&self, server: &ServerName) -> Option<LoginAttempt> {
        self.logins.attempt(server)
    }

    async fn logout(&self, server: &ServerName) -> ToolResult<LogoutOutcome> {
        self.logins.logout(&self.spec_of(server)?).await
    }

    async fn enable_server(&self, server: &ServerName, enabled: bool) -> ToolResult<()> {
        let loaded = self.reload.loaded();
        let spec = loaded.servers.get(server);
        if let Some(error) = spec.and_then(|spec| spec.variable_error(enabled)) {
            return Err(error);
        }
        let (file, name) = (self.file_of(server)?, server.clone());
        let switch = move |file: &Path| edit::set_enabled(file, &name, enabled);
        self.edit(file, server, switch).await
    }

    async fn trust_server(&self, server: &ServerName, hash: &str) -> ToolResult<()> {
        let loaded = self.reload.loaded();
        let spec = loaded.servers.get(server);
        let (Some(spec), Some(project)) = (spec, loaded.project.clone()) else {
            let message = format!("server `{server}` does not belong to a project");
            return Err(ToolError::new(Reason::ConfigInvalid, message).at_server(server));
        };
        if spec.trust_state == TrustState::Granted {
            let message = format!("server `{server}` is already trusted");
            let error = ToolError::new(Reason::ConfigInvalid, message).at_server(server);
            return Err(error.with_remedy("Only servers of a project's file need trust."));
        }
        if spec.hash.to_string() != hash {
            let message =
                format!("the definition of server `{server}` changed since it was reviewed");
            let error = ToolError::new(Reason::ConfigChanged, message).at_server(server);
            return Err(error.with_remedy(
                "Get the server again, review `trust`, and send its `definitionHash`.",
            ));
        }
        if let Some(review) = loaded.reviews.get(server) {
            review.check()?;
        }
        let (state, name, hash) = (self.state_folder().to_owned(), server.clone(), spec.hash);
        run(move || TrustStore::open(&state).grant(&project, &name, &hash)).await?;
        self.reload.apply().await;
        Ok(())
    }

    async fn set_rule(
        &self,
        server: Option<&ServerName>,
        pattern: &str,
        policy: Option<Policy>,
    ) -> ToolResult<bool> {
        let file = match server {
            Some(server) => self.file_of(server)?,
            None => self.reload.loaded().edit_target.clone(),
        };
        let (server, pattern) = (server.cloned(), pattern.to_owned());
        let changed = run(move || edit::set_rule(&file, server.as_ref(), &pattern, policy)).await?;
        self.reload.apply().await;
        Ok(changed)
    }

    async fn clients(&self) -> ToolResult<Vec<ClientInfo>> {
        let clients = self.clients.clone();
        run(move || clients.clients()).await
    }

    async fn import_plan(&self) -> ToolResult<ImportPreview> {
        let clients = self.clients.clone();
        run(move || Ok(clients.import_plan())).await
    }

    async fn import(
        &self,
        plan_hash: &str,
        servers: Vec<String>,
        secrets: SecretHandling,
    ) -> ToolResult<ImportOutcome> {
        let _turn = self.client_changes.lock().await;
        let (clients, hash) = (self.clients.clone(), plan_hash.to_owned());
        let outcome = run(move || clients.import(&hash, servers, secrets)).await?;
        self.reload.apply().await;
        Ok(outcome)
    }

    async fn connection_plan(
        &self,
        client: &str,
        change: ConnectionChange,
    ) -> ToolResult<ConnectionPreview> {
        let (clients, key) = (self.clients.clone(), client.to_owned());
        run(move || clients.connection_plan(&key, change)).await
    }

    async fn change_connection(
        &self,
        client: &str,
        change: ConnectionChange,
        plan_hash: &str,
    ) -> ToolResult<ConnectionPreview> {
        let _turn = self.client_changes.lock().await;
        let (clients, key) = (self.clients.clone(), client.to_owned());
        let hash = plan_hash.to_owned();
        run(move || clients.change_connection(&key, change, &hash)).await
    }

    fn call_token(&self) -> ToolResult<Option<Secret>> {
        match self.needs_token {
            true => http::token(self.state_folder()).map(Some),
            false => Ok(None),
        }
    }
}

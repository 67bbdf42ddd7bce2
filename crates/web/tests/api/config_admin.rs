//! A configuration in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use pegboard_hub::Hub;
use pegboard_model::{
    Policy, Reason, Secret, ServerName, ServerSpec, Template, ToolError, ToolResult, Transport,
};
use pegboard_web::{
    ClientInfo, ConfigAdmin, ConnectionChange, ConnectionPreview, ImportOutcome, ImportPreview,
    NewServer, NewTransport, Project, ProjectView, SecretHandling, TrustReview,
};
use serde_json::{Map, Value};

use crate::fake_servers::spec;

/// The configured servers, and the hub that they are applied to.
pub(crate) struct FakeConfigAdmin {
    hub: Hub,
    servers: Mutex<BTreeMap<String, ServerSpec>>,
    pub(crate) rules: Mutex<BTreeMap<String, Policy>>,
}

impl FakeConfigAdmin {
    pub(crate) fn new(hub: Hub, names: &[&str]) -> Self {
        let servers = names.iter().map(|name| ((*name).to_owned(), spec(name)));
        Self {
            hub,
            servers: Mutex::new(servers.collect()),
            rules: Mutex::default(),
        }
    }

    async fn apply(&self) {
        let servers: Vec<_> = self.servers.lock().unwrap().values().cloned().collect();
        self.hub.apply(servers).await;
    }

    fn change(&self, server: &ServerName, change: impl FnOnce(&mut ServerSpec)) {
        let mut servers = self.servers.lock().unwrap();
        change(servers.get_mut(server.as_str()).unwrap());
    }

    fn project_of(&self, id: &str) -> Project {
        Project {
            id: id.to_owned(),
            name: id.to_owned(),
            folder: None,
            is_running: id == "default",
            last_used: None,
        }
    }
}

#[async_trait]
impl ConfigAdmin for FakeConfigAdmin {
    fn projects(&self) -> Vec<Project> {
        vec![self.project_of("default")]
    }

    fn project(&self, id: &str) -> Option<ProjectView> {
        (id == "default").then(|| ProjectView {
            project: self.project_of(id),
            catalog: self.hub.catalog(),
            files: vec!["/home/user/.config/pegboard/config.toml".into()],
            problems: Vec::new(),
        })
    }

    fn essential(&self) -> Vec<String> {
        Vec::new()
    }

    fn config_values(&self, _: &ServerName) -> Vec<(String, String)> {
        vec![("command".to_owned(), "none".to_owned())]
    }

    fn review(&self, _: &ServerName) -> Option<TrustReview> {
        None
    }

    async fn logs(&self, _: &ServerName) -> ToolResult<String> {
        Ok("first\nsecond\nthird\n".to_owned())
    }

    async fn add_server(&self, server: NewServer) -> ToolResult<()> {
        let mut spec = spec(server.name.as_str());
        if let NewTransport::Stdio { command, .. } = &server.transport {
            set_command(&mut spec, command);
        }
        spec.enabled = server.enabled;
        let name = server.name.to_string();
        self.servers.lock().unwrap().insert(name, spec);
        self.apply().await;
        Ok(())
    }

    async fn change_server(
        &self,
        server: &ServerName,
        changes: Map<String, Value>,
    ) -> ToolResult<()> {
        self.change(server, |spec| {
            if let Some(command) = changes.get("command").and_then(Value::as_str) {
                set_command(spec, command);
            }
            if let Some(about) = changes.get("description").and_then(Value::as_str) {
                spec.description = Some(about.to_owned());
            }
        });
        self.apply().await;
        Ok(())
    }

    async fn remove_server(&self, server: &ServerName) -> ToolResult<()> {
        self.servers.lock().unwrap().remove(server.as_str());
        self.apply().await;
        Ok(())
    }

    async fn enable_server(&self, server: &ServerName, enabled: bool) -> ToolResult<()> {
        self.change(server, |spec| spec.enabled = enabled);
        self.apply().await;
        Ok(())
    }

    async fn trust_server(&self, _: &ServerName, _: &str) -> ToolResult<()> {
        Ok(())
    }

    async fn set_rule(
        &self,
        _: Option<&ServerName>,
        pattern: &str,
        policy: Option<Policy>,
    ) -> ToolResult<bool> {
        let mut rules = self.rules.lock().unwrap();
        Ok(match policy {
            Some(policy) => rules.insert(pattern.to_owned(), policy) != Some(policy),
            None => rules.remove(pattern).is_some(),
        })
    }

    async fn clients(&self) -> ToolResult<Vec<ClientInfo>> {
        Ok(vec![ClientInfo {
            client: "cursor".to_owned(),
            name: "Cursor".to_owned(),
            state: "direct".to_owned(),
            can_connect: true,
            ..ClientInfo::default()
        }])
    }

    async fn import_plan(&self) -> ToolResult<ImportPreview> {
        Ok(ImportPreview {
            plan_hash: PLAN.to_owned(),
            ..ImportPreview::default()
        })
    }

    async fn import(
        &self,
        plan_hash: &str,
        _: Vec<String>,
        _: SecretHandling,
    ) -> ToolResult<ImportOutcome> {
        check_plan(plan_hash)?;
        Ok(ImportOutcome::default())
    }

    async fn connection_plan(
        &self,
        client: &str,
        _: ConnectionChange,
    ) -> ToolResult<ConnectionPreview> {
        Ok(ConnectionPreview {
            client: client.to_owned(),
            plan_hash: PLAN.to_owned(),
            changes: Vec::new(),
        })
    }

    async fn change_connection(
        &self,
        client: &str,
        change: ConnectionChange,
        plan_hash: &str,
    ) -> ToolResult<ConnectionPreview> {
        check_plan(plan_hash)?;
        self.connection_plan(client, change).await
    }

    fn call_token(&self) -> ToolResult<Option<Secret>> {
        Ok(Some(Secret::new(crate::site::CALL)))
    }
}

/// The hash of every plan.
const PLAN: &str = "the-plan";

fn check_plan(hash: &str) -> ToolResult<()> {
    match hash == PLAN {
        true => Ok(()),
        false => Err(ToolError::new(Reason::PlanChanged, "another plan")),
    }
}

fn set_command(spec: &mut ServerSpec, word: &str) {
    if let Transport::Stdio { command, .. } = &mut spec.transport {
        *command = Template::literal(word);
    }
    spec.hash = pegboard_model::ConfigHash(*blake3::hash(word.as_bytes()).as_bytes());
}

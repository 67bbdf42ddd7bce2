//! A user with a browser who logs in and calls tools.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{
    Limits, LoginState, NoSecrets, OAuthSettings, Reason, ServerSpec, ToolError, ToolResult,
};
use pegboard_testkit::oauth::{Behaviour, OAuthServer, browse};
use pegboard_upstream::{
    CallOptions, ClientInfo, Connect, ConnectHint, Connector, ConnectorConfig, LoginOptions,
    Logins, MemoryLogins, NoLogs, Upstream,
};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

const TIME: Duration = Duration::from_secs(20);

/// A server, and a user of it.
pub(crate) struct User {
    pub(crate) server: OAuthServer,
    pub(crate) spec: ServerSpec,
    pub(crate) logins: Logins,
    connector: Arc<Connector>,
}

impl User {
    pub(crate) fn of(behaviour: Behaviour) -> Self {
        Self::with(behaviour, |_| {})
    }

    pub(crate) fn with(behaviour: Behaviour, settings: impl FnOnce(&mut OAuthSettings)) -> Self {
        let server = OAuthServer::start(behaviour);
        let mut spec = server.spec("notes");
        let mut oauth = OAuthSettings::default();
        settings(&mut oauth);
        spec.oauth = (oauth != OAuthSettings::default()).then(|| Box::new(oauth));
        let logins = Logins::new(Arc::new(MemoryLogins::default()), Arc::new(NoSecrets));
        let connector = Arc::new(connector(&logins));
        Self {
            server,
            spec,
            logins,
            connector,
        }
    }

    /// Another process with the same store.
    pub(crate) fn other_connector(&self) -> Connector {
        connector(&self.logins)
    }

    pub(crate) async fn connect(&self) -> ToolResult<Arc<dyn Upstream>> {
        connect(&self.connector, &self.spec).await
    }

    /// Connects and calls a tool.
    pub(crate) async fn call(&self, tool: &str) -> ToolResult<String> {
        call(&*self.connect().await?, tool).await
    }

    /// Logs in; the browser allows everything.
    pub(crate) async fn login(&self) -> ToolResult<LoginState> {
        self.login_with(&LoginOptions::default()).await
    }

    pub(crate) async fn login_with(&self, options: &LoginOptions) -> ToolResult<LoginState> {
        let pending = self.logins.begin(&self.spec, options).await?;
        let url = pending.url().to_owned();
        let (_keep, pasted) = mpsc::channel(1);
        let browsing = tokio::task::spawn_blocking(move || browse(&url));
        let mut foreign = None;
        let (declined, mut closed) = mpsc::channel(1);
        let done = tokio::select! {
            done = pending.complete(pasted, |error| {
                foreign = Some(error.clone());
                let _ = declined.try_send(());
            }) => done,
            // An answer from elsewhere leaves the login open; the user gives up then.
            _ = async {
                closed.recv().await;
                tokio::task::yield_now().await;
            } => Err(ToolError::new(Reason::LoginFailed, "gave up")),
        };
        // A browser that waited in vain is not what is tested.
        drop(browsing.await);
        match (done, foreign) {
            (Err(error), Some(foreign)) if error.message == "gave up" => Err(foreign),
            (done, _) => done,
        }
    }

    pub(crate) fn state(&self) -> Option<LoginState> {
        self.logins.state(&self.spec, None)
    }
}

fn connector(logins: &Logins) -> Connector {
    Connector::new(ConnectorConfig {
        limits: Limits::default(),
        secrets: Arc::new(NoSecrets),
        environment: std::env::vars().collect(),
        env_allow: Vec::new(),
        work_dirs: None,
        protected: Vec::new(),
        trial: None,
        logs: Arc::new(NoLogs),
        client: ClientInfo {
            name: "test".to_owned(),
            version: "1".to_owned(),
        },
    })
    .with_logins(logins.clone())
}

pub(crate) async fn connect(
    connector: &Connector,
    spec: &ServerSpec,
) -> ToolResult<Arc<dyn Upstream>> {
    connector.connect(spec, &ConnectHint::default(), TIME).await
}

pub(crate) async fn call(server: &dyn Upstream, tool: &str) -> ToolResult<String> {
    let arguments = RawValue::from_string(r#"{"text":"hi"}"#.to_owned()).unwrap();
    let options = CallOptions::with_timeout(TIME);
    let outcome = server.call(tool, &arguments, options).await?;
    Ok(outcome.result.get().to_owned())
}

/// The reason of a failure.
pub(crate) fn reason<T>(result: ToolResult<T>) -> Option<Reason> {
    result.err().map(|error| error.reason)
}

//! The views of the background process: one hub for each set of config files, project and variables.
//!
//! Clients with the same view share a hub. The hubs of all views share their servers through the pool.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pegboard::dashboard::ConfigReloader;
use pegboard::{Builder, Configuration, Pegboard};
use pegboard_background::{Hello, Variables};
use pegboard_config::{Environment, MentionedVariables};
use pegboard_gateway::Gateway;
use pegboard_hub::ServerPool;
use pegboard_model::{Reason, ToolError, ToolResult};
use pegboard_upstream::inherited_variables;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::SHARE_VARIABLE;
use super::on_demand::IDLE_VARIABLE;
use crate::commands::{open_unread, run_background_tasks};
use crate::failure::Failure;
use crate::output::Output;

/// How long a view without clients is kept, so that a client that restarts finds its servers running.
const UNUSED_VIEW_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of open views. The clients of further ones serve themselves.
const VIEWS_MAX: usize = 256;

/// Variables of terminals and logins, which servers get but which do not make a different view, and those that only
/// concern the process itself.
const NOISE: &[&str] = &[
    "COLORTERM",
    "LANGUAGE",
    "NO_COLOR",
    "TERM",
    SHARE_VARIABLE,
    IDLE_VARIABLE,
];
/// Prefixes of such variables.
const NOISE_PREFIXES: &[&str] = &["XDG_SESSION_", "XDG_VTNR", "XDG_SEAT"];

/// What makes two clients use the same hub.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ViewKey {
    config_dir: PathBuf,
    home: PathBuf,
    config: Option<PathBuf>,
    /// The project, or the folder of the client if it has none: `${project}` stands for it.
    project: PathBuf,
    strict: bool,
    variables: BTreeMap<String, String>,
    /// A hash of the settings that a reload does not change. After such a change, new clients get a new view.
    settings: [u8; 32],
}

/// An open configuration and its clients.
pub(super) struct View {
    pub(super) pegboard: Arc<Pegboard>,
    pub(super) gateway: Gateway,
    reload: Arc<ConfigReloader>,
    clients: AtomicUsize,
    unused_since: Mutex<Instant>,
    /// Keeps the view up to date; `None` for the view of the foreground process, which does so itself.
    tasks: Option<AbortHandle>,
}

/// A client's use of a view. Dropping it ends the use.
pub(super) struct ViewUse(Arc<View>);

/// Notes for a client, for example problems in config files.
pub(super) type Notes = Vec<String>;

/// All open views.
pub(super) struct Views {
    state: PathBuf,
    output: Output,
    /// Shares the servers of all views.
    pool: ServerPool,
    open: Mutex<HashMap<ViewKey, Arc<View>>>,
}

impl Views {
    pub(super) fn new(state: PathBuf, output: Output, pool: ServerPool) -> Self {
        Self {
            state,
            output,
            pool,
            open: Mutex::default(),
        }
    }

    /// Returns the variables that the view of a client may depend on.
    ///
    /// # Errors
    /// Fails if the state folder cannot be used.
    pub(super) fn needed_variables(&self, hello: &Hello) -> ToolResult<MentionedVariables> {
        let configuration = self.builder(hello, BTreeMap::new()).load()?;
        let mut mentioned = configuration.loaded.mentioned_variables();
        let (names, prefixes) = inherited_variables();
        mentioned
            .names
            .extend(names.iter().map(|name| (*name).to_owned()));
        mentioned.prefixes.extend(prefixes);
        Ok(mentioned)
    }

    /// Returns the view of a client, and opens it if it is the first one. Config files that have changed since the view
    /// was opened are applied first, so that a client never sees an older configuration than its files have.
    ///
    /// # Errors
    /// Fails if the client's files cannot be used; the client then reports it itself.
    pub(super) async fn get_or_open(
        &self,
        hello: &Hello,
        variables: BTreeMap<String, String>,
    ) -> Result<(ViewUse, Notes), Failure> {
        let builder = self.builder(hello, variables.clone());
        let configuration = builder.load()?;
        let notes = crate::commands::notes_of(hello, &configuration)?;
        let key = ViewKey::new(hello, &configuration, variables);
        let view = {
            let mut open = self.lock();
            match open.get(&key) {
                Some(known) => ViewUse::new(known),
                None if open.len() >= VIEWS_MAX => {
                    let message = "the process has too many projects open";
                    return Err(ToolError::new(Reason::Overloaded, message).into());
                }
                None => {
                    let view = Arc::new(self.open_view(builder, configuration)?);
                    open.insert(key, view.clone());
                    return Ok((ViewUse::new(&view), notes));
                }
            }
        };
        let (applied, now) = (view.reload.loaded(), &configuration.loaded);
        if applied.contents != now.contents || applied.servers != now.servers {
            view.reload.apply().await;
        }
        Ok((view, notes))
    }

    /// Adds the view of the foreground process, which opened it. Clients with the same view use it.
    ///
    /// # Errors
    /// Fails if the state folder cannot be used.
    pub(super) fn adopt(
        &self,
        hello: &Hello,
        environment: &Environment,
        pegboard: &Arc<Pegboard>,
        gateway: &Gateway,
        reload: &Arc<ConfigReloader>,
    ) -> ToolResult<()> {
        let needed = self.needed_variables(hello)?;
        let variables = wanted_variables(environment, |name| needed.matches(name));
        let key = ViewKey::new(hello, pegboard.configuration(), variables.values);
        let view = View {
            pegboard: pegboard.clone(),
            gateway: gateway.clone(),
            reload: reload.clone(),
            // The foreground process itself, which never leaves.
            clients: AtomicUsize::new(1),
            unused_since: Mutex::new(Instant::now()),
            tasks: None,
        };
        self.lock().insert(key, Arc::new(view));
        Ok(())
    }

    /// Closes the views that no client has used for a while.
    pub(super) async fn close_unused(&self) {
        let is_unused = |view: &Arc<View>| {
            let since = *view
                .unused_since
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            view.clients.load(Ordering::Acquire) == 0 && since.elapsed() >= UNUSED_VIEW_TIMEOUT
        };
        self.close(is_unused).await;
    }

    /// Closes all views, and with them every server.
    pub(super) async fn close_all(&self) {
        self.close(|_| true).await;
    }

    /// All open views.
    pub(super) fn all(&self) -> Vec<Arc<View>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ViewKey, Arc<View>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn close(&self, condition: impl Fn(&Arc<View>) -> bool) {
        let closing: Vec<Arc<View>> = {
            let mut open = self.lock();
            let closing = open.extract_if(|_, view| condition(view));
            closing.map(|(_, view)| view).collect()
        };
        for view in closing {
            // The view of the foreground process is closed by that process.
            if let Some(tasks) = &view.tasks {
                tasks.abort();
                view.gateway.close();
                view.pegboard.shut_down().await;
            }
        }
    }

    fn open_view(&self, builder: Builder, configuration: Configuration) -> Result<View, Failure> {
        let builder = builder.pool(self.pool.clone());
        let pegboard = Arc::new(open_unread(configuration, builder, &self.output)?);
        let gateway = pegboard.gateway();
        let reload = Arc::new(ConfigReloader::new(&pegboard, &gateway));
        let tasks = {
            let (pegboard, reload) = (pegboard.clone(), reload.clone());
            let output = self.output.clone();
            tokio::spawn(async move { run_background_tasks(&pegboard, || reload, &output).await })
        };
        Ok(View {
            pegboard,
            gateway,
            reload,
            clients: AtomicUsize::new(0),
            unused_since: Mutex::new(Instant::now()),
            tasks: Some(tasks.abort_handle()),
        })
    }

    /// Returns a builder that reads the client's files with the client's variables.
    fn builder(&self, hello: &Hello, mut variables: BTreeMap<String, String>) -> Builder {
        let mut set = |name: &str, path: &PathBuf| {
            variables.insert(name.to_owned(), path.to_string_lossy().into_owned());
        };
        set("PEGBOARD_CONFIG_DIR", &hello.config_dir);
        set("PEGBOARD_STATE_DIR", &self.state);
        let mut builder = Pegboard::builder().environment(Environment {
            vars: variables,
            home: hello.home.clone(),
            working_dir: hello.folder.clone(),
        });
        if let Some(file) = &hello.config {
            builder = builder.config_file(file);
        }
        if let Some(project) = &hello.project {
            builder = builder.project(project);
        }
        match hello.strict {
            true => builder.strict(),
            false => builder,
        }
    }
}

fn without_noise(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    variables.retain(|name, _| {
        let has_prefix = NOISE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        !NOISE.contains(&name.as_str()) && !has_prefix
    });
    variables
}

/// Returns the variables of an environment whose names are wanted.
pub(super) fn wanted_variables(
    environment: &Environment,
    is_wanted: impl Fn(&str) -> bool,
) -> Variables {
    let all = environment.vars.iter();
    let wanted = all.filter(|(name, _)| is_wanted(name));
    Variables {
        values: wanted
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

impl ViewKey {
    fn new(
        hello: &Hello,
        configuration: &Configuration,
        variables: BTreeMap<String, String>,
    ) -> Self {
        let loaded = &configuration.loaded;
        // Secrets are not written into debug texts.
        let settings = format!("{:?}\n{:?}", loaded.settings, loaded.trace);
        Self {
            config_dir: hello.config_dir.clone(),
            home: hello.home.clone(),
            config: hello.config.clone(),
            project: configuration.project().to_owned(),
            strict: hello.strict,
            variables: without_noise(variables),
            settings: *blake3::hash(settings.as_bytes()).as_bytes(),
        }
    }
}

impl ViewUse {
    fn new(view: &Arc<View>) -> Self {
        view.clients.fetch_add(1, Ordering::AcqRel);
        Self(view.clone())
    }

    pub(super) fn view(&self) -> &Arc<View> {
        &self.0
    }
}

impl std::ops::Deref for ViewUse {
    type Target = View;

    fn deref(&self) -> &View {
        &self.0
    }
}

impl Drop for ViewUse {
    fn drop(&mut self) {
        let mut since = self
            .0
            .unused_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *since = Instant::now();
        self.0.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

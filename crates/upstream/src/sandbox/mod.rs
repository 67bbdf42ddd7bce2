//! Confines a server's process: files by Landlock, system calls and sockets by seccomp, hosts by a proxy, memory and
//! processes by cgroups or by counting.
//!
//! Restrictions belong to a thread and are inherited. `spawn` lets a fresh thread confine itself and start the process;
//! nothing is done between `fork` and `exec`, which would take 19 to 25 ms in a program with a large catalog. Pegboard
//! itself is never confined. Only Linux has the means; on other systems `default` confines nothing and `strict` fails.

#[cfg(target_os = "linux")]
mod capabilities;
mod cgroup;
mod denials;
mod facts;
mod folders;
#[cfg(target_os = "linux")]
mod landlock_rules;
mod limits;
mod proxy;
#[cfg(target_os = "linux")]
mod system_calls;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pegboard_model::{
    Reason, Sandbox, SandboxMode, SandboxNetwork, ServerSpec, ToolError, ToolResult,
};

pub use denials::{DeniedPath, denied_paths};
pub use facts::{SandboxFacts, SandboxSupport, sandbox_facts, sandbox_support};
pub(crate) use limits::{LimitWatch, over_limit};
use proxy::Proxy;

use crate::connector::ConnectorConfig;
use crate::spawn::{Launch, program_file};
use crate::work_dir;
use folders::{Grant, Places};

/// Maximum number of hosts that a trial records.
const TRIAL_HOSTS: usize = 256;

/// Records which hosts a server connects to, for `pegboard sandbox try`. While it is set, the proxy of every confined
/// server refuses nothing but what `network = "off"` refuses.
#[derive(Debug, Default)]
pub struct SandboxTrial {
    hosts: Mutex<Vec<String>>,
}

impl SandboxTrial {
    /// Returns the recorded hosts as `name:port`, in the order of their first connection.
    pub fn hosts(&self) -> Vec<String> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.clone()
    }

    fn record(&self, host: &str) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < TRIAL_HOSTS && !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }
}

/// Everything that confines one server. Dropping it stops its proxy.
pub(crate) struct Confinement {
    sandbox: Sandbox,
    grants: Vec<Grant>,
    proxy: Option<Proxy>,
}

impl Confinement {
    /// Confines the calling thread and everything that it starts from now on.
    pub(crate) fn apply(&self) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let support = sandbox_support();
            capabilities::drop_dangerous();
            let port = self.proxy.as_ref().map(Proxy::port);
            if support.landlock.is_some() {
                landlock_rules::restrict(&self.grants, &self.sandbox.network, port)?;
            }
            if support.seccomp {
                // In a trial without hosts the proxy is reached by TCP as well.
                system_calls::restrict(&self.sandbox, port.is_some())?;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = &self.grants;
        Ok(())
    }

    /// Returns the limits on its processes.
    pub(crate) fn limits(&self) -> (Option<u64>, Option<u32>) {
        (self.sandbox.memory, self.sandbox.processes)
    }
}

/// Prepares the confinement of a server and adapts its environment. Returns `None` if the server is not confined.
///
/// # Errors
/// Fails with `SANDBOX_UNSUPPORTED` if a strict sandbox cannot be enforced.
pub(crate) async fn prepare(
    spec: &ServerSpec,
    launch: &mut Launch,
    setup: &ConnectorConfig,
) -> ToolResult<Option<Arc<Confinement>>> {
    let sandbox = &spec.sandbox;
    if sandbox.is_off() {
        return Ok(None);
    }
    let support = sandbox_support();
    let facts = facts::facts(sandbox, &support);
    if sandbox.mode == SandboxMode::Strict
        && let Some(missing) = facts.required.first()
    {
        return Err(unsupported(spec, missing));
    }
    for missing in &facts.missing {
        setup
            .logs
            .append(&spec.name, &format!("pegboard: not confined: {missing}"));
    }
    let temp = private_temp(spec, setup);
    if let Some(temp) = &temp {
        for name in ["TMPDIR", "TMP", "TEMP"] {
            launch
                .env
                .insert(name.to_owned(), temp.to_string_lossy().into_owned());
        }
    }
    let proxy = start_proxy(spec, setup).await?;
    if let Some(proxy) = &proxy {
        proxy.set_variables(&mut launch.env);
    }
    let path = launch.env.get("PATH").map(String::as_str);
    let places = Places {
        homes: homes(setup),
        runtime_dir: setup.environment.get("XDG_RUNTIME_DIR").map(PathBuf::from),
        protected: setup.protected.clone(),
        program: program_file(&launch.program, path),
        cwd: launch.cwd.clone(),
        own_folders: temp
            .iter()
            .filter_map(|temp| temp.parent())
            .map(PathBuf::from)
            .collect(),
    };
    let grants = places.grants(sandbox, &launch.program);
    Ok(Some(Arc::new(Confinement {
        sandbox: sandbox.clone(),
        grants,
        proxy,
    })))
}

/// Returns the user's home folders. The server's own `HOME` does not count: its definition may set it.
fn homes(setup: &ConnectorConfig) -> Vec<PathBuf> {
    let given = setup.environment.get("HOME").map(PathBuf::from);
    let mut homes: Vec<PathBuf> = given.into_iter().chain(std::env::home_dir()).collect();
    homes.retain(|home| home.is_absolute());
    homes.dedup();
    homes
}

/// Returns the private temporary folder of a server, inside its private working directory.
fn private_temp(spec: &ServerSpec, setup: &ConnectorConfig) -> Option<PathBuf> {
    let base = setup.work_dirs.as_ref()?;
    let folder = work_dir::private_folder(base, &spec.name).ok()?;
    let temp = folder.join("tmp");
    match std::fs::create_dir(&temp) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => None,
        _ => Some(temp),
    }
}

async fn start_proxy(spec: &ServerSpec, setup: &ConnectorConfig) -> ToolResult<Option<Proxy>> {
    let hosts = match (&spec.sandbox.network, &setup.trial) {
        (SandboxNetwork::Hosts(hosts), _) => Some(hosts.clone()),
        (SandboxNetwork::Off, Some(_)) => Some(Vec::new()),
        (SandboxNetwork::On, Some(_)) => None,
        (_, None) => return Ok(None),
    };
    let rules = proxy::Rules {
        refuses: spec.sandbox.network == SandboxNetwork::Off || setup.trial.is_none(),
        hosts: hosts.unwrap_or_default(),
        trial: setup.trial.clone(),
        server: spec.name.clone(),
        logs: Arc::clone(&setup.logs),
    };
    let proxy = Proxy::start(rules).await.map_err(|error| {
        let what = format!(
            "server `{}` could not be started: its proxy cannot listen: {error}",
            spec.name
        );
        ToolError::new(Reason::SpawnResource, what).at_server(&spec.name)
    })?;
    Ok(Some(proxy))
}

fn unsupported(spec: &ServerSpec, missing: &str) -> ToolError {
    let what = format!("server `{}` was not started: {missing}", spec.name);
    let remedy = format!(
        "Set `mode = \"default\"` in `sandbox` of `{}` to confine it as far as this system can, or use a newer kernel.",
        spec.name
    );
    ToolError::new(Reason::SandboxUnsupported, what)
        .at_server(&spec.name)
        .at_field("sandbox")
        .with_remedy(remedy)
}

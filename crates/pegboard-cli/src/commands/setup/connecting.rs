//! The step that connects clients.

use std::path::PathBuf;

use pegboard::Configuration;
use pegboard_config::clients::{
    Client, ClientStatus, ConnectOptions, ConnectPlan, ConnectionState, EntryTransport, Launch,
    Places, StatusOptions, TakeOver, connection_status, is_same_server,
};
use pegboard_model::UntrustedText;
use serde::Serialize;
use serde_json::Value;

use super::take_over::Imported;
use super::{Mode, Setup};
use crate::commands::CommandResult;
use crate::commands::connect::{confirm_plan, find_client, launch, port, show_plan};
use crate::commands::import::show::shown;
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::{ask, confirm};

/// A client after this step.
#[derive(Serialize)]
pub(super) struct Connected {
    /// Its key.
    pub(super) client: &'static str,
    #[serde(skip)]
    pub(super) name: &'static str,
    pub(super) file: PathBuf,
    /// `connected`, `unchanged`, `planned`, `refused` or `failed`.
    pub(super) result: &'static str,
    pub(super) diff: String,
    /// Servers that it reaches through Pegboard only now.
    pub(super) taken_out: Vec<String>,
    /// Servers that it still reaches directly.
    pub(super) direct: Vec<String>,
}

impl Connected {
    /// Whether its file was written.
    pub(super) fn is_written(&self) -> bool {
        self.result == "connected"
    }
}

impl Setup<'_> {
    /// Connects the clients that the user chooses, or all installed ones.
    pub(super) fn connect(
        &mut self,
        configuration: &Configuration,
        imported: &Imported,
    ) -> Result<Vec<Connected>, Failure> {
        let places = Places::new(&configuration.environment);
        let launch = launch(configuration);
        let options = StatusOptions::new(Some(launch.command.clone()), port(configuration));
        let statuses = connection_status(&places, &configuration.paths.state_dir, &options)?;
        let candidates = statuses.iter().filter(|status| self.is_candidate(status));
        let candidates: Vec<&ClientStatus> = candidates.collect();
        let chosen = self.choose(&candidates)?;
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let takes_over = self.takes_over(&chosen, imported);
        if !self.output.json {
            self.output.line("")?;
            self.title("Connecting the clients")?;
        }
        if let Some(warning) = &launch.warning {
            let label = self.output.paint(Paint::Warn, "warning:");
            self.output.note(&format!("{label} {warning}"));
        }
        let mut connected = Vec::new();
        for status in chosen {
            let one = OneClient {
                client: find_client(status.client)?,
                status,
                places: &places,
                launch: &launch,
                takes_over,
            };
            connected.extend(self.connect_one(&one, configuration, imported)?);
        }
        Ok(connected)
    }

    /// Whether a client can be connected: it is installed, and the user has not left it out.
    fn is_candidate(&self, status: &ClientStatus) -> bool {
        let is_named = self.clients.iter().any(|key| key == status.client);
        let is_installed = status.state != ConnectionState::NotInstalled;
        status.can_connect && (is_named || (self.clients.is_empty() && is_installed))
    }

    fn choose<'s>(
        &self,
        candidates: &[&'s ClientStatus],
    ) -> Result<Vec<&'s ClientStatus>, Failure> {
        if candidates.is_empty() {
            self.output
                .note("No installed client was found to connect.");
        }
        if self.mode != Mode::Ask || candidates.is_empty() {
            return Ok(candidates.to_vec());
        }
        let names: Vec<&str> = candidates.iter().map(|status| status.name).collect();
        let question = format!(
            "Connect {} to Pegboard? [Y/n/c = choose] ",
            names.join(", ")
        );
        Ok(match ask(&question).as_deref() {
            Some("" | "y" | "yes") => candidates.to_vec(),
            Some("c" | "choose") => {
                let wants =
                    |status: &&&ClientStatus| confirm(&format!("Connect {}?", status.name), true);
                candidates.iter().filter(wants).copied().collect()
            }
            _ => {
                self.output.note("No client was connected.");
                Vec::new()
            }
        })
    }

    /// Whether the imported servers are taken out of the clients.
    fn takes_over(&self, chosen: &[&ClientStatus], imported: &Imported) -> bool {
        let has_any = |status: &&&ClientStatus| {
            let file = status.file.as_deref();
            file.is_some_and(|file| imported.has_any(status.client, file))
        };
        let names: Vec<&str> = chosen
            .iter()
            .filter(has_any)
            .map(|status| status.name)
            .collect();
        if names.is_empty() || self.mode != Mode::Ask {
            return true;
        }
        let question = format!(
            "Take the servers that Pegboard has now out of {}, so that they do not run twice?",
            names.join(", ")
        );
        confirm(&question, true)
    }

    /// Connects one client. One that cannot be connected does not keep the others from it.
    fn connect_one(
        &mut self,
        one: &OneClient<'_>,
        configuration: &Configuration,
        imported: &Imported,
    ) -> Result<Option<Connected>, Failure> {
        let status = one.status;
        if status.entry.is_some() && !status.has_record && !one.has_missing_program() {
            self.output.note(&format!(
                "- {} has Pegboard already; its file was not changed",
                status.name
            ));
            return Ok(None);
        }
        let plan = match one.plan(configuration, imported, self.mode == Mode::Show) {
            Ok(plan) => plan,
            Err(failure) => {
                self.not_connected(status, &failure);
                return Ok(None);
            }
        };
        let mut connected = Connected {
            client: status.client,
            name: status.name,
            file: plan.path.clone(),
            result: "unchanged",
            diff: plan.diff(),
            taken_out: plan.taken_out.clone(),
            direct: plan.direct.clone(),
        };
        if plan.is_connected() {
            let name = status.name;
            self.output.note(&format!("- {name} is connected already"));
            return Ok(Some(connected));
        }
        if self.mode != Mode::Defaults && !self.output.json {
            show_plan(&plan, self.output)?;
        }
        connected.result = match self.mode {
            Mode::Show => "planned",
            Mode::Ask if !confirm_plan(&plan, self.output)? => "refused",
            Mode::Ask | Mode::Defaults => match plan.apply() {
                Ok(()) => {
                    self.print_connected(&connected, configuration)?;
                    "connected"
                }
                Err(problem) => {
                    self.not_connected(status, &problem.into());
                    "failed"
                }
            },
        };
        Ok(Some(connected))
    }

    fn not_connected(&mut self, status: &ClientStatus, failure: &Failure) {
        failure.show(self.output);
        self.left.push(format!(
            "{} was not connected: {}",
            status.name,
            failure.message()
        ));
        self.fail(Failure::shown(failure.exit));
    }

    fn print_connected(&self, client: &Connected, configuration: &Configuration) -> CommandResult {
        if self.output.json {
            return Ok(());
        }
        let names = |names: &[String]| {
            let shown = names
                .iter()
                .map(|name| UntrustedText::new(name).shortened(60));
            shown
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mark = self.output.paint(Paint::Good, "✓");
        let file = shown(&client.file, &configuration.environment.home);
        let name = self.output.paint(Paint::Strong, client.name);
        self.output.line(&format!("{mark} {name}  {file}"))?;
        if !client.taken_out.is_empty() {
            let taken = names(&client.taken_out);
            self.output
                .line(&format!("    now through Pegboard: {taken}"))?;
        }
        if !client.direct.is_empty() {
            let direct = names(&client.direct);
            self.output.line(&format!("    still direct: {direct}"))?;
        }
        Ok(())
    }
}

/// What is needed to connect one client.
struct OneClient<'a> {
    client: &'static Client,
    status: &'a ClientStatus,
    places: &'a Places<'a>,
    launch: &'a Launch,
    takes_over: bool,
}

impl OneClient<'_> {
    /// Whether the client's entry for Pegboard starts a program that does not exist any more.
    fn has_missing_program(&self) -> bool {
        let entry = self.status.entry.as_ref();
        entry.is_some_and(|entry| entry.is_missing)
    }

    fn plan(
        &self,
        configuration: &Configuration,
        imported: &Imported,
        is_plan: bool,
    ) -> Result<ConnectPlan, Failure> {
        let transport = EntryTransport::Stdio {
            launch: self.launch.clone(),
            profile: None,
        };
        let mut options = ConnectOptions::new(transport);
        options.port = port(configuration);
        options.take_over = match self.takes_over {
            true => TakeOver::All,
            false => TakeOver::None,
        };
        let file = self.status.file.as_deref();
        let has_server = |name: &str, entry: &Value| {
            let found = file.and_then(|file| imported.name(self.client.key, file, name));
            found.is_some_and(|found| {
                let server = configuration.loaded.servers.get(found);
                // In a plan, the server is not written yet.
                server.map_or(is_plan, |server| is_same_server(&server.transport, entry))
            })
        };
        let state_dir = &configuration.paths.state_dir;
        let plan = ConnectPlan::new(self.places, state_dir, self.client, &options, &has_server);
        Ok(plan?)
    }
}

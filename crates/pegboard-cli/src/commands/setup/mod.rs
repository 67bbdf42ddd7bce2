//! `pegboard setup`: import, connect and discover in one guided run.
//!
//! Each step uses the functions of the command that does the same alone. A step that fails is reported with what was
//! done before it, and the next run continues there.

mod connecting;
mod summary;
mod take_over;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use pegboard::Configuration;
use pegboard_config::clients::{
    ApplyOptions, FileScope, ImportPlan, ImportReport, ImportServer, Selection, ServerState,
};
use pegboard_hub::RefreshOutcome;
use pegboard_model::{ServerName, UntrustedText};
use serde::Serialize;

use super::connect::find_client;
use super::discover_now::{discovered, note_log, result_of};
use super::refresh::print_brief;
use super::tokens::token_counts;
use super::{
    CommandResult, Global, Output, builder, import, load_config, open, with_servers, working,
};
use crate::failure::Failure;
use crate::format::{count, duration};
use crate::output::Paint;
use crate::prompts::can_ask;
use connecting::Connected;
use summary::Savings;
use take_over::Imported;

pub(crate) const EXAMPLES: &str = "Examples:\n  pegboard setup\n  pegboard setup --dry-run\n  pegboard setup --yes\n  \
    pegboard setup --client claude-code --client cursor\n  pegboard setup --no-connect\n\n\
    `--yes` imports the servers of your own files (never a project's), moves secrets into the secret store, connects \
    every installed client and takes the imported servers out of it. `pegboard disconnect --all` restores the \
    clients' files.";

#[derive(Args, Default)]
pub(crate) struct SetupArgs {
    /// Set up only this client, such as `cursor`; can be repeated [default: all installed clients]
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// Ask nothing and use the defaults
    #[arg(long, short)]
    yes: bool,
    /// Show what would be done and write nothing
    #[arg(long, short = 'n', conflicts_with = "yes")]
    dry_run: bool,
    /// Leave the clients' files as they are
    #[arg(long)]
    no_connect: bool,
}

/// Who decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The user, at the terminal.
    Ask,
    /// The defaults.
    Defaults,
    /// The plan is only shown, and nothing is written.
    Show,
}

/// Everything that was done, with `--json`.
#[derive(Serialize)]
struct Document<'a> {
    plan: &'a ImportPlan,
    /// `null` if nothing was imported.
    import: Option<&'a ImportReport>,
    clients: &'a [Connected],
    discovery: &'a [RefreshOutcome],
    /// `null` if no client was connected.
    savings: Option<&'a Savings>,
}

pub(crate) fn run(args: &SetupArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let mode = match (args.yes, args.dry_run || output.json || !can_ask()) {
        (true, _) => Mode::Defaults,
        (false, true) => Mode::Show,
        (false, false) => Mode::Ask,
    };
    let plan = import::scan(&configuration);
    let mut run = Setup::new(args, mode, global, output)?;
    run.all(configuration, &plan)
}

/// The servers of the user that other clients have and Pegboard does not, and the number of these clients.
pub(crate) fn found(plan: &ImportPlan) -> (usize, usize) {
    let servers: Vec<_> = plan
        .importable()
        .filter(|server| server.scope == FileScope::User)
        .collect();
    let clients: BTreeSet<&str> = servers
        .iter()
        .flat_map(|server| server.sources.iter().map(|source| source.client))
        .collect();
    (servers.len(), clients.len())
}

/// Runs the guided setup for a command that found no server.
pub(crate) fn guide(
    configuration: Configuration,
    plan: &ImportPlan,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let args = SetupArgs::default();
    Setup::new(&args, Mode::Ask, global, output)?.all(configuration, plan)
}

fn has_new(plan: &ImportPlan, selection: &Selection) -> bool {
    plan.importable().any(|server| selection.contains(server))
}

/// One run.
struct Setup<'a> {
    args: &'a SetupArgs,
    mode: Mode,
    global: &'a Global,
    output: &'a Output,
    /// Keys of the clients; empty for all.
    clients: Vec<String>,
    /// The first failure. Later steps run nevertheless.
    failed: Option<Failure>,
    /// What was not done, for the user.
    left: Vec<String>,
}

impl<'a> Setup<'a> {
    fn new(
        args: &'a SetupArgs,
        mode: Mode,
        global: &'a Global,
        output: &'a Output,
    ) -> Result<Self, Failure> {
        let clients = args.clients.iter().map(|name| find_client(name));
        let clients = clients.map(|client| client.map(|client| client.key.to_owned()));
        Ok(Self {
            args,
            mode,
            global,
            output,
            clients: clients.collect::<Result<_, _>>()?,
            failed: None,
            left: Vec::new(),
        })
    }

    fn all(&mut self, mut configuration: Configuration, plan: &ImportPlan) -> CommandResult {
        let started = Instant::now();
        let mut selection = Selection::default();
        selection.clients.clone_from(&self.clients);
        self.show_found(plan, &selection, &configuration)?;
        let report = self.import(plan, &mut selection, &configuration)?;
        if report.is_some() {
            configuration.reload();
        }
        let imported = Imported::new(plan, &selection, report.as_ref(), self.mode == Mode::Show);
        let has_servers = !configuration.loaded.servers.is_empty() || !imported.is_empty();
        let connected = match self.args.no_connect || !has_servers {
            true => Vec::new(),
            false => self.connect(&configuration, &imported)?,
        };
        if self.mode == Mode::Show {
            return self.end_of_plan(plan, &connected, has_servers);
        }
        if !has_servers && self.mode == Mode::Ask && report.is_none() && has_new(plan, &selection) {
            // The user wanted none of them.
            return Ok(());
        }
        let names = self.undiscovered(plan, report.as_ref(), &configuration);
        let file = configuration.loaded.edit_target.clone();
        let home = configuration.environment.home.clone();
        let (outcomes, savings) = self.discover(&names, configuration, &connected, &imported)?;
        if self.output.json {
            self.output.document(&Document {
                plan,
                import: report.as_ref(),
                clients: &connected,
                discovery: &outcomes,
                savings: savings.as_ref(),
            })?;
        } else {
            let written = report.iter().flat_map(ImportReport::written).count();
            let file = (written > 0).then(|| import::show::shown(&file, &home));
            self.finish(&connected, savings.as_ref(), file, has_servers)?;
            let time = duration(started.elapsed());
            self.output.note(&format!("Done in {time}."));
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Prints what the clients have.
    fn show_found(
        &self,
        plan: &ImportPlan,
        selection: &Selection,
        configuration: &Configuration,
    ) -> CommandResult {
        if self.output.json {
            return Ok(());
        }
        let is_found = |server: &&ImportServer| {
            server.state != ServerState::Pegboard && selection.contains(server)
        };
        let servers: Vec<_> = plan.servers.iter().filter(is_found).collect();
        let sources = servers.iter().flat_map(|server| &server.sources);
        let sources = sources.filter(|source| {
            self.clients.is_empty() || self.clients.iter().any(|key| key == source.client)
        });
        let files: BTreeSet<&Path> = sources.map(|source| source.path.as_path()).collect();
        let title = format!(
            "Found {} in {} of your clients.",
            count(servers.len(), "server"),
            count(files.len(), "file")
        );
        self.title(&title)?;
        // Before a question, everything that would run is shown.
        let wants_details: fn(&ImportServer) -> bool = match self.mode {
            Mode::Defaults => import::show::is_noteworthy,
            Mode::Ask | Mode::Show => |_| true,
        };
        let home = &configuration.environment.home;
        import::show::plan_with_details(plan, selection, home, self.output, wants_details)
    }

    fn title(&self, text: &str) -> CommandResult {
        match self.output.json {
            true => Ok(()),
            false => self.output.line(&self.output.paint(Paint::Strong, text)),
        }
    }

    /// Imports what the user chooses. Returns `None` if nothing was chosen.
    fn import(
        &mut self,
        plan: &ImportPlan,
        selection: &mut Selection,
        configuration: &Configuration,
    ) -> Result<Option<ImportReport>, Failure> {
        let mut options = ApplyOptions::default();
        let has_new = has_new(plan, selection);
        let wants = match self.mode {
            _ if !has_new => false,
            Mode::Show => false,
            Mode::Defaults => true,
            Mode::Ask => import::choose::ask(plan, selection, &mut options, true),
        };
        if !wants {
            if has_new && self.mode == Mode::Ask {
                self.output.note("Nothing was imported.");
            }
            return Ok(None);
        }
        let report = plan.apply(selection, &options, &configuration.secrets())?;
        if !self.output.json {
            let home = &configuration.environment.home;
            import::show::report(&report, home, self.output)?;
        }
        for result in &report.results {
            if result.state == pegboard_config::clients::ResultState::Failed {
                let name = UntrustedText::new(&result.original_name).shortened(60);
                self.left.push(format!("`{name}` was not imported"));
                self.fail(Failure::shown(2));
            }
        }
        Ok(Some(report))
    }

    fn fail(&mut self, failure: Failure) {
        let first = self.failed.as_ref();
        if first.is_none_or(|first| first.exit < failure.exit) {
            self.failed = Some(Failure::shown(failure.exit));
        }
    }

    /// The servers that are discovered: all that were imported, in this run or an earlier one, and that may run.
    fn undiscovered(
        &self,
        plan: &ImportPlan,
        report: Option<&ImportReport>,
        configuration: &Configuration,
    ) -> Vec<ServerName> {
        let written = report.into_iter().flat_map(ImportReport::written);
        let written = written.filter(|result| !result.needs_trust);
        let written = written.filter_map(|result| result.name.as_ref());
        let earlier = plan
            .servers
            .iter()
            .filter_map(|server| server.existing.as_ref());
        let mut names: Vec<ServerName> = Vec::new();
        for name in written.chain(earlier) {
            let spec = configuration.loaded.servers.get(name);
            let can_run = spec.is_some_and(|spec| {
                spec.enabled && spec.trust_state == pegboard_model::TrustState::Granted
            });
            if can_run && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Discovers servers, and counts what was saved.
    fn discover(
        &mut self,
        names: &[ServerName],
        configuration: Configuration,
        connected: &[Connected],
        imported: &Imported,
    ) -> Result<(Vec<RefreshOutcome>, Option<Savings>), Failure> {
        if names.is_empty() {
            return Ok((Vec::new(), None));
        }
        if !self.output.json {
            self.output.line("")?;
            self.title("Discovering the tools")?;
        }
        let (global, output) = (self.global, self.output);
        let (outcomes, savings) = working(async {
            let pegboard = open(configuration, builder(global), output).await?;
            let logs = pegboard.configuration().logs();
            with_servers(pegboard, |hub| async move {
                // Servers of an earlier run are known already.
                let catalog = hub.catalog();
                let is_known = |name: &&ServerName| {
                    let entry = catalog.server(name);
                    entry.is_some_and(|entry| entry.record.is_known())
                };
                let unknown = names.iter().filter(|name| !is_known(name));
                let unknown: Vec<ServerName> = unknown.cloned().collect();
                let outcomes = discovered(&hub, &unknown, output).await?;
                for outcome in outcomes.iter().filter(|_| !output.json) {
                    print_brief(outcome, output)?;
                    note_log(outcome, &logs, output);
                }
                let counts = token_counts(&hub.catalog())?;
                let savings = Savings::new(connected, imported, &hub.catalog(), &counts);
                Ok((outcomes, savings))
            })
            .await
        })?;
        if let Err(failure) = result_of(&outcomes) {
            for outcome in outcomes.iter().filter(|outcome| outcome.result.is_err()) {
                let text = format!(
                    "`{}` could not be discovered; it stays configured, and `pegboard doctor {}` says more",
                    outcome.server, outcome.server
                );
                self.left.push(text);
            }
            self.fail(failure);
        }
        Ok((outcomes, savings))
    }

    /// Ends a run that only shows what would be done.
    fn end_of_plan(
        &mut self,
        plan: &ImportPlan,
        connected: &[Connected],
        has_servers: bool,
    ) -> CommandResult {
        if self.output.json {
            self.output.document(&Document {
                plan,
                import: None,
                clients: connected,
                discovery: &[],
                savings: None,
            })?;
        } else if !has_servers {
            self.nothing();
        } else {
            self.output
                .note("Nothing was written. Run `pegboard setup --yes` to do this, or `pegboard setup` in a terminal to choose.");
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn nothing(&self) {
        self.output.note(
            "There is no server to bring in. Add one with `pegboard add NAME -- COMMAND`, then connect your clients \
             with `pegboard setup`.",
        );
    }

    /// Says what was done, what was not, and what to do next.
    fn finish(
        &self,
        connected: &[Connected],
        savings: Option<&Savings>,
        file: Option<String>,
        has_servers: bool,
    ) -> CommandResult {
        let output = self.output;
        if !has_servers {
            self.nothing();
            return Ok(());
        }
        if let Some(savings) = savings {
            output.line("")?;
            savings.print(output)?;
        }
        if !self.left.is_empty() {
            output.line("")?;
            self.title("Not done")?;
            for text in &self.left {
                output.line(&format!("{} {text}", output.paint(Paint::Bad, "✗")))?;
            }
            output.line("Run `pegboard setup` again to continue.")?;
        }
        output.line("")?;
        let written = connected.iter().filter(|client| client.is_written());
        let names: Vec<&str> = written.map(|client| client.name).collect();
        if !names.is_empty() {
            output.line(&format!("Next: restart {}.", names.join(", ")))?;
            output.line("Undo: `pegboard disconnect --all` restores the clients' files.")?;
        }
        if let Some(file) = file {
            output.line(&format!(
                "The imported servers are in {file}; `pegboard remove NAME` removes one."
            ))?;
        }
        Ok(())
    }
}

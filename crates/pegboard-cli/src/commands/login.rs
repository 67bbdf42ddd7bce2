//! `pegboard login` and `pegboard logout`: the only commands that log in to a remote server.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use pegboard_catalog::ServerEntry;
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, LoginState, ServerName, ServerSpec, ToolError};
use pegboard_upstream::{LOGIN_TIME, LoginOptions, Logins};
use serde::Serialize;
use tokio::sync::mpsc;

use super::discover_now::{discovered, result_of};
use super::refresh::print_outcome;
use super::{
    CommandResult, Global, Output, builder, dashboard, load_config, open, reading, server_name,
    with_servers, working,
};
use crate::failure::Failure;
use crate::format::{duration, login_text};
use crate::output::Paint;

/// The most pasted lines that are read.
const MAX_PASTED: usize = 100;

#[derive(Args)]
pub(crate) struct LoginArgs {
    /// The server's name
    #[arg(required_unless_present = "status")]
    pub(crate) server: Option<String>,
    /// Do not open a browser: type a code on another device, or paste the address at the end
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Request exactly this scope; can be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Show the logins of all servers, or of one
    #[arg(long, conflicts_with_all = ["no_browser", "scope"])]
    pub(crate) status: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    logins: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    server: &'a str,
    #[serde(flatten)]
    login: &'a LoginState,
}

pub(crate) fn run(args: &LoginArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = args.server.as_deref();
    let server = server
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    let Some(name) = server.as_ref().filter(|_| !args.status) else {
        return status(server.as_ref(), configuration, global, output);
    };
    let options = LoginOptions {
        scopes: (!args.scope.is_empty()).then(|| args.scope.clone()),
    };
    working(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let logins = pegboard.logins().clone();
        let state_dir = pegboard.configuration().state.path().to_owned();
        with_servers(pegboard, |hub| async move {
            let catalog = hub.catalog();
            let Some(entry) = catalog.server(name) else {
                return Ok(());
            };
            let browser = Browser {
                opens: !args.no_browser,
                state_dir: &state_dir,
            };
            let login = log_in(&entry.spec, &logins, &options, &browser, output).await?;
            print_login(name, &login, output)?;
            let outcomes = discovered(&hub, std::slice::from_ref(name), output).await?;
            if !output.json {
                for outcome in &outcomes {
                    print_outcome(outcome, output)?;
                }
            }
            result_of(&outcomes)
        })
        .await
    })
}

/// Whether and how a browser is opened.
pub(super) struct Browser<'a> {
    pub(super) opens: bool,
    pub(super) state_dir: &'a std::path::Path,
}

/// Logs in to a server with the person at the terminal.
pub(super) async fn log_in(
    spec: &ServerSpec,
    logins: &Logins,
    options: &LoginOptions,
    browser: &Browser<'_>,
    output: &Output,
) -> Result<LoginState, Failure> {
    if !browser.opens
        && let Some(device) = logins.begin_on_device(spec, options).await?
    {
        output.note(&format!(
            "Open this address on any device, and compare or type the code {}:\n\n  {}\n",
            output.paint(Paint::Strong, device.user_code()),
            device.url()
        ));
        return Ok(device.complete().await?);
    }
    let pending = logins.begin(spec, options).await?;
    let issuer = pegboard_model::UntrustedText::new(pending.issuer());
    let scopes = match pending.scopes() {
        [] => String::new(),
        scopes => format!(" with the rights {}", scopes.join(", ")),
    };
    output.note(&format!(
        "Log in to `{}` at {issuer}{scopes}:\n\n  {}\n",
        spec.name,
        pending.url()
    ));
    if browser.opens
        && let Err(error) = dashboard::open_browser(browser.state_dir, pending.url())
    {
        output.note(&format!("{} Open the address yourself.", error.message));
    }
    let (sender, pasted) = mpsc::channel(1);
    let can_paste = !browser.opens || std::io::stdin().is_terminal();
    if can_paste {
        output.note(&format!(
            "Waiting for the browser for {}. If it runs on another machine, paste the address that it shows at the end:",
            duration(LOGIN_TIME)
        ));
        read_pasted(sender);
    } else {
        drop(sender);
        let time = duration(LOGIN_TIME);
        output.note(&format!("Waiting for the browser for {time}."));
    }
    let warn = |error: &ToolError| {
        let text = format!("{} {}", error.message, error.remedy);
        output.note(&output.paint(Paint::Warn, &text));
    };
    Ok(pending.complete(pasted, warn).await?)
}

/// Reads lines in a thread of its own, which ends with the program: a read of a terminal cannot be interrupted.
fn read_pasted(sender: mpsc::Sender<String>) {
    let reading = move || {
        for line in std::io::stdin().lock().lines().take(MAX_PASTED) {
            let Ok(line) = line else { return };
            if !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without the thread, only the browser can complete the login.
    let _ = std::thread::Builder::new()
        .name("pasted-address".to_owned())
        .spawn(reading);
}

fn print_login(name: &ServerName, login: &LoginState, output: &Output) -> CommandResult {
    if output.json {
        let server = name.as_str();
        return output.document(&Row { server, login });
    }
    let text = login_text(login, SystemClock.now());
    output.note(&format!(
        "{} to `{name}`: {text}",
        output.paint(Paint::Good, "logged in")
    ));
    Ok(())
}

/// Prints the states of logins, without network.
fn status(
    only: Option<&ServerName>,
    configuration: pegboard::Configuration,
    global: &Global,
    output: &Output,
) -> CommandResult {
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let catalog = pegboard.hub().catalog();
        let wanted =
            |entry: &&std::sync::Arc<ServerEntry>| only.is_none_or(|only| entry.name() == only);
        let states: Vec<(&str, LoginState)> = catalog
            .servers()
            .filter(wanted)
            .filter_map(|entry| Some((entry.name().as_str(), pegboard.hub().login_state(entry)?)))
            .collect();
        if output.json {
            let logins = states.iter().map(|(server, login)| Row { server, login });
            return output.document(&Document {
                logins: logins.collect(),
            });
        }
        if states.is_empty() {
            output.note("No server has or requires a login, as far as is known.");
            return Ok(());
        }
        let now = SystemClock.now();
        let rows = states
            .iter()
            .map(|(server, login)| {
                let paint = login_paint(login);
                let scopes = match login {
                    LoginState::LoggedIn { scopes, .. }
                    | LoginState::MoreRightsNeeded { scopes, .. } => scopes.join(" "),
                    _ => String::new(),
                };
                vec![
                    (*server).to_owned(),
                    output.paint(paint, &login_text(login, now)),
                    scopes,
                ]
            })
            .collect();
        output.line(&output.table(&["SERVER", "LOGIN", "SCOPES"], rows, 2))
    })
}

/// The colour of a login's state.
pub(super) fn login_paint(login: &LoginState) -> Paint {
    match login {
        LoginState::LoggedIn { .. } => Paint::Good,
        LoginState::Expired { .. } => Paint::Bad,
        _ => Paint::Warn,
    }
}

#[derive(Serialize)]
struct LogoutDocument<'a> {
    server: &'a str,
    was_logged_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<bool>,
}

/// Ends the login of a server.
pub(crate) fn logout(server: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let name = server_name(server, &configuration)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let catalog = pegboard.hub().catalog();
        let Some(entry) = catalog.server(&name) else {
            return Ok(());
        };
        let done = pegboard.logins().logout(&entry.spec).await?;
        if output.json {
            return output.document(&LogoutDocument {
                server: name.as_str(),
                was_logged_in: done.was_logged_in,
                revoked: done.revoked,
            });
        }
        output.note(&match (done.was_logged_in, done.revoked) {
            (false, _) => format!("there is no login to `{name}`"),
            (true, Some(true)) => format!("logged out of `{name}`; the service has revoked the tokens"),
            (true, Some(false)) => format!(
                "logged out of `{name}`; the service did not confirm that it revoked the tokens, so end the session there as well"
            ),
            (true, None) => format!(
                "logged out of `{name}`; the service offers no revocation, so end the session there as well"
            ),
        });
        Ok(())
    })
}

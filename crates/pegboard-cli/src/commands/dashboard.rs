//! `pegboard dashboard`: requests a one-time login URL from the running Pegboard.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use hyper::Method;
use pegboard::dashboard::{find_running_instance, login_redirect};
use pegboard_gateway::http::admin_token;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::{Deserialize, Serialize};

use super::{CommandResult, Global, Output, builder, reading, running};

#[derive(Args)]
pub(crate) struct DashboardArgs {
    /// Also open it in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// The time allowed for the response of the running Pegboard.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize, Serialize)]
struct Login {
    url: String,
    #[serde(rename = "expiresIn")]
    expires_in: u64,
}

pub(crate) fn run(args: &DashboardArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = builder(global).load()?;
    let state = configuration.state.path();
    reading(async {
        let login = request_login(state).await?;
        if output.json {
            output.document(&login)?;
        } else {
            output.line(&login.url)?;
            let minutes = login.expires_in / 60;
            output.note(&format!("The URL works once, within {minutes} minutes."));
        }
        if args.open {
            open_browser(state, &login.url)?;
        }
        Ok(())
    })
}

/// Requests a one-time login from the running Pegboard.
async fn request_login(state: &Path) -> ToolResult<Login> {
    let address = find_running_instance(state)?;
    let token = admin_token(state)?;
    running::request(
        address,
        Method::POST,
        "/api/v1/logins",
        &token,
        RESPONSE_TIMEOUT,
    )
    .await
}

/// Opens a file that redirects to the URL with the system's opener. The one-time code is not on the command line,
/// which other users of the machine can read, and no shell is involved.
pub(super) fn open_browser(state: &Path, url: &str) -> ToolResult<()> {
    let file = login_redirect::write(state, url).map_err(|error| {
        let message = format!("cannot write the file for the browser: {error}");
        ToolError::new(Reason::StoreIo, message)
            .with_remedy("Open the printed URL in your browser.")
    })?;
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    #[allow(
        clippy::disallowed_methods,
        reason = "the system's opener is not a server and outlives this process"
    )]
    let started = std::process::Command::new(opener)
        .arg(file)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    started.map(drop).map_err(|error| {
        let message = format!("cannot start `{opener}`: {error}");
        ToolError::new(Reason::SpawnFailed, message)
            .with_remedy("Open the printed URL in your browser.")
    })
}

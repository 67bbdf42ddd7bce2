//! The client token and the admin token of a serving Pegboard.

use pegboard::Pegboard;
use pegboard_gateway::http::{ServedToken, served_admin_token, served_token};
use pegboard_model::{Secret, ToolResult};

use super::ServeArgs;
use super::warn;
use crate::output::Output;

pub(super) struct Tokens {
    /// `None` if clients need no token.
    pub(super) client: Option<ServedToken>,
    pub(super) admin: ServedToken,
}

impl Tokens {
    /// Reads or creates the tokens. A new token that cannot be stored is valid for this run only.
    pub(super) fn of(args: &ServeArgs, pegboard: &Pegboard) -> ToolResult<Self> {
        let state = pegboard.configuration().state.path();
        let client = match args.no_auth {
            true => None,
            false => Some(served_token(state)?),
        };
        let admin = served_admin_token(state)?;
        for served in client.iter().chain([&admin]) {
            pegboard.redact(&served.token);
        }
        Ok(Self { client, admin })
    }

    /// Returns the client token if it is not stored.
    pub(super) fn temporary(&self) -> Option<&Secret> {
        let client = self.client.as_ref()?;
        client.not_stored.as_ref().map(|_| &client.token)
    }

    /// Prints a warning if a token could not be stored.
    pub(super) fn warn(&self, output: &Output) {
        let served = self.client.iter().chain([&self.admin]);
        if let Some(why) = served.filter_map(|one| one.not_stored.as_ref()).next() {
            let text = format!(
                "{}. The tokens of this run are not stored: `pegboard token` and `pegboard dashboard` cannot use them, \
                 and the next start creates new ones. {}",
                why.message, why.remedy
            );
            warn(&text, output);
        }
    }
}

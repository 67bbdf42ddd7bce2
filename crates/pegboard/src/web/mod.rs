//! What the HTTP API and the dashboard need of the files: configuration, projects, logs, and where we can be reached.

mod household;
mod logins;
pub(crate) mod open_file;
mod opening;
mod projects;
mod reload;
mod remembered;
mod running;
mod state_file;

pub(crate) use opening::{Place, open, own_variables};
pub(crate) use reload::Reload;
pub(crate) use running::{Running, find_running};

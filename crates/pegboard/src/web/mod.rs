//! The parts of the HTTP API and the dashboard that work with files: configuration, projects, logins, and the address
//! of the running process.

mod config_admin;
mod config_reloader;
pub(crate) mod login_redirect;
mod logins;
mod projects;
mod recent_projects;
mod running_instance;
mod service;
mod state_file;

pub(crate) use config_reloader::ConfigReloader;
pub(crate) use running_instance::{RunningInstance, find_running_instance};
pub(crate) use service::{Endpoint, open, own_variables};

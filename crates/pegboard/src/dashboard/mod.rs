//! The parts of the HTTP API and the dashboard that work with files: configuration, projects, logins, and the address
//! of the running process.

mod client_admin;
mod config_admin;
mod config_reloader;
pub mod login_redirect;
mod logins;
mod projects;
mod recent_projects;
mod running_instance;
mod server_logins;
mod service;
mod state_file;

pub use config_reloader::{ConfigReloader, ReloadOutcome};
pub use pegboard_web::ProcessAdmin;
pub use running_instance::{
    InstanceInfo, RunningInstance, find_running_instance, running_instance_info,
};
pub use service::{Dashboard, Endpoint, own_variables};

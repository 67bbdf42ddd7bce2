//! Reads config files and the environment, and produces checked server definitions with source locations.
//!
//! TOML, YAML and JSON are parsed into one tree of nodes with offsets, which is then interpreted. Layers override
//! each other: user < project < environment.
//!
//! Invariants:
//! - Loading never fails as a whole. Each mistake becomes a [`Problem`] with file, line and a fix, and affects only
//!   the server that contains it.
//! - No value of `env`, `headers` or `bearer` and no resolved variable appears in a problem, an explanation or
//!   `Debug` output.
//! - Loading only reads files. It starts no process, opens no connection and no keychain.
//! - Files are written atomically.
//! - Nothing panics on any input.

// A problem is large because it contains its location and help; one is created per mistake.
#![allow(clippy::result_large_err)]

mod agent;
mod atomic;
mod builtin;
mod client_files;
pub mod clients;
mod command_line;
mod content_hashes;
mod definition_warnings;
mod duration;
pub mod edit;
mod env_overrides;
mod environment;
mod example;
mod explain;
mod file;
mod file_servers;
mod hash;
mod jsonc;
mod keychain;
mod keys;
mod kinds;
mod layers;
mod load;
mod loader_variables;
mod mentioned_variables;
mod merge;
mod name;
mod node;
mod oauth;
mod package_runners;
mod permission;
mod policies;
mod problem;
mod problem_limit;
mod profile;
mod profile_narrowing;
mod reader;
mod received_values;
#[cfg(test)]
mod reference;
mod regular_file;
mod review;
mod review_settings;
mod sandbox;
mod schema;
mod secrets;
mod sensitive;
mod server;
mod server_keys;
mod settings;
mod specs;
mod template;
mod template_checks;
mod text;
mod toml;
mod toml_table;
mod tools;
mod trace;
mod transport;
mod trust_store;
mod watch;
mod working_dir;
mod yaml;

pub use agent::{AgentLoading, AgentProvider, AgentSettings};
pub use atomic::write_file_atomically;
pub use builtin::code_server;
pub use command_line::{command_line, masked_command_line, quoted as quoted_word};
pub use content_hashes::ContentHashes;
pub use definition_warnings::{DefinitionWarning, definition_warnings, secret_name};
pub use duration::parse_duration;
pub use environment::{Environment, Paths};
pub use explain::EffectiveValue;
pub use keychain::LoginKeychain;
pub use load::{LoadOptions, LoadedConfig, SourceFile, load};
pub use loader_variables::{LOADER_VARIABLES, LoaderVariable, loader_variable};
pub use mentioned_variables::MentionedVariables;
pub use name::NormalizedName;
pub use problem::{Problem, Severity};
pub use profile::{DEFAULT_PROFILE, Profile, ProfileMode};
pub use received_values::{ReceivedValue, ReceivedValueKind};
pub use review::{REVIEW_CHARACTERS, ReplacedServer, ShownDefinition, ShownValue, TrustReview};
pub use review_settings::ReviewSettings;
pub use schema::schema;
pub use secrets::{SecretBackend, SecretInfo, SecretStore, StoredSecret};
pub use server_keys::editable_server_keys;
pub use settings::{DEFAULT_PORT, Settings};
pub use trace::{LangfuseSettings, TraceSettings};
pub use trust_store::TrustStore;
pub use watch::Watcher;

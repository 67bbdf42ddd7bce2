//! Files and environment in, checked server definitions out, each value with the place it came from.
//!
//! Three readers turn TOML, YAML and JSON into one tree with places; one interpreter turns trees into
//! servers; layers are laid over each other: user < project < environment.
//!
//! Invariant: loading never fails as a whole. What is wrong becomes a [`Problem`] that names file, line
//! and what to write instead, and costs only the server it is in.
//! Invariant: no value of `env`, `headers` or `bearer`, and no resolved variable, is ever in a problem, an
//! explanation or a `Debug` text.
//! Invariant: loading reads files only; it starts nothing, connects to nothing and opens no keychain.
//! Invariant: a file is written in one way, whole or not at all.
//! Invariant: nothing here panics on any input.

// A problem is large because it holds its place and its help; it is made once per mistake.
#![allow(clippy::result_large_err)]

mod agent;
mod atomic;
mod builtin;
mod client_files;
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
mod layers;
mod load;
mod loader_variables;
mod merge;
mod name;
mod node;
mod package_runners;
mod permission;
mod policies;
mod problem;
mod problem_limit;
mod profile;
mod profile_narrowing;
mod reader;
mod received_values;
mod regular_file;
mod review;
mod schema;
mod secrets;
mod sensitive;
mod server;
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
pub use command_line::{command_line, masked_command_line};
pub use content_hashes::ContentHashes;
pub use definition_warnings::{DefinitionWarning, definition_warnings};
pub use duration::parse_duration;
pub use environment::{Environment, Paths};
pub use explain::EffectiveValue;
pub use load::{LoadOptions, LoadedConfig, SourceFile, load};
pub use loader_variables::{LOADER_VARIABLES, LoaderVariable, loader_variable};
pub use name::NormalizedName;
pub use problem::{Problem, Severity};
pub use profile::{DEFAULT_PROFILE, Profile, ProfileMode};
pub use received_values::{ReceivedValue, ReceivedValueKind};
pub use review::{REVIEW_CHARACTERS, ReplacedServer, ShownDefinition, ShownValue, TrustReview};
pub use schema::schema;
pub use secrets::{SecretBackend, SecretInfo, SecretStore, StoredSecret};
pub use settings::{DEFAULT_PORT, RefreshOnStart, Settings, StaleRefresh};
pub use trace::{LangfuseSettings, TraceSettings};
pub use trust_store::TrustStore;
pub use watch::Watcher;

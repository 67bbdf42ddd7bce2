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
mod agreements;
mod atomic;
mod builtin;
mod command_line;
mod contents;
mod definition_warnings;
mod duration;
pub mod edit;
mod environment;
mod example;
mod explain;
mod file;
mod foreign;
mod found;
mod hash;
mod jsonc;
mod keychain;
mod known;
mod layers;
mod load;
mod loader_variables;
mod merge;
mod name;
mod node;
mod overlay;
mod own_folder;
mod permission;
mod pinned;
mod policies;
mod problem;
mod problem_limit;
mod profile;
mod profile_narrowing;
mod received;
mod regular_file;
mod review;
mod schema;
mod secrets;
mod sensitive;
mod server;
mod settings;
mod specs;
mod template;
mod text;
mod toml;
mod toml_table;
mod tools;
mod trace;
mod transport;
mod typed;
mod watch;
mod yaml;

pub use agent::{AgentLoading, AgentProvider, AgentSettings};
pub use agreements::Agreements;
pub use atomic::write_file_atomically;
pub use builtin::builtin_server;
pub use command_line::{command_line, shown_command_line};
pub use contents::Contents;
pub use definition_warnings::{DefinitionWarning, definition_warnings};
pub use duration::parse_duration;
pub use environment::{Environment, Paths};
pub use explain::Explained;
pub use load::{LoadOptions, Loaded, SourceFile, load};
pub use loader_variables::{LOADER_VARIABLES, LoaderVariable, loader_variable};
pub use name::TypedName;
pub use problem::{Problem, Severity};
pub use profile::{DEFAULT_PROFILE, Profile, ProfileMode};
pub use received::{Received, ReceivedKind};
pub use review::{REVIEW_CHARACTERS, ReplacedServer, ShownDefinition, ShownValue, TrustReview};
pub use schema::schema;
pub use secrets::{Kept, SecretBackend, SecretKeeper, SecretName};
pub use settings::{DEFAULT_PORT, RefreshOnStart, Settings, StaleRefresh};
pub use trace::{LangfuseSettings, TraceSettings};
pub use watch::Watcher;

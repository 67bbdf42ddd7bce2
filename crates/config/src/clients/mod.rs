//! Other MCP clients' config files: where they are, how they write a server, the import of their servers, and Pegboard's
//! own entry in them.
//!
//! Everything that is specific to one client is a row of [`CLIENTS`]; adding a client changes only `table.rs` and its
//! fixtures. Importing only reads the files; connecting and disconnecting change them.

// What all parts share.
mod locations;
mod table;
mod text;

// Import.
mod apply;
mod check;
mod convert;
mod draft;
mod env_file;
mod fields;
mod identity;
mod names;
mod plan;
mod read;
mod scan;
mod secret_values;
mod selection;
mod tool_rules;
mod value;
mod variables;

// Connect and disconnect.
mod connect;
#[cfg(test)]
mod crash_tests;
mod diff;
mod disconnect;
mod entry;
mod launch;
mod mask;
mod merge;
mod own_entry;
mod record;
mod rewrite;
mod same_server;
mod status;
mod target;
mod undo;
mod write;

pub use apply::{ApplyOptions, ImportReport, ImportResult, ResultState, SecretMode};
pub use connect::{ConnectOptions, ConnectPlan, TakeOver};
pub use disconnect::DisconnectPlan;
pub use entry::{ENTRY_NAME, EntryToken, EntryTransport};
pub use launch::Launch;
pub use locations::{FoundFile, Places, find_files};
pub use plan::{
    FileState, ImportFile, ImportPlan, ImportSecret, ImportServer, ImportSource, RequiredSecret,
    ServerState,
};
pub use same_server::is_same_server;
pub use selection::Selection;
pub use status::{ClientStatus, ConnectionState, OwnEntry, StatusOptions, connection_status};
pub use table::{
    ApprovalMode, CLIENTS, Client, ClientFile, EntryForm, FileFormat, FileList, FileScope,
    HttpForm, Location, Root, StdioForm, TimeoutUnit, ToolLists, VariableSyntax, client,
};

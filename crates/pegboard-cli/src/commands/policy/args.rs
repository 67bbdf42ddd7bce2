//! Arguments of `pegboard policy`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules
    List,
    /// Set a rule in a config file
    Set(PolicySetArgs),
    /// Remove a rule from a config file
    Unset(PolicyUnsetArgs),
    /// Show the policy of a tool, the rule that decides, and why other rules do not
    Test {
        /// The tool: server/tool, server__tool, or its bare name when only one server has it
        tool: String,
    },
    /// List tools with a permanent grant
    Grants,
    /// Revoke a permanent grant
    Revoke {
        /// The tool, as `policy grants` shows it
        tool: String,
    },
}

#[derive(Args)]
pub(crate) struct PolicySetArgs {
    /// The tools: a name, a pattern with * and ?, @destructive or @read_only
    pub(crate) pattern: String,
    /// The policy
    #[arg(value_enum)]
    pub(crate) policy: PolicyArg,
    /// Only for this server [default: all servers]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Write to the project's file, which can only tighten policies [default: your own file]
    #[arg(long, conflicts_with = "server")]
    pub(crate) in_project: bool,
}

#[derive(Args)]
pub(crate) struct PolicyUnsetArgs {
    /// The pattern of the rule
    pub(crate) pattern: String,
    /// A rule of this server [default: a rule of all servers]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Change the project's file [default: your own file]
    #[arg(long, conflicts_with = "server")]
    pub(crate) in_project: bool,
}

/// A policy for tools.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PolicyArg {
    /// Call without approval
    Allow,
    /// Ask a person before each call
    Ask,
    /// Show, but refuse calls
    Deny,
    /// Hide, and refuse calls
    Disable,
}

//! The command line arguments: one `clap` definition per command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::commands::serve::ListenAddress;

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 failure, 2 usage or config, 3 unavailable, \
4 login required, 5 the tool reported an error, 6 denied, 7 not found.";

/// Know every tool of every MCP server without starting any, and call it by starting exactly its server.
#[derive(Parser)]
#[command(name = "pegboard", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command accepts.
#[derive(Args, Clone)]
pub(crate) struct Global {
    /// Read this file (TOML, YAML or JSON) instead of the user's and the project's
    #[arg(long, short = 'c', global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The project to use [default: the nearest parent directory with a project file]
    #[arg(long, short = 'p', global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Refuse config files that other users can write; make `config check` fail on warnings
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colors
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Log to standard error: error, warn, info, debug or trace [default: off]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve MCP clients over HTTP with the dashboard, and keep the catalog fresh
    #[command(
        after_help = "Examples:\n  pegboard up\n  pegboard up --example\n  pegboard up --port 8000"
    )]
    Up(UpArgs),
    /// The same as `up`, but never adds the example server
    #[command(
        after_help = "Examples:\n  pegboard serve\n  pegboard serve --listen 127.0.0.1:8080\n  pegboard serve --listen 0.0.0.0 --allow-host box.lan"
    )]
    Serve(ServeArgs),
    /// Serve one MCP client over standard input and output
    #[command(
        after_help = "Examples:\n  pegboard stdio\n  pegboard stdio --profile work\n\n\
        In a client's configuration: \"command\": \"pegboard\", \"args\": [\"stdio\"]."
    )]
    Stdio(StdioArgs),
    /// Print the token that HTTP clients send
    #[command(after_help = "Examples:\n  pegboard token\n  pegboard token --rotate")]
    Token(TokenArgs),
    /// Print a one-time login URL for the dashboard
    #[command(after_help = "Examples:\n  pegboard dashboard\n  pegboard dashboard --open")]
    Dashboard(DashboardArgs),
    /// Add a server and discover its tools
    #[command(
        override_usage = "pegboard add [OPTIONS] <NAME> -- <COMMAND>...\n       \
            pegboard add [OPTIONS] <NAME> <URL>",
        after_help = "Examples:\n  \
        pegboard add time -- uvx mcp-server-time@2026.10.19\n  \
        pegboard add github -e GITHUB_TOKEN='${secret:github}' -- npx -y @modelcontextprotocol/server-github\n  \
        pegboard add docs https://example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'"
    )]
    Add(AddArgs),
    /// Remove a server from the config file
    #[command(after_help = "Example:\n  pegboard remove github")]
    Remove(ServerArgs),
    /// Enable a server
    #[command(after_help = "Example:\n  pegboard enable github")]
    Enable(ServerArgs),
    /// Disable a server; its stored tool list is kept
    #[command(after_help = "Example:\n  pegboard disable github")]
    Disable(ServerArgs),
    /// Change one key of a server in the config file
    #[command(
        after_help = "Examples:\n  pegboard edit github discovery_timeout 2m\n  \
        pegboard edit github description 'Issues and pull requests'"
    )]
    Edit(EditArgs),
    /// List the configured servers
    #[command(
        after_help = "Examples:\n  pegboard list\n  pegboard list --json | jq '.servers[].name'"
    )]
    List,
    /// Show everything about a server: definition, status, tools
    #[command(after_help = "Example:\n  pegboard show github")]
    Show(ServerArgs),
    /// List tools without starting servers that were discovered before
    #[command(
        after_help = "Examples:\n  pegboard tools\n  pegboard tools github\n  \
        pegboard tools --category github/issue\n  pegboard tools --json | jq '.tools[].name'"
    )]
    Tools(ToolsArgs),
    /// Show a tool: description, parameters, an example
    #[command(after_help = "Examples:\n  pegboard describe github/create_issue\n  \
        pegboard describe github__create_issue --json")]
    Describe(ToolArgs),
    /// Search for tools by words and meaning
    #[command(
        after_help = "Examples:\n  pegboard search create issue\n  pegboard search --limit 20 file\n  \
        pegboard search --explain turn my spreadsheet into something printable\n  \
        pegboard search --forget"
    )]
    Search(SearchArgs),
    /// Print a summary of all tools for a system prompt, under 500 tokens
    #[command(after_help = "Examples:\n  pegboard context\n  \
        agent --system-prompt \"You are helpful. $(pegboard context --quiet)\"")]
    Context,
    /// Print all tool definitions in the format of a model provider
    #[command(
        after_help = "Examples:\n  pegboard export --format anthropic > tools.json\n  \
        pegboard export --format openai-responses github\n  \
        pegboard export --format gemini --losses"
    )]
    Export(ExportArgs),
    /// Count the tokens of all tool definitions, with and without Pegboard
    #[command(
        after_help = "Examples:\n  pegboard tokens\n  pegboard tokens --json | jq .total\n  \
        pegboard tokens --lists recorded/"
    )]
    Tokens(TokensArgs),
    /// Ask a model that can use every tool; the answer is streamed
    #[command(
        after_help = "Examples:\n  pegboard ask \"What time is it in Tokyo?\"\n  \
        pegboard ask --provider openai --model gpt-6 \"Which issues are open?\"\n  \
        cat report.txt | pegboard ask -\n  pegboard ask --json \"…\" | jq -c 'select(.event == \"done\")'\n\n\
        The key comes from `api_key` under `[agent]`, ANTHROPIC_API_KEY or OPENAI_API_KEY."
    )]
    Ask(super::commands::ask::args::AskArgs),
    /// Call a tool; starts only its server
    #[command(
        after_help = "Examples:\n  pegboard call time/get_current_time timezone=Europe/Paris\n  \
        pegboard call example/add_numbers --args '{\"a\": 1, \"b\": 2}'\n  \
        echo '{\"a\": 1, \"b\": 2}' | pegboard call example/add_numbers -\n\n\
        In k=v the value is parsed as JSON where the tool's schema expects a number, boolean, array or \
        object, and is text otherwise; k:=v is always JSON."
    )]
    Call(CallArgs),
    /// Discover tools again and show what changed
    #[command(
        after_help = "Examples:\n  pegboard refresh github\n  pegboard refresh --all\n  \
        pegboard refresh --all --force"
    )]
    Refresh(RefreshArgs),
    /// Delete the stored tool list of a server, or of all servers
    #[command(after_help = "Examples:\n  pegboard clear github\n  pegboard clear --yes")]
    Clear(ClearArgs),
    /// Review what a project's servers run and receive, and trust them
    #[command(
        after_help = "Examples:\n  pegboard trust\n  pegboard trust github\n  \
        pegboard trust github --yes\n  pegboard trust github --revoke"
    )]
    Trust(TrustArgs),
    /// List, test and change the policies that decide which tools may be called
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard policy list\n  pegboard policy test github/delete_repo\n  \
        pegboard policy set 'delete_*' ask\n  pegboard policy set @destructive ask\n  \
        pegboard policy set --server github '*' deny\n  pegboard policy grants"
    )]
    Policy(PolicyCommand),
    /// List and decide calls that wait for approval
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pegboard approvals\n  pegboard approvals watch\n  \
        pegboard approvals allow 1f0c22ab\n  pegboard approvals allow 1f0c22ab --always\n  \
        pegboard approvals deny 1f0c22ab"
    )]
    Approvals(ApprovalsArgs),
    /// Show the activity log: calls, discoveries, decisions, changes; never contents
    #[command(
        after_help = "Examples:\n  pegboard activity\n  pegboard activity --limit 200 --json"
    )]
    Activity(ActivityArgs),
    /// Store secret values outside config files; refer to them as ${secret:NAME}
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard secret set github\n  \
        pass show github | pegboard secret set github\n  pegboard secret list"
    )]
    Secret(SecretCommand),
    /// Show what a server wrote to its standard error
    #[command(after_help = "Examples:\n  pegboard logs github\n  pegboard logs github --tail 20")]
    Logs(LogsArgs),
    /// Check the setup by starting servers and discovering their tools
    #[command(after_help = "Examples:\n  pegboard doctor\n  pegboard doctor github")]
    Doctor(DoctorArgs),
    /// Inspect and check the configuration
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard config path\n  \
        pegboard config explain github\n  pegboard config check --strict"
    )]
    Config(ConfigCommand),
    /// Run the built-in example MCP server over stdio
    #[command(after_help = "Example:\n  pegboard add example -- pegboard example-server")]
    ExampleServer,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  pegboard completions bash > ~/.local/share/bash-completion/completions/pegboard"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Args)]
pub(crate) struct UpArgs {
    /// Add the built-in example server to the config file if no server is configured
    #[arg(long)]
    pub(crate) example: bool,
    /// Discover every server once, then exit
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// The port [default: 7340, or a free one if it is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address to listen on, with or without a port [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) listen: Option<ListenAddress>,
    /// An additional host name that clients may use; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Accept every program on this machine without a token; loopback addresses only
    #[arg(long)]
    pub(crate) no_auth: bool,
}

#[derive(Args)]
pub(crate) struct StdioArgs {
    /// The profile of the config file that selects what the client sees
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

#[derive(Args)]
pub(crate) struct DashboardArgs {
    /// Also open it in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct TokenArgs {
    /// The admin token, which allows changing configuration and policies
    #[arg(long)]
    pub(crate) admin: bool,
    /// Create a new token; the old one stops working
    #[arg(long)]
    pub(crate) rotate: bool,
}

#[derive(Args)]
pub(crate) struct ServerArgs {
    /// The server's name
    pub(crate) server: String,
}

#[derive(Args)]
pub(crate) struct EditArgs {
    /// The server's name
    pub(crate) server: String,
    /// The key, as in the config file
    pub(crate) key: String,
    /// The new value; JSON values such as true or 5 keep their type
    pub(crate) value: String,
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The server's name: a-z, 0-9 and _
    pub(crate) name: String,
    /// The URL of an HTTP server
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// An environment variable of the server; can be repeated
    #[arg(
        short,
        long,
        value_name = "KEY=VALUE",
        num_args = 1,
        conflicts_with = "url"
    )]
    pub(crate) env: Vec<String>,
    /// A header of requests to the server; can be repeated
    #[arg(
        short = 'H',
        long,
        value_name = "NAME: VALUE",
        num_args = 1,
        conflicts_with = "command"
    )]
    pub(crate) header: Vec<String>,
    /// The working directory of the server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) cwd: Option<String>,
    /// What the server is for
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// The category of its tools
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Replace a server of the same name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Only write the config file; do not start the server
    #[arg(long)]
    pub(crate) no_discover: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// Only this server's tools
    pub(crate) server: Option<String>,
    /// Only tools in this category or its subcategories
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Show disabled tools too
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args)]
pub(crate) struct ToolArgs {
    /// The tool: server/tool, server__tool, or its bare name when only one server has it
    pub(crate) tool: String,
}

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// What the tool should do, or its name
    #[arg(required_unless_present = "forget")]
    pub(crate) words: Vec<String>,
    /// Maximum number of tools [default: 10]
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Show the matched words and the parts of each score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by words alone, not by meaning
    #[arg(long = "words", conflicts_with = "forget")]
    pub(crate) words_only: bool,
    /// Delete the search history (see the setting `remember_searches`)
    #[arg(long, conflicts_with_all = ["words", "explain"])]
    pub(crate) forget: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// anthropic, anthropic-deferred, openai-responses, openai-deferred, openai-chat, gemini or bedrock
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: pegboard_formats::Format,
    /// Only the tools of these servers
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Show what the format cannot express instead of the definitions
    #[arg(long)]
    pub(crate) losses: bool,
}

#[derive(Args)]
pub(crate) struct TokensArgs {
    /// Count recorded tool lists instead of the configured servers: one JSON file with `tools` per server
    #[arg(long, value_name = "DIR")]
    pub(crate) lists: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct CallArgs {
    /// The tool: server/tool, server__tool, or its bare name when only one server has it
    pub(crate) tool: String,
    /// Arguments as key=value or key:=json; `-` reads a JSON object from standard input
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) args: Option<String>,
    /// Approve without a prompt when a policy says `ask`
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Args)]
pub(crate) struct RefreshArgs {
    /// The server [default: all]
    #[arg(conflicts_with = "all")]
    pub(crate) server: Option<String>,
    /// Every enabled server
    #[arg(long)]
    pub(crate) all: bool,
    /// Also discover servers whose list is still fresh
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct ClearArgs {
    /// The server [default: all]
    pub(crate) server: Option<String>,
    /// Delete without a prompt
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// The server [default: all pending servers]
    pub(crate) server: Option<String>,
    /// Trust without a prompt
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Revoke trust
    #[arg(long, conflicts_with = "yes", requires = "server")]
    pub(crate) revoke: bool,
    /// Do not start the servers to discover their tools
    #[arg(long)]
    pub(crate) no_discover: bool,
}

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

#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending calls
    List,
    /// Approve a call
    Allow(AllowArgs),
    /// Refuse a call
    Deny {
        /// The id of the request
        id: String,
    },
    /// Show each pending call as it arrives; while this runs, approvals are possible
    Watch,
}

#[derive(Args)]
pub(crate) struct AllowArgs {
    /// The id of the request
    pub(crate) id: String,
    /// Also allow later calls of this version of the tool in the same session
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,
    /// Also allow all later calls of this version of the tool
    #[arg(long)]
    pub(crate) always: bool,
}

#[derive(Args)]
pub(crate) struct ActivityArgs {
    /// Maximum number of entries
    #[arg(long, short = 'n', default_value_t = 50)]
    pub(crate) limit: usize,
    /// Only entries before the one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value from a prompt or from standard input
    Set {
        /// The name to use in ${secret:NAME}
        name: String,
    },
    /// List the names; values are never shown
    List,
    /// Delete a value
    Rm {
        /// The name
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct LogsArgs {
    /// The server's name
    pub(crate) server: String,
    /// Only the last lines
    #[arg(long, short = 'n', value_name = "LINES")]
    pub(crate) tail: Option<usize>,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Only this server
    pub(crate) server: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the paths of the config files and the state directory
    Path,
    /// Show every value and its source
    Explain {
        /// Only this server
        server: Option<String>,
    },
    /// Read the configuration and report every problem
    Check,
    /// Print the JSON Schema of the config file
    Schema,
}

//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::commands::serve::ListenAddress;

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 failure, 2 usage or config, 3 unavailable, \
4 login needed, 5 the tool said it failed, 6 denied, 7 not found.";

/// Every tool of every MCP server, known without starting any.
#[derive(Parser)]
#[command(name = "pegboard", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone)]
pub(crate) struct Global {
    /// Read this file (TOML, YAML or JSON) in place of the user's and the project's
    #[arg(long, short = 'c', global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The project whose configuration counts [default: found upwards from here]
    #[arg(long, short = 'p', global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Refuse config files that other users can change; `config check` fails on warnings too
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but the answer
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Log on the error output: error, warn, info, debug or trace [default: off]
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
    /// Start the main job: serve MCP clients, and keep the catalog fresh
    #[command(
        after_help = "Examples:\n  pegboard up\n  pegboard up --example\n  pegboard up --port 8000"
    )]
    Up(UpArgs),
    /// The same as `up`, without offering anything when no server is configured
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
    /// Print the token that HTTP clients show
    #[command(after_help = "Examples:\n  pegboard token\n  pegboard token --rotate")]
    Token(TokenArgs),
    /// Print an address that logs a browser in to the dashboard, once
    #[command(after_help = "Examples:\n  pegboard dashboard\n  pegboard dashboard --open")]
    Dashboard(DashboardArgs),
    /// Add a server and discover its tools at once
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
    /// Let a server's tools be found and called again
    #[command(after_help = "Example:\n  pegboard enable github")]
    Enable(ServerArgs),
    /// Hide a server's tools; what is known of them is kept
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
    /// Show all that is known of a server
    #[command(after_help = "Example:\n  pegboard show github")]
    Show(ServerArgs),
    /// List tools; nothing known is started
    #[command(
        after_help = "Examples:\n  pegboard tools\n  pegboard tools github\n  \
        pegboard tools --category github/issue\n  pegboard tools --json | jq '.tools[].name'"
    )]
    Tools(ToolsArgs),
    /// Show a tool: what it does, what it takes, an example
    #[command(after_help = "Examples:\n  pegboard describe github/create_issue\n  \
        pegboard describe github__create_issue --json")]
    Describe(ToolArgs),
    /// Find tools by words
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
    /// Print all definitions as a model provider accepts them
    #[command(
        after_help = "Examples:\n  pegboard export --format anthropic > tools.json\n  \
        pegboard export --format openai-responses github\n  \
        pegboard export --format gemini --losses"
    )]
    Export(ExportArgs),
    /// Count what the tools cost a model: all definitions against Pegboard's few
    #[command(
        after_help = "Examples:\n  pegboard tokens\n  pegboard tokens --json | jq .total\n  \
        pegboard tokens --lists recorded/"
    )]
    Tokens(TokensArgs),
    /// Ask a model that has every tool in reach; the answer is streamed
    #[command(
        after_help = "Examples:\n  pegboard ask \"What time is it in Tokyo?\"\n  \
        pegboard ask --provider openai --model gpt-6 \"Which issues are open?\"\n  \
        cat report.txt | pegboard ask -\n  pegboard ask --json \"…\" | jq -c 'select(.event == \"done\")'\n\n\
        The key comes from `api_key` under `[agent]`, ANTHROPIC_API_KEY or OPENAI_API_KEY."
    )]
    Ask(super::commands::ask::args::AskArgs),
    /// Call a tool; starts exactly its server
    #[command(
        after_help = "Examples:\n  pegboard call time/get_current_time timezone=Europe/Paris\n  \
        pegboard call example/add_numbers --args '{\"a\": 1, \"b\": 2}'\n  \
        echo '{\"a\": 1, \"b\": 2}' | pegboard call example/add_numbers -\n\n\
        In k=v the value is read as JSON where the tool's schema wants a number, boolean, list or \
        object, and as text otherwise; k:=v is always JSON."
    )]
    Call(CallArgs),
    /// Ask servers for their tools again and show what is different
    #[command(
        after_help = "Examples:\n  pegboard refresh github\n  pegboard refresh --all\n  \
        pegboard refresh --all --force"
    )]
    Refresh(RefreshArgs),
    /// Forget the stored tools of a server, or of all servers
    #[command(after_help = "Examples:\n  pegboard clear github\n  pegboard clear --yes")]
    Clear(ClearArgs),
    /// Review what a project's servers run and receive, and trust them
    #[command(
        after_help = "Examples:\n  pegboard trust\n  pegboard trust github\n  \
        pegboard trust github --yes\n  pegboard trust github --revoke"
    )]
    Trust(TrustArgs),
    /// See and change what may be done with tools, and which rule decides
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard policy list\n  pegboard policy test github/delete_repo\n  \
        pegboard policy set 'delete_*' ask\n  pegboard policy set @destructive ask\n  \
        pegboard policy set --server github '*' deny\n  pegboard policy grants"
    )]
    Policy(PolicyCommand),
    /// Answer calls that wait for a person
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pegboard approvals\n  pegboard approvals watch\n  \
        pegboard approvals allow 1f0c22ab\n  pegboard approvals allow 1f0c22ab --always\n  \
        pegboard approvals deny 1f0c22ab"
    )]
    Approvals(ApprovalsArgs),
    /// Show what was done: calls, discoveries, answers, changes; never contents
    #[command(
        after_help = "Examples:\n  pegboard activity\n  pegboard activity --limit 200 --json"
    )]
    Activity(ActivityArgs),
    /// Keep secret values out of config files: name them there as ${secret:NAME}
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard secret set github\n  \
        pass show github | pegboard secret set github\n  pegboard secret list"
    )]
    Secret(SecretCommand),
    /// Show what a server wrote to its standard error
    #[command(after_help = "Examples:\n  pegboard logs github\n  pegboard logs github --tail 20")]
    Logs(LogsArgs),
    /// Check the set-up, and really start and ask a server
    #[command(after_help = "Examples:\n  pegboard doctor\n  pegboard doctor github")]
    Doctor(DoctorArgs),
    /// Look at the configuration
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard config path\n  \
        pegboard config explain github\n  pegboard config check --strict"
    )]
    Config(ConfigCommand),
    /// Run the built-in MCP server over stdio: little tools to try things with
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
    /// Leave when every server was discovered once
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// The port [default: 7340, or a free one when it is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address to listen on, with or without a port [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) listen: Option<ListenAddress>,
    /// One more name by which clients may reach this address; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Let every program of this machine in, without a token; on loopback addresses only
    #[arg(long)]
    pub(crate) no_auth: bool,
}

#[derive(Args)]
pub(crate) struct StdioArgs {
    /// What the client gets to see: a profile of the config file
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

#[derive(Args)]
pub(crate) struct DashboardArgs {
    /// Open it in the browser, too
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct TokenArgs {
    /// The token that changes things: configuration, policies, what gets started
    #[arg(long)]
    pub(crate) admin: bool,
    /// Make a new token; the old one counts no more
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
    /// The new value; true, false and numbers are written as such
    pub(crate) value: String,
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The server's name: a-z, 0-9 and _
    pub(crate) name: String,
    /// The address of a server reached by HTTP
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// A variable for the server's process; may be given several times
    #[arg(
        short,
        long,
        value_name = "KEY=VALUE",
        num_args = 1,
        conflicts_with = "url"
    )]
    pub(crate) env: Vec<String>,
    /// A header for the server's requests; may be given several times
    #[arg(
        short = 'H',
        long,
        value_name = "NAME: VALUE",
        num_args = 1,
        conflicts_with = "command"
    )]
    pub(crate) header: Vec<String>,
    /// The folder the server runs in
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
    /// Only tools of this category, or of those below it
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
    /// How many tools at the most (10)
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Show which words matched and what each part adds to the score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by words alone, not by meaning
    #[arg(long = "words", conflicts_with = "forget")]
    pub(crate) words_only: bool,
    /// Forget every search that was remembered (`remember_searches` of the settings)
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
    /// Show what the format cannot say, in place of the definitions
    #[arg(long)]
    pub(crate) losses: bool,
}

#[derive(Args)]
pub(crate) struct TokensArgs {
    /// Count recorded lists in place of the configured servers: one JSON file with `tools` each
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
    /// Agree at once when a policy asks
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
    /// Ask also where the list is still fresh
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct ClearArgs {
    /// The server [default: all]
    pub(crate) server: Option<String>,
    /// Forget without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// The server [default: all that wait]
    pub(crate) server: Option<String>,
    /// Trust without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Take the trust back
    #[arg(long, conflicts_with = "yes", requires = "server")]
    pub(crate) revoke: bool,
    /// Do not start the servers to learn their tools
    #[arg(long)]
    pub(crate) no_discover: bool,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules
    List,
    /// Set a rule in a config file
    Set(PolicySetArgs),
    /// Take a rule out of a config file
    Unset(PolicyUnsetArgs),
    /// Say what holds for a tool, which rule decides, and why the others lost
    Test {
        /// The tool: server/tool, server__tool, or its bare name when only one server has it
        tool: String,
    },
    /// List the tools that were allowed for good when somebody was asked
    Grants,
    /// Take such a consent back
    Revoke {
        /// The tool, as `policy grants` shows it
        tool: String,
    },
}

#[derive(Args)]
pub(crate) struct PolicySetArgs {
    /// The tools: a name, a pattern with * and ?, @destructive or @read_only
    pub(crate) pattern: String,
    /// What may be done with them
    #[arg(value_enum)]
    pub(crate) policy: PolicyArg,
    /// In the table of this server [default: the table for all servers]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// In the project's file, which can only tighten [default: your own file]
    #[arg(long, conflicts_with = "server")]
    pub(crate) in_project: bool,
}

#[derive(Args)]
pub(crate) struct PolicyUnsetArgs {
    /// The tools, as the rule has them
    pub(crate) pattern: String,
    /// In the table of this server [default: the table for all servers]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// In the project's file [default: your own file]
    #[arg(long, conflicts_with = "server")]
    pub(crate) in_project: bool,
}

/// What may be done with tools.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PolicyArg {
    /// They are called
    Allow,
    /// A person is asked first
    Ask,
    /// They are shown, but not called
    Deny,
    /// They are neither shown nor called
    Disable,
}

#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait
    List,
    /// Let a call run
    Allow(AllowArgs),
    /// Refuse a call
    Deny {
        /// Its number
        id: String,
    },
    /// Show each call as it comes; while this runs, there is somebody to ask
    Watch,
}

#[derive(Args)]
pub(crate) struct AllowArgs {
    /// Its number
    pub(crate) id: String,
    /// And later calls of this version of the tool in the same session
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,
    /// And all later calls of this version of the tool
    #[arg(long)]
    pub(crate) always: bool,
}

#[derive(Args)]
pub(crate) struct ActivityArgs {
    /// How many lines at the most
    #[arg(long, short = 'n', default_value_t = 50)]
    pub(crate) limit: usize,
    /// Only what came before this line, by its id
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Keep a value: typed at a prompt, or read from standard input
    Set {
        /// The name to use in ${secret:NAME}
        name: String,
    },
    /// List the names; values are never shown
    List,
    /// Forget a value
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
    /// Print where the files are
    Path,
    /// Show every value and where it comes from
    Explain {
        /// Only this server
        server: Option<String>,
    },
    /// Read the configuration and report every problem
    Check,
    /// Print the JSON Schema of the config file
    Schema,
}

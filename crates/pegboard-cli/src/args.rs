//! The command line arguments: one `clap` definition per command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::commands::{
    activity::ActivityArgs, add::AddArgs, approvals::ApprovalsArgs, ask::args::AskArgs,
    call::CallArgs, clear::ClearArgs, completions::CompletionsArgs, config::ConfigCommand,
    dashboard::DashboardArgs, describe::DescribeArgs, doctor::DoctorArgs, edit::EditArgs,
    export::ExportArgs, logs::LogsArgs, man::ManArgs, pin::PinArgs, policy::args::PolicyCommand,
    refresh::RefreshArgs, review::ReviewArgs, sandbox::SandboxCommand, search::SearchArgs,
    secret::SecretCommand, serve::ServeCommandArgs, stdio::StdioArgs, token::TokenArgs,
    tokens::TokensArgs, tools::ToolsArgs, trust::TrustArgs, up::UpArgs,
};
use super::version::VERSION;

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 failure, 2 usage or config, 3 unavailable, \
4 login required, 5 the tool reported an error, 6 denied, 7 not found.";

/// Know every tool of every MCP server without starting any, and call it by starting exactly its server.
#[derive(Parser)]
#[command(name = "pegboard", version = VERSION, after_help = EXIT_CODES, arg_required_else_help = true)]
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
    /// Bring in the servers of your MCP clients, connect the clients and discover all tools
    #[command(after_help = super::commands::setup::EXAMPLES)]
    Setup(super::commands::setup::SetupArgs),
    /// Serve MCP clients over HTTP with the dashboard, and keep the catalog fresh
    #[command(
        after_help = "Examples:\n  pegboard up\n  pegboard up --example\n  pegboard up --port 8000"
    )]
    Up(UpArgs),
    /// The same as `up`, but never adds the example server
    #[command(
        after_help = "Examples:\n  pegboard serve\n  pegboard serve --listen 127.0.0.1:8080\n  pegboard serve --listen 0.0.0.0 --allow-host box.lan\n  pegboard serve --json --port 0 --exit-on-eof --reuse"
    )]
    Serve(ServeCommandArgs),
    /// Serve one MCP client over standard input and output
    #[command(
        after_help = "Examples:\n  pegboard stdio\n  pegboard stdio --profile work\n\n\
        In a client's configuration: \"command\": \"pegboard\", \"args\": [\"stdio\"]."
    )]
    Stdio(StdioArgs),
    /// Serve all clients of this user; started by `pegboard stdio`
    #[command(hide = true)]
    Background,
    /// Print the token that HTTP clients send
    #[command(after_help = "Examples:\n  pegboard token\n  pegboard token --rotate")]
    Token(TokenArgs),
    /// Print a one-time login URL for the dashboard
    #[command(after_help = "Examples:\n  pegboard dashboard\n  pegboard dashboard --open")]
    Dashboard(DashboardArgs),
    /// Show whether a Pegboard runs, and the state of servers and store; starts nothing
    #[command(
        after_help = "Examples:\n  pegboard status\n  pegboard status --json | jq -r .running.url\n\n\
        Exit codes: 0 a Pegboard runs and answers, 2 the configuration has errors, 3 none runs or it does not \
        answer. With `--json` the document is printed in each case."
    )]
    Status,
    /// List the running servers that clients share: who uses each of them, and why
    #[command(
        after_help = "Examples:\n  pegboard ps\n  pegboard ps --json | jq '.instances[].server'\n\n\
        Exit codes: 0 a background process runs, 3 none runs or it does not respond."
    )]
    Ps,
    /// End the background process that clients share, and its servers
    #[command(after_help = "Example:\n  pegboard stop\n\n\
        Connected clients stay connected; their next request starts another process.\n\
        Exit codes: 0 it has ended, 3 none was running or it could not be ended.")]
    Stop,
    /// Replace the background process by a new one, to which its clients move
    #[command(after_help = "Example:\n  pegboard restart\n\n\
        A `pegboard up` in a terminal is left alone.\n\
        Exit codes: 0 a new process runs, 2 it is a `pegboard up`, 3 none was running or it could not be replaced.")]
    Restart,
    /// Let the service manager of the user (systemd, launchd) start Pegboard
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard service install --dry-run\n  pegboard service install\n  \
        pegboard service status\n  pegboard service uninstall"
    )]
    Service(super::commands::service::ServiceCommand),
    /// Add Pegboard to the config files of clients such as Claude Code, and show their state
    #[command(
        after_help = "Examples:\n  pegboard connect\n  pegboard connect claude-code cursor --yes\n  \
        pegboard connect codex --take-over --dry-run\n  pegboard connect zed --http --profile work\n  \
        pegboard connect --status"
    )]
    Connect(super::commands::connect::ConnectArgs),
    /// Take Pegboard out of the config files of clients again
    #[command(
        after_help = "Examples:\n  pegboard disconnect claude-code\n  pegboard disconnect --all --yes\n  \
        pegboard disconnect cursor --dry-run"
    )]
    Disconnect(super::commands::disconnect::DisconnectArgs),
    /// Add a server and discover its tools
    #[command(
        override_usage = "pegboard add [OPTIONS] <NAME> -- <COMMAND>...\n       \
            pegboard add [OPTIONS] <NAME> <URL>",
        after_help = "Examples:\n  \
        pegboard add time -- uvx mcp-server-time@2026.10.19\n  \
        pegboard add github -e GITHUB_TOKEN='${secret:github}' -- npx -y @modelcontextprotocol/server-github\n  \
        pegboard add docs https://example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'\n  \
        pegboard add github --store-secrets -e GITHUB_TOKEN=\"$TOKEN\" -- npx -y @modelcontextprotocol/server-github"
    )]
    Add(AddArgs),
    /// Import the servers of your other MCP clients
    #[command(after_help = super::commands::import::EXAMPLES)]
    Import(super::commands::import::ImportArgs),
    /// Remove a server from the config file
    #[command(
        visible_alias = "rm",
        after_help = "Example:\n  pegboard remove github"
    )]
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
        visible_alias = "ls",
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
    Describe(DescribeArgs),
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
    Ask(AskArgs),
    /// Call a tool; starts only its server
    #[command(
        after_help = "Examples:\n  pegboard call time/get_current_time timezone=Europe/Paris\n  \
        pegboard call example.add_numbers '{\"a\": 1, \"b\": 2}'\n  \
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
    /// Confine servers: try what a server needs, and propose its `sandbox`
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard sandbox try github\n  pegboard sandbox try files --mode strict\n  \
        pegboard sandbox try files --call list_directory '{\"path\": \"/tmp\"}'"
    )]
    Sandbox(SandboxCommand),
    /// Fix the version of a server's package and record its hash
    #[command(
        after_help = "Examples:\n  pegboard pin github\n  pegboard pin github --update\n  pegboard pin --check\n\n\
        `--check` exits with 6 if a package is not the recorded one."
    )]
    Pin(PinArgs),
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
    /// Review tools that are flagged, changed or new, before models get them
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pegboard review\n  pegboard review show github/delete_repo\n  \
        pegboard review accept github/delete_repo\n  pegboard review reject github"
    )]
    Review(ReviewArgs),
    /// Show the activity log: calls, discoveries, decisions, changes; never contents
    #[command(
        after_help = "Examples:\n  pegboard activity\n  pegboard activity --client claude-code\n  pegboard activity --limit 200 --json"
    )]
    Activity(ActivityArgs),
    /// Log in to a remote server with your browser, or show the logins
    #[command(
        after_help = "Examples:\n  pegboard login linear\n  pegboard login linear --no-browser\n  \
        pegboard login linear --scope read --scope write\n  pegboard login --status"
    )]
    Login(super::commands::login::LoginArgs),
    /// Log out of a remote server and revoke its tokens
    #[command(after_help = "Example:\n  pegboard logout linear")]
    Logout(ServerArgs),
    /// Store secret values outside config files; refer to them as ${secret:NAME}
    #[command(
        subcommand,
        after_help = "Examples:\n  pegboard secret set github\n  \
        pass show github | pegboard secret set github\n  pegboard secret list"
    )]
    Secret(SecretCommand),
    /// Show what servers wrote to their standard error, with times
    #[command(
        after_help = "Examples:\n  pegboard logs github\n  pegboard logs -n 20 github\n  \
        pegboard logs -f github time\n  pegboard logs --since 10m"
    )]
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
    /// Print a completion script for a shell; it also completes the names of servers and tools
    #[command(
        after_help = "Examples:\n  pegboard completions bash > ~/.local/share/bash-completion/completions/pegboard\n  \
        pegboard completions zsh > ~/.zfunc/_pegboard\n  \
        pegboard completions fish > ~/.config/fish/completions/pegboard.fish\n\n\
        Write the script again after an update."
    )]
    Completions(CompletionsArgs),
    /// Write man pages to a directory
    #[command(hide = true, after_help = "Example:\n  pegboard man target/man")]
    Man(ManArgs),
}

#[derive(Args)]
pub(crate) struct ServerArgs {
    /// The server's name
    pub(crate) server: String,
}

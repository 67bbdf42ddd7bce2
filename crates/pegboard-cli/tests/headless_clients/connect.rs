//! `pegboard connect` and `disconnect` with real clients: what each client's own `mcp list` says.

use std::collections::BTreeSet;

use serde_json::json;

use crate::client::command;
use crate::machine::{Approvals, Machine};
use crate::support::{PEGBOARD, Run};

/// A client that lists its servers.
struct Lister {
    /// Its key in `pegboard connect`.
    key: &'static str,
    program: &'static str,
    /// Its file below the home folder.
    file: &'static str,
    /// A file with the server `own`, which is the example server, and with something of the user's.
    text: fn() -> String,
    /// How it says that a server works.
    works: &'static str,
    variables: &'static [(&'static str, &'static str)],
}

const CLAUDE_CODE: Lister = Lister {
    key: "claude-code",
    program: "claude",
    file: ".claude.json",
    text: || {
        let servers = json!({"own": {"command": PEGBOARD, "args": ["example-server"]}});
        json!({"theme": "dark", "mcpServers": servers}).to_string()
    },
    works: "Connected",
    variables: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
};

const CODEX: Lister = Lister {
    key: "codex",
    program: "codex",
    file: ".codex/config.toml",
    text: || {
        let command = json!(PEGBOARD);
        format!(
            "# my settings\ncheck_for_update_on_startup = false\n\n# the example\n[mcp_servers.own]\ncommand = {command} # here\nargs = [\"example-server\"]\n"
        )
    },
    works: "enabled",
    variables: &[],
};

const GEMINI_CLI: Lister = Lister {
    key: "gemini",
    program: "gemini",
    file: ".gemini/settings.json",
    text: || {
        let command = json!(PEGBOARD);
        format!(
            "{{\n\t// my settings\n\t\"privacy\": {{\"usageStatisticsEnabled\": false}},\n\t\"mcpServers\": {{\n\t\t\"own\": {{\"command\": {command}, \"args\": [\"example-server\"]}}\n\t}}\n}}\n"
        )
    },
    works: "Connected",
    variables: &[
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ],
};

const OPENCODE: Lister = Lister {
    key: "opencode",
    program: "opencode",
    file: ".config/opencode/opencode.jsonc",
    text: || {
        let command = json!([PEGBOARD, "example-server"]);
        format!(
            "{{\r\n    // the example\r\n    \"mcp\": {{\r\n        \"own\": {{ \"type\": \"local\", \"command\": {command} }}, // here\r\n    }},\r\n}}"
        )
    },
    works: "connected",
    variables: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("npm_config_offline", "true"),
    ],
};

impl Lister {
    /// The servers that the client lists as working, of the two in question.
    fn servers(&self, machine: &Machine) -> BTreeSet<&'static str> {
        let mut command = command(machine, self.program);
        command
            .args(["mcp", "list"])
            .envs(self.variables.iter().copied())
            .env("NO_COLOR", "1");
        let run = Run::of(command, "").ok();
        let printed = format!("{}{}", run.stdout, run.stderr);
        let lines: Vec<&str> = printed
            .lines()
            .filter(|line| line.contains(self.works))
            .collect();
        let lists = |name: &&str| {
            lines.iter().any(|line| {
                let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '/');
                words.any(|word| word == *name)
            })
        };
        let found: BTreeSet<&str> = ["own", "pegboard"].into_iter().filter(lists).collect();
        assert!(
            !found.is_empty(),
            "{} lists no server:\n{printed}",
            self.key
        );
        found
    }

    fn check(&self) {
        let Some(machine) = Machine::with(Approvals::NoInbox) else {
            return;
        };
        machine.home.add_example("own");
        let before = (self.text)();
        let file = machine.home.write(&format!("home/{}", self.file), &before);
        let content = || std::fs::read_to_string(&file).expect("the client's file");
        assert_eq!(self.servers(&machine), BTreeSet::from(["own"]));
        // Clients rewrite their file when they run.
        let before = content();
        let connect = ["connect", self.key, "--take-over", "--yes"];
        let shown = machine.home.run(&connect).ok();
        assert!(
            shown.stderr.contains("now through Pegboard only: own"),
            "{}",
            shown.stderr
        );
        let connected = content();
        assert_eq!(self.servers(&machine), BTreeSet::from(["pegboard"]));
        let is_rewritten = content() != connected;
        machine.home.run(&["disconnect", self.key, "--yes"]).ok();
        if !is_rewritten {
            assert_eq!(content(), before, "{}", self.key);
        }
        assert!(!content().contains("\"stdio\"]"), "{}", content());
        assert_eq!(self.servers(&machine), BTreeSet::from(["own"]));
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_cfg_07_claude_code_lists_pegboard_after_connect() {
    CLAUDE_CODE.check();
}

#[test]
fn r_cfg_07_codex_lists_pegboard_after_connect() {
    CODEX.check();
}

#[test]
fn r_cfg_07_gemini_cli_lists_pegboard_after_connect() {
    GEMINI_CLI.check();
}

#[test]
fn r_cfg_07_opencode_lists_pegboard_after_connect() {
    OPENCODE.check();
}

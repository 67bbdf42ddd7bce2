//! A machine on which a client is installed and Pegboard has three small servers.

use std::path::PathBuf;

use pegboard_testkit::{Script, methods_in};
use serde_json::{Map, Value, json};

use crate::support::{Home, PEGBOARD};

/// The machine of one test.
pub(crate) struct Machine {
    /// Where `scripts/install-test-env` installed the clients.
    installed: PathBuf,
    pub(crate) home: Home,
}

/// How approvals are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approvals {
    /// No call waits in the inbox, so a call without a grant is refused at once.
    NoInbox,
    /// The client is asked first, and then the inbox.
    ClientThenInbox,
    /// Only the inbox is asked.
    Inbox,
}

impl Approvals {
    fn settings(self) -> &'static str {
        match self {
            Self::NoInbox => "approval_timeout = \"0s\"",
            Self::ClientThenInbox => "approval_timeout = \"60s\"",
            Self::Inbox => "approval_timeout = \"60s\"\nask_via = \"inbox\"",
        }
    }
}

impl Machine {
    /// `None`, with the reason printed, if the clients are not installed.
    pub(crate) fn with(approvals: Approvals) -> Option<Self> {
        let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
            println!(
                "skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env"
            );
            return None;
        };
        let installed = PathBuf::from(folder).join("headless/node_modules/.bin");
        assert!(
            installed.is_dir(),
            "{} is missing; run scripts/install-test-env",
            installed.display()
        );
        let machine = Self {
            installed,
            home: Home::new(),
        };
        machine.configure(approvals);
        Some(machine)
    }

    fn configure(&self, approvals: Approvals) {
        let settings = format!("[settings]\n{}\n\n", approvals.settings());
        let policies = "[policies]\n\"@destructive\" = \"ask\"\n\n";
        self.home
            .write("config/config.toml", &format!("{settings}{policies}"));
        let read_only = json!({"readOnlyHint": true});
        let destructive = json!({"readOnlyHint": false, "destructiveHint": true});
        let library = server(&[("read_page", "Read a page of a book.", &read_only)]);
        self.home
            .add_script("library", &library.count_in(self.calls_file("library")), "");
        // Responds only after both calls have arrived, so sequential calls time out.
        let gauges = [
            ("read_pressure", "Read the pressure gauge.", &read_only),
            ("read_heat", "Read the heat gauge.", &read_only),
        ];
        let gauges = server(&gauges).with(|script| script.call.reverse = 2);
        self.home
            .add_script("gauges", &gauges, "call_timeout = \"20s\"\n");
        let vault = server(&[("erase_record", "Erase a record for good.", &destructive)]);
        self.home
            .add_script("vault", &vault.count_in(self.calls_file("vault")), "");
        self.home.run(&["refresh", "--all"]).ok();
    }

    /// The executable of a client.
    pub(crate) fn installed(&self, name: &str) -> PathBuf {
        let program = self.installed.join(name);
        assert!(
            program.is_file(),
            "{} is missing; run scripts/install-test-env",
            program.display()
        );
        program
    }

    /// How many calls reached `library` or `vault`.
    pub(crate) fn calls_of(&self, server: &str) -> usize {
        let methods = methods_in(&self.calls_file(server));
        methods
            .iter()
            .filter(|method| *method == "tools/call")
            .count()
    }

    fn calls_file(&self, server: &str) -> PathBuf {
        self.home.path(&format!("{server}.calls"))
    }

    /// Returns the `mcpServers` entry of `pegboard stdio`. Some clients pass only few of their own variables to servers, so
    /// all variables are listed.
    pub(crate) fn mcp_server(&self) -> Value {
        let variables = self.home.environment().into_iter();
        let variables: Map<String, Value> = variables
            .map(|(name, value)| (name, Value::from(value)))
            .collect();
        json!({"command": PEGBOARD, "args": ["stdio"], "env": variables})
    }
}

fn server(tools: &[(&str, &str, &Value)]) -> Script {
    let definitions = tools.iter().map(|(name, description, annotations)| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
            "annotations": annotations,
        })
    });
    let definitions = definitions.collect();
    Script::new().with(|script| script.list.tools = definitions)
}

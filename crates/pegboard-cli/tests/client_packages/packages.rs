//! Programs that use a client package, and what they need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Home, PEGBOARD, Run};

/// The languages with a client package.
pub(crate) const BOTH: [Language; 2] = [Language::Python, Language::JavaScript];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
}

/// Returns a path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Returns the directory of `scripts/install-test-env`. Prints why a test is skipped if there is none.
pub(crate) fn test_env() -> Option<PathBuf> {
    let folder = std::env::var_os("PEGBOARD_TEST_ENV").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
    }
    folder
}

/// A machine on which the client packages and the SDKs are installed.
pub(crate) struct Machine {
    pub(crate) home: Home,
    installed: PathBuf,
}

impl Machine {
    /// Creates a machine with the example server. Returns `None` if the SDKs are not installed.
    pub(crate) fn new() -> Option<Self> {
        let installed = test_env()?;
        let home = Home::new();
        home.add_example("example");
        let modules = home.path("project/node_modules");
        fs::create_dir_all(modules.join("pegboard/client")).expect("a folder for the package");
        for entry in fs::read_dir(repository("packaging/npm/client")).expect("the client") {
            let file = entry.expect("a file").path();
            let name = file.file_name().expect("a name");
            fs::copy(&file, modules.join("pegboard/client").join(name)).expect("a copy");
        }
        let manifest = json!({
            "name": "pegboard", "version": "0.0.0", "type": "module",
            "exports": {".": {"types": "./client/index.d.ts", "default": "./client/index.js"}},
        });
        fs::write(modules.join("pegboard/package.json"), manifest.to_string()).expect("a manifest");
        let sdks = installed.join("js_sdks/node_modules");
        for name in fs::read_dir(&sdks).expect("scripts/install-test-env ran") {
            let name = name.expect("a package").file_name();
            std::os::unix::fs::symlink(sdks.join(&name), modules.join(&name)).expect("a link");
        }
        Some(Self { home, installed })
    }

    /// Returns a program of the test environment.
    pub(crate) fn installed(&self, path: &str) -> PathBuf {
        let path = self.installed.join(path);
        assert!(
            path.exists(),
            "{} is missing; run scripts/install-test-env",
            path.display()
        );
        path
    }

    /// Returns a command on this machine, with the program under test in `PATH`.
    #[expect(clippy::disallowed_methods, reason = "starts a program of a test")]
    pub(crate) fn command(&self, program: &Path) -> Command {
        let own = Path::new(PEGBOARD).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.home.environment())
            .env("PATH", format!("{}:{path}", own.display()))
            .env("PYTHONPATH", repository("packaging/python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.home.path("project"));
        command
    }

    /// Returns the command that runs a file of a language.
    pub(crate) fn script(&self, language: Language, file: &Path) -> Command {
        let interpreter = match language {
            Language::Python => self.installed("sdks/bin/python"),
            Language::JavaScript => PathBuf::from("node"),
        };
        let mut command = self.command(&interpreter);
        command.arg(file);
        command
    }

    /// Returns the command that runs a test program with an instruction.
    pub(crate) fn program(&self, language: Language, name: &str, input: &Value) -> Command {
        let file = match language {
            Language::Python => format!("{name}.py"),
            Language::JavaScript => format!("{name}.mjs"),
        };
        // Node.js looks for packages in the directory of the file.
        let copy = self.home.path("project").join(&file);
        let programs = "crates/pegboard-cli/tests/client_packages/programs";
        fs::copy(repository(programs).join(&file), &copy).expect("a test program");
        let mut command = self.script(language, &copy);
        command.arg(input.to_string());
        command
    }

    /// Runs a test program and returns the JSON that it prints.
    #[track_caller]
    pub(crate) fn run(&self, language: Language, name: &str, input: &Value) -> Value {
        let run = Run::of(self.program(language, name, input), "").ok();
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{language:?}: {}", run.stdout))
    }
}

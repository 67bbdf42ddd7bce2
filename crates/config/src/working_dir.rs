//! Checks that the current folder cannot change which program a user's own server runs.
//!
//! Such a server runs in a private folder unless its definition has a `cwd`. Relative arguments, which do not work
//! there, are a warning; definitions in which the current folder would determine the program are an error.

use pegboard_model::{PROJECT_REFERENCE, Template, package_runner};

use crate::node::{Entry, Value};
use crate::problem::shown_text;
use crate::reader::TableReader;
use crate::template_checks::{has_stored_secret, known_parts};

/// Package runners that read nothing from their working directory: `uvx` ignores local configuration, and containers
/// have their own file system.
const INDEPENDENT_RUNNERS: &[&str] = &["docker", "podman", "uvx"];

/// Programs that run the command in their arguments, given as words or as a script.
const WRAPPERS: &[&str] = &[
    "bash", "dash", "doas", "env", "exec", "fish", "ksh", "nice", "nohup", "setsid", "sh",
    "stdbuf", "sudo", "timeout", "xargs", "zsh",
];

/// Extensions of files that are passed to servers. A word without extension may be a package or an image.
const FILE_ENDINGS: &[&str] = &[
    "cjs", "csv", "db", "env", "jar", "js", "json", "jsonl", "md", "mjs", "mts", "php", "pl", "py",
    "rb", "sh", "sqlite", "sqlite3", "toml", "ts", "txt", "yaml", "yml",
];

/// Maximum number of characters of an argument in a message.
const SHOWN_ARGUMENT: usize = 60;

/// A server of the user's own file, with the entries of its keys.
pub(crate) struct UserServer<'s, 'n> {
    pub(crate) program: &'s Template,
    pub(crate) args: &'s [Template],
    pub(crate) cwd: Option<&'s Template>,
    pub(crate) command: &'n Entry,
    pub(crate) args_entry: Option<&'n Entry>,
    pub(crate) cwd_entry: Option<&'n Entry>,
}

impl UserServer<'_, '_> {
    pub(crate) fn check(&self, reader: &mut TableReader<'_>) {
        if self.program.depends_on_cwd() {
            reader.invalid(
                self.command.node.start,
                "`command` depends on the current folder, so any folder could provide the program",
                "write the full path of the program",
            );
        }
        match self.cwd {
            Some(cwd) if cwd.depends_on_cwd() => self.check_runner(reader),
            Some(_) => {}
            None => self.warn_of_relative_arguments(reader),
        }
    }

    /// Package runners prefer what they find in their working directory: programs in `node_modules/.bin`, a registry
    /// named in `.npmrc`, a release of themselves named in `.yarnrc.yml`.
    fn check_runner(&self, reader: &mut TableReader<'_>) {
        let known = |value: &Template| -> String { known_parts(value).collect() };
        let args: Vec<String> = self.args.iter().map(known).collect();
        let Some(runner) = dependent_runner(&known(self.program), &args) else {
            return;
        };
        let at = self.cwd_entry.unwrap_or(self.command).key_start;
        let message = format!(
            "`{runner}` may run programs from its working directory, so `cwd` cannot depend on the current folder"
        );
        let help = format!(
            "remove `cwd` and pass `{PROJECT_REFERENCE}` as an argument, or install the server and write the full \
             path of its program as `command`"
        );
        reader.invalid(at, message, help);
    }

    fn warn_of_relative_arguments(&self, reader: &mut TableReader<'_>) {
        for (position, arg) in self.args.iter().enumerate() {
            let known: String = known_parts(arg).collect();
            if has_stored_secret(arg) || !is_relative_path(&known) {
                continue;
            }
            let shown = shown_text(arg.written(), SHOWN_ARGUMENT).into_owned();
            let message = format!(
                "the argument `{shown}` is a relative path, and the server runs in an empty private folder"
            );
            let help = format!(
                "write the full path, or set `cwd` to the folder that it is relative to (`{PROJECT_REFERENCE}` is \
                 the project folder)"
            );
            let at = self.start_of(position);
            reader.warn(at, message, help);
        }
    }

    /// Returns the offset of an argument. A list in `command` contains the first ones.
    fn start_of(&self, position: usize) -> usize {
        let list = |entry: &Entry| match &entry.node.value {
            Value::List(items) => items.iter().map(|item| item.start).collect(),
            _ => Vec::new(),
        };
        let in_command = list(self.command);
        let in_args = self.args_entry.map(list).unwrap_or_default();
        let mut places = in_command.into_iter().skip(1).chain(in_args);
        places.nth(position).unwrap_or(self.command.key_start)
    }
}

/// Returns the package runner of a command, if it runs programs from its working directory. Wrappers such as `env`
/// and `sh -c` are looked through.
pub(crate) fn dependent_runner(program: &str, args: &[String]) -> Option<&'static str> {
    let is_wrapper = |program: &str| {
        let name = program.rsplit('/').next().unwrap_or(program);
        WRAPPERS.contains(&name)
    };
    let rest: Vec<&str> = match is_wrapper(program) {
        true => args
            .iter()
            .flat_map(|arg| arg.split(|c: char| c.is_whitespace() || ";&|()`\"'{}".contains(c)))
            .filter(|word| !word.is_empty())
            .collect(),
        // Only the command counts; an argument of the same name is a value.
        false => args.iter().take(1).map(String::as_str).collect(),
    };
    let runs = |at: &str, next: Option<&str>| {
        let runner = package_runner(at)?;
        let is_independent =
            INDEPENDENT_RUNNERS.contains(&runner) || (runner == "uv" && next == Some("tool"));
        (!is_independent).then_some(runner)
    };
    let itself = runs(program, rest.first().copied());
    itself.or_else(|| {
        let mut words = rest.iter().zip(rest.iter().skip(1).map(Some).chain([None]));
        let behind = |(word, next): (&&str, Option<&&str>)| runs(word, next.copied());
        words.find_map(|pair| behind(pair).filter(|_| is_wrapper(program)))
    })
}

/// Whether an argument is certainly a path relative to the working directory.
pub(crate) fn is_relative_path(argument: &str) -> bool {
    let value = match argument.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value,
        _ => argument,
    };
    if matches!(value, "." | "..") || value.starts_with("./") || value.starts_with("../") {
        return true;
    }
    let is_word = !value.starts_with(['/', '~', '-', '@', '$'])
        && !value.contains("://")
        && !value.contains(char::is_whitespace);
    let name = value.rsplit('/').next().unwrap_or(value);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    is_word && ending.is_some_and(|(_, ending)| FILE_ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::{dependent_runner, is_relative_path};

    #[test]
    fn r_sec_09_a_package_runner_is_recognised_behind_a_wrapper() {
        for (line, expected) in [
            ("npx -y pkg", Some("npx")),
            ("/usr/bin/env npx -y pkg", Some("npx")),
            ("env -u X A=1 npm exec pkg", Some("npm")),
            ("timeout 5 uv run server", Some("uv")),
            ("timeout 5 uv tool run server", None),
            ("env uvx server", None),
            ("uv tool run server", None),
            ("docker run npx", None),
            ("python3 -m server npx", None),
            ("server npx", None),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let program = words.next().unwrap();
            let args: Vec<String> = words.collect();
            assert_eq!(dependent_runner(&program, &args), expected, "{line}");
        }
        for (script, expected) in [
            ("cd x && exec npx -y pkg", Some("npx")),
            ("$(npx pkg)", Some("npx")),
            ("exec server --name npx-like", None),
            ("uvx server", None),
        ] {
            let args = ["-c".to_owned(), script.to_owned()];
            assert_eq!(dependent_runner("sh", &args), expected, "{script}");
        }
    }

    #[test]
    fn r_sec_09_relative_paths_are_distinguished_from_packages_and_flags() {
        for path in [
            ".",
            "..",
            "./server",
            "../x",
            "server.py",
            "src/main.js",
            "--db=./x",
            "--config=a.toml",
        ] {
            assert!(is_relative_path(path), "{path}");
        }
        for other in [
            "-y",
            "/abs/server.py",
            "~/server.py",
            "mcp/git",
            "@scope/pkg@1.2.3",
            "pkg@1.2.3",
            "mcp_server_git",
            "https://example.com/a.json",
            "print('x.py')  ",
            "--flag",
            "",
            "a=b",
            "1.5",
            "example.com",
        ] {
            assert!(!is_relative_path(other), "{other}");
        }
    }
}

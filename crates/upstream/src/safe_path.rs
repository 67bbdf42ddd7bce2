//! Prevents Python from importing modules from the working directory.

use std::path::Path;

/// Makes Python leave the working directory out of its module path.
pub(crate) const VARIABLE: &str = "PYTHONSAFEPATH";

/// Options of `python` that take the next argument as their value.
const VALUE_OPTIONS: &[&str] = &["-W", "-X", "--check-hash-based-pycs"];

/// Returns whether a command needs the variable. In a folder that others may have filled every command does, because it
/// may start Python in turn. In the server's private folder only Python itself does, which could otherwise be tricked
/// into running what the server was asked to write there.
pub(crate) fn is_needed(program: &str, args: &[String], is_private: bool) -> bool {
    !runs_script(program, args) && (!is_private || is_python(program))
}

fn is_python(program: &str) -> bool {
    let name = name_of(program);
    name.starts_with("python") || name.starts_with("pypy")
}

fn name_of(program: &str) -> &str {
    let name = Path::new(program).file_name();
    name.and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns whether the command runs a Python script by path. Python then puts the folder of the script on its module
/// path instead of the working directory; with the variable set, the script would not find its own modules.
fn runs_script(program: &str, args: &[String]) -> bool {
    match name_of(program) {
        "uv" => args
            .iter()
            .take_while(|arg| !matches!(arg.as_str(), "-m" | "--module" | "-c"))
            .any(|arg| arg.ends_with(".py")),
        _ if is_python(program) => {
            let mut words = args.iter().map(String::as_str);
            while let Some(word) = words.next() {
                if VALUE_OPTIONS.contains(&word) {
                    words.next();
                } else if !word.starts_with('-') {
                    return true;
                } else if !word.starts_with("--") && word.contains(['m', 'c']) {
                    return false;
                }
            }
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_needed, runs_script};

    #[test]
    fn r_sec_09_a_script_is_distinguished_from_a_module() {
        for (line, is_script) in [
            ("python3 /srv/server.py --db -m", true),
            ("/usr/bin/python3.13 -u -W ignore server", true),
            ("python -X dev -m mcp_server_git", false),
            ("python3 -um server", false),
            ("python3 -c code", false),
            ("uv run --with mcp server.py", true),
            ("uv run -m server.py", false),
            ("uvx mcp-server-git", false),
            ("node server.py", false),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let program = words.next().unwrap();
            let args: Vec<String> = words.collect();
            assert_eq!(runs_script(&program, &args), is_script, "{line}");
            assert_eq!(is_needed(&program, &args, false), !is_script, "{line}");
            let is_python = program.contains("python") && !is_script;
            assert_eq!(is_needed(&program, &args, true), is_python, "{line}");
        }
    }
}

//! What determines, besides its definition, which program a stdio server runs and how it behaves.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pegboard_model::{NoSecrets, ServerSpec, Transport};

use crate::environment::server_environment;
use crate::spawn::program_file;

/// Variables that servers get, but that do not change what they do for a client that is not their terminal.
const TERMINAL: &[&str] = &[
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "LANG",
    "LANGUAGE",
    "SHELL",
    "LOGNAME",
    "USER",
];

/// Returns the inherited variables that may change what a server runs or finds, as a server gets them. Two clients
/// with different ones must not share a process.
pub fn instance_variables(
    environment: &BTreeMap<String, String>,
    env_allow: &[String],
) -> BTreeMap<String, String> {
    let mut variables = server_environment(environment, env_allow, BTreeMap::new());
    variables.retain(|name, _| env_allow.contains(name) || !is_of_terminal(name));
    variables
}

fn is_of_terminal(name: &str) -> bool {
    // Desktops set many others for each login.
    let names_a_folder = name.ends_with("_HOME") || name == "XDG_RUNTIME_DIR";
    let is_of_desktop = name.starts_with("XDG_") && !names_a_folder;
    TERMINAL.contains(&name) || name.starts_with("LC_") || is_of_desktop
}

/// Returns the program file that a stdio server would run now. A command that contains a stored secret is not resolved:
/// its definition already says which version of the secret it uses.
pub fn resolved_program(
    spec: &ServerSpec,
    environment: &BTreeMap<String, String>,
) -> Option<PathBuf> {
    let Transport::Stdio { command, env, .. } = &spec.transport else {
        return None;
    };
    let program = command.resolve(&NoSecrets).ok()?;
    let own = env
        .get("PATH")
        .and_then(|path| path.resolve(&NoSecrets).ok());
    let path = match &own {
        Some(own) => Some(own.reveal()),
        None => environment.get("PATH").map(String::as_str),
    };
    Some(program_file(program.reveal(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_02_variables_that_change_what_runs_are_distinguished_from_terminal_ones() {
        let names = [
            "PATH",
            "HOME",
            "VIRTUAL_ENV",
            "NODE_PATH",
            "NVM_DIR",
            "UV_INDEX",
            "PIP_INDEX_URL",
            "npm_config_prefix",
            "HTTPS_PROXY",
            "XDG_CONFIG_HOME",
            "XDG_RUNTIME_DIR",
            "TZ",
            "MINE",
            "TERM",
            "LANG",
            "LC_ALL",
            "XDG_SESSION_ID",
            "XDG_DATA_DIRS",
            "WINDOWID",
            "SECRET_TOKEN",
        ];
        let environment = names.map(|name| (name.to_owned(), "/x".to_owned())).into();
        let allow = ["MINE".to_owned()];
        let kept = instance_variables(&environment, &allow);
        let mut expected = names[..13].to_vec();
        expected.sort_unstable();
        assert_eq!(kept.keys().collect::<Vec<_>>(), expected);
    }
}

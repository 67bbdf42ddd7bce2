//! Which variables of our own environment a server gets.

use std::collections::BTreeMap;

/// Names that programs need to find themselves, their user, their language and the network. Nothing that opens a
/// door to keys (an SSH agent, a session bus): who needs that says so by `env_allow`.
const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "VOLTA_HOME",
    "FNM_DIR",
    "N_PREFIX",
    "BUN_INSTALL",
    "DENO_DIR",
    "PNPM_HOME",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "DOTNET_ROOT",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
    "LD_LIBRARY_PATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "SYSTEMROOT",
    "SystemRoot",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "PATHEXT",
    "COMSPEC",
];

/// Families of such names.
const PREFIXES: &[&str] = &[
    "LC_",
    "XDG_",
    "npm_config_",
    "NPM_CONFIG_",
    "UV_",
    "PIP_",
    "NVM_",
    "ASDF_",
    "MISE_",
];

/// Endings that mark a secret inside an allowed family, such as `UV_PUBLISH_TOKEN`.
const SECRET_ENDINGS: &[&str] = &["TOKEN", "PASSWORD", "SECRET", "_KEY", "_AUTH", "AUTHTOKEN"];

/// Whether a server gets this variable without anybody asking for it.
fn is_allowed(name: &str) -> bool {
    if NAMES.contains(&name) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
}

/// The variables of a server: the allow-listed ones of ours, then its own.
pub(crate) fn of_server(
    ours: &BTreeMap<String, String>,
    also_allowed: &[String],
    own: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<_, _> = ours
        .iter()
        .filter(|(name, _)| is_allowed(name) || also_allowed.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    variables.extend(own);
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_04_a_server_gets_only_what_is_allowed_and_its_own() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let ours = map(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("UV_INDEX", "x"),
            ("UV_PUBLISH_TOKEN", "t"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("OTHER_API_KEY", "k"),
            ("WANTED", "w"),
            ("npm_config_cache", "c"),
            ("npm_config_//host/:_authToken", "a"),
        ]);
        let got = of_server(
            &ours,
            &["WANTED".to_owned()],
            map(&[("OWN", "o"), ("PATH", "/own")]),
        );
        let expected = [
            ("LC_ALL", "C"),
            ("OWN", "o"),
            ("PATH", "/own"),
            ("UV_INDEX", "x"),
            ("WANTED", "w"),
            ("npm_config_cache", "c"),
        ];
        assert_eq!(got, map(&expected));
    }
}

//! Selects the environment variables that a server gets.

use std::collections::BTreeMap;

/// Variables that programs need to find themselves, their user, their language and the network. None of them gives
/// access to keys (SSH agent, session bus); `env_allow` is for that.
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

/// Prefixes of further allowed variables.
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

/// Suffixes that mark a secret among the allowed prefixes, such as `UV_PUBLISH_TOKEN`.
const SECRET_ENDINGS: &[&str] = &["TOKEN", "PASSWORD", "SECRET", "_KEY", "_AUTH", "AUTHTOKEN"];

/// Returns whether a server gets this variable by default.
fn is_allowed(name: &str) -> bool {
    if NAMES.contains(&name) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
}

/// Returns the names and prefixes of the variables that servers get by default.
pub fn inherited_variables() -> (&'static [&'static str], &'static [&'static str]) {
    (NAMES, PREFIXES)
}

/// Variables that list folders in which programs look for other programs and code.
const FOLDER_LISTS: &[&str] = &["PATH", "LD_LIBRARY_PATH", "NODE_PATH"];

/// Removes what a server should not inherit by accident: credentials in URLs, and relative folders, in which others may
/// have put a program.
fn sanitize(name: &str, value: &str) -> String {
    if FOLDER_LISTS.contains(&name) {
        let folders = value.split(':').filter(|folder| folder.starts_with('/'));
        return folders.collect::<Vec<_>>().join(":");
    }
    let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
    if is_proxy && !value.contains("://") {
        // A proxy may be written without a scheme.
        let authority_end = value.find('/').unwrap_or(value.len());
        let (authority, rest) = value.split_at(authority_end);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        return format!("{host}{rest}");
    }
    strip_credentials(value)
}

/// Removes user and password from every URL in a text. The user of an SSH URL is kept: it is not a secret, and the URL
/// is useless without it.
fn strip_credentials(text: &str) -> String {
    const SCHEME_END: &str = "://";
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SCHEME_END) {
        let (before, after) = rest.split_at(at + SCHEME_END.len());
        clean.push_str(before);
        let end = after
            .find(|c: char| matches!(c, '/' | '?' | '#' | ',' | '"' | '\'') || c.is_whitespace())
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((login, host)) if before.ends_with("ssh://") => {
                let user = login.split(':').next().unwrap_or_default();
                clean.push_str(user);
                clean.push('@');
                clean.push_str(host);
            }
            Some((_, host)) => clean.push_str(host),
            None => clean.push_str(authority),
        }
        rest = tail;
    }
    clean.push_str(rest);
    clean
}

/// Returns the variables of a server: the allow-listed ones of ours, then its own.
pub(crate) fn server_environment(
    ours: &BTreeMap<String, String>,
    also_allowed: &[String],
    own: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<_, _> = ours
        .iter()
        .filter_map(|(name, value)| {
            // Variables that the user allows by name are passed unchanged.
            let value = match also_allowed.contains(name) {
                true => value.clone(),
                false if is_allowed(name) => sanitize(name, value),
                false => return None,
            };
            Some((name.clone(), value))
        })
        .collect();
    variables.extend(own);
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_04_inherited_addresses_lose_their_logins_and_lists_their_relative_folders() {
        for (name, value, expected) in [
            (
                "PIP_INDEX_URL",
                "https://me:pw@host/simple",
                "https://host/simple",
            ),
            (
                "PIP_EXTRA_INDEX_URL",
                "https://token@a/x https://b:c@b/y",
                "https://a/x https://b/y",
            ),
            (
                "UV_INDEX",
                "name=https://u:p@host/simple",
                "name=https://host/simple",
            ),
            ("UV_DEFAULT_INDEX", "https://host/p@th", "https://host/p@th"),
            (
                "NPM_CONFIG_REGISTRY",
                "http://u:p@h@host:8/",
                "http://host:8/",
            ),
            ("HTTPS_PROXY", "http://u:p@proxy:3128", "http://proxy:3128"),
            ("https_proxy", "u:p@proxy:3128", "proxy:3128"),
            ("ALL_PROXY", "socks5h://u:p@[::1]:9", "socks5h://[::1]:9"),
            (
                "NO_PROXY",
                "localhost,.example.com",
                "localhost,.example.com",
            ),
            ("DOCKER_HOST", "ssh://me:pw@host", "ssh://me@host"),
            (
                "PATH",
                "/bin:node_modules/.bin::./x:/usr/bin",
                "/bin:/usr/bin",
            ),
            ("LD_LIBRARY_PATH", ":/lib:.", "/lib"),
            ("LANG", "C", "C"),
        ] {
            let ours = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let got = server_environment(&ours, &[], BTreeMap::new());
            assert_eq!(got.get(name).map(String::as_str), Some(expected), "{name}");
            let named = server_environment(&ours, &[name.to_owned()], BTreeMap::new());
            assert_eq!(named, ours, "what the user names is left as it is");
            let own = server_environment(&BTreeMap::new(), &[], ours.clone());
            assert_eq!(own, ours, "what the definition says is left as it is");
        }
    }

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
        let got = server_environment(
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

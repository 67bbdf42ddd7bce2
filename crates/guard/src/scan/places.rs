//! Recognises addresses and the paths of files that hold credentials.

/// File names and path parts that only credentials and private data have.
const SECRET_PARTS: &[&str] = &[
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_dsa",
    "authorized_keys",
    ".aws/",
    ".aws",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/sudoers",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gnupg",
    ".kube/config",
    ".docker/config",
    "mcp.json",
    "claude_desktop_config",
    ".bash_history",
    ".zsh_history",
    "keychain",
    "wallet.dat",
    ".pgpass",
    "secrets.json",
    "credentials.json",
    ".env",
    "/proc/self/environ",
    "login.keychain",
    ".claude.json",
    "mcp_config",
    "system://",
    "shadow.bak",
    ".config/gcloud",
    ".cursor/",
];

/// Hosts and domains of examples.
const EXAMPLES: &[&str] = &[
    "example.com",
    "example.org",
    "example.net",
    "localhost",
    "127.0.0.1",
    "0.0.0.0",
    "your-",
    "company.com",
    "domain.com",
    "acme.com",
    "email.com",
];

/// Whether a word is a path of a file with credentials.
pub(super) fn is_secret_path(word: &str) -> bool {
    SECRET_PARTS.iter().any(|part| match *part {
        // A suffix such as `config.env` is a file name of its own; `.environment` is not meant.
        ".env" => word == ".env" || word.ends_with("/.env") || word.starts_with(".env."),
        ".aws" => word.ends_with(".aws"),
        part if part.starts_with('.') => {
            let is_start = |at: usize| {
                at == 0
                    || word
                        .get(..at)
                        .is_some_and(|before| before.ends_with(['/', '~', '\\', '\'']))
            };
            word.match_indices(part).any(|(at, _)| is_start(at))
        }
        part => word.contains(part),
    })
}

/// Whether a word is a URL with a host, an email address, an IP address or a phone number.
pub(super) fn is_address(word: &str) -> bool {
    if EXAMPLES.iter().any(|example| word.contains(example)) {
        return false;
    }
    is_url(word) || is_email(word) || is_ip(word) || is_phone(word)
}

fn is_url(word: &str) -> bool {
    ["http://", "https://", "ftp://", "ws://", "wss://"]
        .iter()
        .any(|scheme| {
            word.strip_prefix(scheme)
                .is_some_and(|rest| rest.contains('.'))
        })
}

pub(super) fn is_email(word: &str) -> bool {
    let Some((name, domain)) = word.split_once('@') else {
        return false;
    };
    !name.is_empty()
        && domain.contains('.')
        && !name.contains('/')
        && domain
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

fn is_ip(word: &str) -> bool {
    let host = word.split([':', '/']).next().unwrap_or_default();
    host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_phone(word: &str) -> bool {
    word.strip_prefix('+').is_some_and(|digits| {
        digits.len() >= 8
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

//! The keys of servers in clients' files, and what each means.
//!
//! Clients agree on most keys, so one table serves all of them. What differs between clients under the same key is in
//! the client's own row: the unit of `timeout`, the notation of variables and the lists of tools.

/// What the value of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The program, with or without its arguments, or a table with `path`, `args` and `env`.
    Command,
    Args,
    Env,
    /// Names of variables that the server receives from the client's own environment.
    EnvNames,
    /// Names of variables whose values the client stores as secrets.
    StoredEnvNames,
    EnvFile,
    Cwd,
    Url,
    Headers,
    /// Header names with the names of variables that contain their values.
    HeaderVariables,
    Bearer,
    /// The name of a variable that contains the token.
    BearerVariable,
    /// The header of that token.
    BearerHeader,
    /// The form of that header, with `{token}`.
    BearerFormat,
    /// The transport, or a table with all keys of the transport.
    Transport,
    /// A table with `headers`.
    RequestOptions,
    Enabled,
    Disabled,
    Description,
    /// The time of one call, in the client's unit.
    CallTimeout,
    /// The time of one call in milliseconds.
    CallTimeoutMs,
    /// The time of one call in seconds.
    CallTimeoutSeconds,
    /// The time of the start in seconds.
    StartTimeoutSeconds,
    /// Settings of single tools, by tool name; or a list of tools.
    Tools,
    /// A label, or something that is only useful in the client.
    Label,
    /// Without an equivalent in Pegboard, for this reason.
    NotCarriedOver(&'static str),
}

const LOGIN: &str =
    "Pegboard does not use the client's login; set a token with `bearer` if the server needs one";
const HELPER: &str =
    "Pegboard does not run programs to get headers; store the value with `pegboard secret set`";
const SANDBOX: &str = "Pegboard does not run servers in the client's sandbox";
const PARALLEL: &str = "Pegboard has no such setting";
const START: &str = "`discovery_timeout` of Pegboard applies";

/// All known keys.
const FIELDS: &[(&[&str], Meaning)] = &[
    (&["command", "cmd"], Meaning::Command),
    (&["args"], Meaning::Args),
    (&["env", "envs", "environment"], Meaning::Env),
    (&["env_vars"], Meaning::EnvNames),
    (&["env_keys"], Meaning::StoredEnvNames),
    (&["envFile"], Meaning::EnvFile),
    (&["cwd"], Meaning::Cwd),
    (
        &[
            "url",
            "serverUrl",
            "server_url",
            "httpUrl",
            "http_url",
            "uri",
            "baseUrl",
            "base_url",
        ],
        Meaning::Url,
    ),
    (&["headers", "http_headers"], Meaning::Headers),
    (&["env_http_headers"], Meaning::HeaderVariables),
    (
        &["bearer", "bearerToken", "bearer_token", "apiKey"],
        Meaning::Bearer,
    ),
    (
        &[
            "bearer_token_env_var",
            "bearerTokenEnv",
            "bearer_token_env",
            "api_key_env",
        ],
        Meaning::BearerVariable,
    ),
    (&["api_key_header"], Meaning::BearerHeader),
    (&["api_key_format"], Meaning::BearerFormat),
    (&["type", "transport", "transportType"], Meaning::Transport),
    (&["requestOptions"], Meaning::RequestOptions),
    (&["enabled"], Meaning::Enabled),
    (&["disabled"], Meaning::Disabled),
    (&["description"], Meaning::Description),
    (&["timeout"], Meaning::CallTimeout),
    (&["request_timeout_ms"], Meaning::CallTimeoutMs),
    (&["tool_timeout_sec"], Meaning::CallTimeoutSeconds),
    (&["startup_timeout_sec"], Meaning::StartTimeoutSeconds),
    (&["tools"], Meaning::Tools),
    (
        &[
            "name",
            "alwaysLoad",
            "bundled",
            "source",
            "metadata",
            "gallery",
            "version",
            "fromGalleryId",
            "remoteConfigured",
            "required",
            "remote",
            "lifecycle",
            "tokenCacheDir",
            "token_cache_dir",
            "dev",
            "$schema",
        ],
        Meaning::Label,
    ),
    (
        &[
            "auth",
            "oauth",
            "oauth_scopes",
            "oauth_resource",
            "scopes",
            "authProviderType",
        ],
        Meaning::NotCarriedOver(LOGIN),
    ),
    (
        &["headersHelper", "http_headers_helper"],
        Meaning::NotCarriedOver(HELPER),
    ),
    (
        &["sandboxEnabled", "sandbox", "environment_id"],
        Meaning::NotCarriedOver(SANDBOX),
    ),
    (
        &["supports_parallel_tool_calls", "omit_tools_from"],
        Meaning::NotCarriedOver(PARALLEL),
    ),
    (&["connectionTimeout"], Meaning::NotCarriedOver(START)),
    (
        &["settings"],
        Meaning::NotCarriedOver("they are settings of an extension of the client"),
    ),
    (
        &["tcp"],
        Meaning::NotCarriedOver("Pegboard does not connect over TCP"),
    ),
];

/// Returns the meaning of a key.
pub(super) fn meaning(key: &str) -> Option<Meaning> {
    let found = FIELDS.iter().find(|(keys, _)| keys.contains(&key));
    found.map(|(_, meaning)| *meaning)
}

/// What a word for a transport means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransportWord {
    Stdio,
    Http,
    /// HTTP+SSE.
    Sse,
    /// A part of the client itself.
    Internal,
}

const TRANSPORT_WORDS: &[(&[&str], TransportWord)] = &[
    (&["stdio", "local"], TransportWord::Stdio),
    (
        &[
            "http",
            "remote",
            "streamable-http",
            "streamableHttp",
            "streamable_http",
            "streamablehttp",
        ],
        TransportWord::Http,
    ),
    (&["sse"], TransportWord::Sse),
    (
        &["builtin", "platform", "inline_python", "frontend"],
        TransportWord::Internal,
    ),
];

/// Returns the meaning of a word for a transport.
pub(super) fn transport_word(word: &str) -> Option<TransportWord> {
    let found = TRANSPORT_WORDS
        .iter()
        .find(|(words, _)| words.contains(&word));
    found.map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_one_meaning() {
        let keys: Vec<_> = FIELDS.iter().flat_map(|(keys, _)| keys.iter()).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }
}

//! The `[settings]` table.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use pegboard_model::{
    AskDestructive, AskVia, ClientApproval, Limits, RefreshOnStart, SandboxMode, StaleRefresh,
    Timeouts,
};
use serde::Serialize;

use crate::keys::ValueType;
use crate::kinds::InProjects::{Ignored, Only};
use crate::kinds::{
    BOOLEAN, DURATION, DURATION_OR_ZERO, Kind, Read, TEXT, TEXTS, count, key_table, one_of,
};
use crate::node::{Entry, Value};
use crate::reader::TableReader;

/// The default port of the HTTP server.
pub const DEFAULT_PORT: u16 = 7340;

const LOG_FILTER: Kind<Option<String>> = Kind {
    show: |filter| filter.clone().unwrap_or_else(|| "off".to_owned()),
    ..TEXT
};
const PORT: Kind<Option<u16>> = Kind::new(
    ValueType::Count {
        max: u16::MAX as usize,
    },
    |entry, reader| {
        let port = reader.count(entry, usize::from(u16::MAX))?;
        Some(u16::try_from(port).ok())
    },
    |port| port.unwrap_or(DEFAULT_PORT).to_string(),
);
const IP_ADDRESS: Kind<IpAddr> = Kind::new(ValueType::Text, address, IpAddr::to_string);

const fn texts(read: Read<Vec<String>>) -> Kind<Vec<String>> {
    Kind { read, ..TEXTS }
}

const IN_OWN_FILE: &str = "set it in your own config file";
const CONNECT: &str = "cannot change who can connect to Pegboard";

key_table! {
    /// Settings that apply to all servers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Settings, SETTING_KEYS;

    /// Which servers are discovered when a client opens a session: those that were never discovered (`unknown`), also
    /// those with a stale list (`stale`), or `all`. Without a client nothing is discovered.
    refresh_on_start: RefreshOnStart = RefreshOnStart::Unknown, one_of();
    /// What happens when a stale list is read: it is used and refreshed in the `background`, or it is `always`
    /// refreshed first, within `answer_deadline`. `always` starts servers when tools are listed.
    stale_refresh: StaleRefresh = StaleRefresh::Background, one_of();
    /// How long a listing waits for servers that were [never tried](how-it-works.md#first-discoveries).
    answer_deadline: Duration = Duration::from_secs(2), DURATION_OR_ZERO;
    /// Maximum number of concurrent discoveries. The machine's load
    /// [determines](how-it-works.md#first-discoveries) how many servers start at once.
    concurrent_discoveries: usize = Limits::default().concurrent_discoveries, count::<1024>();
    /// How long a list of tools stays fresh, for servers that do not set it. A project's file can only shorten it.
    // Approvals and annotation rules are checked again when a list's TTL is over.
    ttl: Duration = Duration::from_secs(300), DURATION_OR_ZERO, Only(
        |current, wanted| wanted <= current,
        "can only shorten how long lists stay fresh",
        "set it in your own config file, or for single servers of the project",
    );
    /// Maximum age of the list of a stopped server, for servers that do not set it.
    max_age: Duration = Duration::from_secs(24 * 3600), DURATION_OR_ZERO;
    /// Time from the start of a server to the last page of its tools, for servers that do not set it.
    discovery_timeout: Duration = Timeouts::default().discovery, DURATION;
    /// Time to open an HTTP connection, for servers that do not set it.
    connect_timeout: Duration = Timeouts::default().connect, DURATION;
    /// Time of one call, for servers that do not set it.
    call_timeout: Duration = Timeouts::default().call, DURATION;
    /// How long an unused server keeps running, for servers that do not set it.
    idle_timeout: Duration = Timeouts::default().idle, DURATION_OR_ZERO;
    /// How long a call waits for an approval. `0s`: it does not wait. Ignored in a project's file.
    approval_timeout: Duration = Duration::from_secs(120), DURATION_OR_ZERO,
        Ignored("cannot change how long approvals may take", IN_OWN_FILE);
    /// Whether tools that are annotated as destructive need approval if no [policy](policies.md) matches. A project's
    /// file can only tighten it.
    ask_destructive: AskDestructive = AskDestructive::WhenPossible, one_of(),
        Only(|current, wanted| wanted >= current, "can only require more approvals", IN_OWN_FILE);
    /// Where [approvals are requested](policies.md#who-is-asked): in the client that calls (`client`), in the dashboard
    /// and by `pegboard approvals` (`inbox`), or `both`. Ignored in a project's file.
    ask_via: AskVia = AskVia::Both, one_of(), Ignored("cannot change who approves calls", IN_OWN_FILE);
    /// How long an approval through the calling client is valid. It never becomes a lasting grant. Ignored in a
    /// project's file.
    client_approval: ClientApproval = ClientApproval::Call, one_of(),
        Ignored("cannot change who approves calls", IN_OWN_FILE);
    /// Whether servers of a project's file may use the client's model (sampling). Ignored in a project's file.
    project_sampling: bool = false, BOOLEAN,
        Ignored("cannot allow its servers to use the client's model", IN_OWN_FILE);
    /// How your own servers are [confined](sandbox.md), if they do not set `sandbox`. A project's file can only tighten
    /// it.
    sandbox: SandboxMode = SandboxMode::Off, one_of(),
        Only(|current, wanted| wanted >= current, "can only confine servers more", IN_OWN_FILE);
    /// The least that servers of a project's file are confined. A project's file can only tighten it.
    project_sandbox: SandboxMode = SandboxMode::Default, one_of(),
        Only(|current, wanted| wanted >= current, "can only confine servers more", IN_OWN_FILE);
    /// Additional environment variables that server processes inherit. Ignored in a project's file.
    env_allow: Vec<String> = Vec::new(), texts(variable_names), Ignored(
        "cannot pass more of your variables to servers",
        "list the variables in your own config file, or in the server's `env`",
    );
    /// Patterns of the tools that [`pegboard context`](commands.md#context) names first, such as `*search*`. If empty,
    /// built-in patterns are used.
    essential: Vec<String> = Vec::new(), TEXTS;
    /// Results with more tokens are split into parts for models.
    result_tokens: usize = 25_000, count::<10_000_000>();
    /// Whether [search](search.md) compares the meaning of texts in addition to their words.
    search_by_meaning: bool = true, BOOLEAN;
    /// Whether queries that led to a successful call improve later [searches](search.md#learning-from-use). Their
    /// vectors, not their texts, are stored on this machine. `pegboard search --forget` deletes them. Ignored in a
    /// project's file.
    remember_searches: bool = true, BOOLEAN,
        Ignored("cannot change whether your searches are stored", IN_OWN_FILE);
    /// What is [logged](observability.md#logs): `off`, `error`, `warn`, `info`, `debug` or `trace`, or targets with
    /// levels, such as `info,pegboard_gateway=debug`. `PEGBOARD_LOG` and `--log-level` take precedence.
    log_level: Option<String> = None, LOG_FILTER;
    /// The port of `pegboard up`. If it is set, no other port is tried; otherwise a free port is used if `7340` is
    /// taken.
    port: Option<u16> = None, PORT;
    /// The IP address that `pegboard up` listens on. Ignored in a project's file.
    listen: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST), IP_ADDRESS, Ignored(CONNECT, IN_OWN_FILE);
    /// Additional host names that clients may use. Ignored in a project's file.
    allow_hosts: Vec<String> = Vec::new(), texts(host_names), Ignored(CONNECT, IN_OWN_FILE);
    /// Origins of web pages that may send requests, such as `https://app.example.com`. Pages of this machine are always
    /// allowed. Ignored in a project's file.
    allow_origins: Vec<String> = Vec::new(), texts(origins), Ignored(CONNECT, IN_OWN_FILE);
}

impl Settings {
    /// Returns the default timeouts of servers.
    pub fn timeouts(&self) -> Timeouts {
        Timeouts {
            connect: self.connect_timeout,
            discovery: self.discovery_timeout,
            call: self.call_timeout,
            idle: self.idle_timeout,
        }
    }

    /// Applies a file's `settings`. Returns the entries that were applied.
    pub(crate) fn apply<'n>(
        &mut self,
        entry: &'n Entry,
        reader: &mut TableReader<'_>,
    ) -> Vec<&'n Entry> {
        let entries = reader.unique_entries(entry, r#"{"ttl": "5m"}"#);
        reader.each_key(
            entries,
            SETTING_KEYS,
            "`settings`",
            |reader, entry, field| (field.apply)(self, entry, reader),
        )
    }
}

fn variable_names(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Vec<String>> {
    let good = |name: &str| !name.is_empty() && !name.contains(['=', '\0', '$', ' ']);
    checked_texts(entry, reader, good, "variable names", "HTTPS_PROXY")
}

fn host_names(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Vec<String>> {
    let good = |name: &str| {
        let of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
        !name.is_empty() && name.bytes().all(of_host)
    };
    let wanted = "host names with or without a port";
    checked_texts(entry, reader, good, wanted, "box.lan")
}

fn origins(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Vec<String>> {
    let good = |origin: &str| {
        let host = origin.split_once("://").map(|(_, host)| host);
        let host = host.map(|host| host.strip_suffix('/').unwrap_or(host));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ', '?', '#']))
    };
    let wanted = "origins, without a path and without `*`";
    checked_texts(entry, reader, good, wanted, "https://app.example.com")
}

fn checked_texts(
    entry: &Entry,
    reader: &mut TableReader<'_>,
    good: impl Fn(&str) -> bool,
    wanted: &str,
    example: &str,
) -> Option<Vec<String>> {
    let texts = reader.texts(entry)?;
    let wrong = texts.iter().position(|text| !good(text));
    if let (Some(wrong), Value::List(items)) = (wrong, &entry.node.value) {
        let at = items.get(wrong).map_or(entry.node.start, |item| item.start);
        reader.invalid(
            at,
            format!("`{}` must contain {wanted}", entry.key),
            format!("write for example `[\"{example}\"]`"),
        );
        return None;
    }
    Some(texts)
}

fn address(entry: &Entry, reader: &mut TableReader<'_>) -> Option<IpAddr> {
    let text = reader.text(entry)?;
    let parsed = match text.as_str() {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        text => text.trim_matches(['[', ']']).parse().ok(),
    };
    if parsed.is_none() {
        reader.invalid(
            entry.node.start,
            "`listen` must be an IP address of this machine",
            "write `127.0.0.1` for this machine only, or `0.0.0.0` for all network interfaces",
        );
    }
    parsed
}

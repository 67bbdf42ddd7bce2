//! The `[settings]` table.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use pegboard_model::{
    AskDestructive, AskVia, ClientApproval, Layer, Reason, RefreshOnStart, StaleRefresh, Timeouts,
};
use serde::Serialize;

use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::reader::{TableReader, duplicates};

/// Upper bound of `concurrent_discoveries`.
const MAX_CONCURRENT_DISCOVERIES: usize = 1024;

/// Upper bound of `result_tokens`.
const MAX_RESULT_TOKENS: usize = 10_000_000;

/// The default port of the HTTP server.
pub const DEFAULT_PORT: u16 = 7340;

pub(crate) const SETTING_KEYS: &[&str] = &[
    "allow_hosts",
    "allow_origins",
    "answer_deadline",
    "approval_timeout",
    "ask_destructive",
    "ask_via",
    "client_approval",
    "call_timeout",
    "concurrent_discoveries",
    "connect_timeout",
    "discovery_timeout",
    "env_allow",
    "essential",
    "idle_timeout",
    "listen",
    "log_level",
    "max_age",
    "port",
    "project_sampling",
    "refresh_on_start",
    "remember_searches",
    "result_tokens",
    "search_by_meaning",
    "stale_refresh",
    "ttl",
];

/// Settings that apply to all servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Which servers are refreshed when a session starts.
    pub refresh_on_start: RefreshOnStart,
    /// What happens when a stale list is read.
    pub stale_refresh: StaleRefresh,
    /// Maximum number of concurrent discoveries.
    pub concurrent_discoveries: usize,
    /// How long a first listing waits for undiscovered servers.
    pub answer_deadline: Duration,
    /// Additional variables that server processes inherit.
    pub env_allow: Vec<String>,
    /// How long a tool list stays fresh; default for all servers.
    pub ttl: Duration,
    /// Maximum age of the list of a stopped server; default for all servers.
    pub max_age: Duration,
    /// Default `discovery_timeout` of servers.
    pub discovery_timeout: Duration,
    /// Default `connect_timeout` of servers.
    pub connect_timeout: Duration,
    /// Default `call_timeout` of servers.
    pub call_timeout: Duration,
    /// Default `idle_timeout` of servers.
    pub idle_timeout: Duration,
    /// Patterns of tools that the summary for models lists first. Empty means built-in patterns.
    pub essential: Vec<String>,
    /// Results with more tokens are split into parts for models.
    pub result_tokens: usize,
    /// Whether search compares meaning in addition to words.
    pub search_by_meaning: bool,
    /// Whether queries that led to a call are stored and improve later searches.
    pub remember_searches: bool,
    /// Whether project servers may use the client's model (sampling).
    pub project_sampling: bool,
    /// How long a call waits for an approval.
    pub approval_timeout: Duration,
    /// Whether destructive tools need approval if no policy matches.
    pub ask_destructive: AskDestructive,
    /// Where approvals are requested.
    pub ask_via: AskVia,
    /// How long an approval through the calling client is valid.
    pub client_approval: ClientApproval,
    /// The log filter: a level, or targets with levels.
    pub log_level: Option<String>,
    /// The configured port of the HTTP server. If set, no other port is tried.
    pub port: Option<u16>,
    /// The address that the HTTP server listens on.
    pub listen: IpAddr,
    /// Additional host names that clients may use.
    pub allow_hosts: Vec<String>,
    /// Origins of web pages that may send requests.
    pub allow_origins: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let timeouts = Timeouts::default();
        Self {
            refresh_on_start: RefreshOnStart::default(),
            stale_refresh: StaleRefresh::default(),
            concurrent_discoveries: pegboard_model::Limits::default().concurrent_discoveries,
            answer_deadline: Duration::from_secs(2),
            env_allow: Vec::new(),
            ttl: Duration::from_secs(300),
            max_age: Duration::from_secs(24 * 3600),
            discovery_timeout: timeouts.discovery,
            connect_timeout: timeouts.connect,
            call_timeout: timeouts.call,
            idle_timeout: timeouts.idle,
            essential: Vec::new(),
            result_tokens: 25_000,
            search_by_meaning: true,
            remember_searches: false,
            project_sampling: false,
            approval_timeout: Duration::from_secs(120),
            ask_destructive: AskDestructive::default(),
            ask_via: AskVia::default(),
            client_approval: ClientApproval::default(),
            log_level: None,
            port: None,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
        }
    }
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

    /// Formats each setting for `config explain`.
    pub(crate) fn shown(&self) -> Vec<(&'static str, String)> {
        let list = |texts: &[String]| format!("[{}]", texts.join(", "));
        vec![
            ("allow_hosts", list(&self.allow_hosts)),
            ("allow_origins", list(&self.allow_origins)),
            ("answer_deadline", format_duration(self.answer_deadline)),
            ("approval_timeout", format_duration(self.approval_timeout)),
            ("ask_destructive", self.ask_destructive.as_str().to_owned()),
            ("ask_via", self.ask_via.as_str().to_owned()),
            ("client_approval", self.client_approval.as_str().to_owned()),
            ("call_timeout", format_duration(self.call_timeout)),
            (
                "concurrent_discoveries",
                self.concurrent_discoveries.to_string(),
            ),
            ("connect_timeout", format_duration(self.connect_timeout)),
            ("discovery_timeout", format_duration(self.discovery_timeout)),
            ("env_allow", list(&self.env_allow)),
            ("essential", list(&self.essential)),
            ("idle_timeout", format_duration(self.idle_timeout)),
            ("listen", self.listen.to_string()),
            (
                "log_level",
                self.log_level.clone().unwrap_or_else(|| "off".to_owned()),
            ),
            ("max_age", format_duration(self.max_age)),
            ("port", self.port.unwrap_or(DEFAULT_PORT).to_string()),
            (
                "refresh_on_start",
                self.refresh_on_start.as_str().to_owned(),
            ),
            ("remember_searches", self.remember_searches.to_string()),
            ("project_sampling", self.project_sampling.to_string()),
            ("result_tokens", self.result_tokens.to_string()),
            ("search_by_meaning", self.search_by_meaning.to_string()),
            ("stale_refresh", self.stale_refresh.as_str().to_owned()),
            ("ttl", format_duration(self.ttl)),
        ]
    }

    /// Applies a file's `settings`. Returns the entries that were applied.
    pub(crate) fn apply<'n>(
        &mut self,
        entry: &'n Entry,
        layer: Layer,
        reader: &mut TableReader<'_>,
    ) -> Vec<&'n Entry> {
        let entries = reader.table(entry, r#"{"ttl": "5m"}"#).unwrap_or_default();
        let twice: Vec<&str> = duplicates(entries)
            .iter()
            .map(|(_, e)| e.key.as_str())
            .collect();
        let mut applied = Vec::new();
        for entry in entries
            .iter()
            .filter(|entry| !twice.contains(&entry.key.as_str()))
        {
            if self.apply_one(entry, layer, reader).is_some() {
                applied.push(entry);
            }
        }
        applied
    }

    fn apply_one(
        &mut self,
        entry: &Entry,
        layer: Layer,
        reader: &mut TableReader<'_>,
    ) -> Option<()> {
        match entry.key.as_str() {
            "refresh_on_start" => {
                use RefreshOnStart::{All, Stale, Unknown};
                self.refresh_on_start = reader.one_of(
                    entry,
                    &[("unknown", Unknown), ("stale", Stale), ("all", All)],
                )?;
            }
            "stale_refresh" => {
                use StaleRefresh::{Always, Background};
                self.stale_refresh =
                    reader.one_of(entry, &[("background", Background), ("always", Always)])?;
            }
            "concurrent_discoveries" => {
                self.concurrent_discoveries = reader.count(entry, MAX_CONCURRENT_DISCOVERIES)?
            }
            "answer_deadline" => self.answer_deadline = reader.duration(entry, true)?,
            "ttl" => {
                let wanted = reader.duration(entry, true)?;
                // Approvals and annotation rules are checked again when a list's TTL is over.
                if layer == Layer::Project && wanted > self.ttl {
                    let why = "a project file can only shorten how long lists stay fresh";
                    let help =
                        "set it in your own config file, or for single servers of the project";
                    report_project_restriction(entry, reader, why, help);
                    return None;
                }
                self.ttl = wanted;
            }
            "max_age" => self.max_age = reader.duration(entry, true)?,
            "discovery_timeout" => self.discovery_timeout = reader.duration(entry, false)?,
            "connect_timeout" => self.connect_timeout = reader.duration(entry, false)?,
            "call_timeout" => self.call_timeout = reader.duration(entry, false)?,
            "idle_timeout" => self.idle_timeout = reader.duration(entry, true)?,
            "env_allow" if layer == Layer::Project => {
                let why = "a project file cannot pass more of your variables to servers";
                let help = "list the variables in your own config file, or in the server's `env`";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "listen" | "allow_hosts" | "allow_origins" if layer == Layer::Project => {
                let why = "a project file cannot change who can connect to Pegboard";
                let help = "set it in your own config file";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "approval_timeout" if layer == Layer::Project => {
                let why = "a project file cannot change how long approvals may take";
                let help = "set it in your own config file";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "approval_timeout" => self.approval_timeout = reader.duration(entry, true)?,
            "ask_destructive" => {
                use AskDestructive::{Always, Never, WhenPossible};
                let words = [Never, WhenPossible, Always].map(|word| (word.as_str(), word));
                let wanted = reader.one_of(entry, &words)?;
                if layer == Layer::Project && wanted < self.ask_destructive {
                    let why = "a project file can only require more approvals";
                    let help = "set it in your own config file";
                    report_project_restriction(entry, reader, why, help);
                    return None;
                }
                self.ask_destructive = wanted;
            }
            "ask_via" | "client_approval" if layer == Layer::Project => {
                let why = "a project file cannot change who approves calls";
                let help = "set it in your own config file";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "ask_via" => {
                use AskVia::{Both, Client, Inbox};
                let words = [Client, Inbox, Both].map(|word| (word.as_str(), word));
                self.ask_via = reader.one_of(entry, &words)?;
            }
            "client_approval" => {
                use ClientApproval::{Call, Session};
                let words = [Call, Session].map(|word| (word.as_str(), word));
                self.client_approval = reader.one_of(entry, &words)?;
            }
            "essential" => self.essential = reader.texts(entry)?,
            "result_tokens" => self.result_tokens = reader.count(entry, MAX_RESULT_TOKENS)?,
            "search_by_meaning" => self.search_by_meaning = reader.boolean(entry)?,
            "remember_searches" if layer == Layer::Project => {
                let why = "a project file cannot enable storing your searches";
                let help = "set it in your own config file";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "project_sampling" if layer == Layer::Project => {
                let why = "a project file cannot allow its servers to use the client's model";
                let help = "set it in your own config file";
                report_project_restriction(entry, reader, why, help);
                return None;
            }
            "project_sampling" => self.project_sampling = reader.boolean(entry)?,
            "remember_searches" => self.remember_searches = reader.boolean(entry)?,
            "log_level" => self.log_level = Some(reader.text(entry)?),
            "port" => {
                let port = reader.count(entry, usize::from(u16::MAX))?;
                self.port = u16::try_from(port).ok();
            }
            "listen" => self.listen = address(entry, reader)?,
            "allow_hosts" => self.allow_hosts = host_names(entry, reader)?,
            "allow_origins" => self.allow_origins = origins(entry, reader)?,
            "env_allow" => self.env_allow = variable_names(entry, reader)?,
            _ => {
                reader.unknown_key(entry, "`settings`", SETTING_KEYS);
                return None;
            }
        }
        Some(())
    }
}

/// Reports that a key has no effect in a project's file.
fn report_project_restriction(entry: &Entry, reader: &mut TableReader<'_>, why: &str, help: &str) {
    reader.report(
        Severity::Warning,
        Reason::ConfigInvalid,
        entry.key_start,
        format!("{why}; `{}` is ignored here", entry.key),
        help,
    );
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

/// Formats a duration as it would be written in a config file.
pub(crate) fn format_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0 => "0s".to_owned(),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

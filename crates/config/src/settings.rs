//! The `[settings]` table: what holds for all servers.

use std::time::Duration;

use pegboard_model::{Layer, Reason, Timeouts};
use serde::Serialize;

use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::typed::{Typed, duplicates};

/// Most discoveries that may run side by side.
const MOST_DISCOVERIES: usize = 1024;

/// The keys of `[settings]`.
pub(crate) const SETTING_KEYS: &[&str] = &[
    "answer_deadline",
    "call_timeout",
    "concurrent_discoveries",
    "connect_timeout",
    "discovery_timeout",
    "env_allow",
    "idle_timeout",
    "max_age",
    "refresh_on_start",
    "stale_refresh",
    "ttl",
];

/// Which servers are refreshed in the background when a session starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RefreshOnStart {
    /// Those never seen.
    #[default]
    Unknown,
    /// Those never seen, and those whose list is stale.
    Stale,
    /// All.
    All,
}

/// What happens when a stale list is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleRefresh {
    /// It is used, and refreshed in the background.
    #[default]
    Background,
    /// It is refreshed first, within a deadline.
    Always,
}

/// What holds for all servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Which servers are refreshed when a session starts.
    pub refresh_on_start: RefreshOnStart,
    /// What happens when a stale list is needed.
    pub stale_refresh: StaleRefresh,
    /// Discoveries side by side.
    pub concurrent_discoveries: usize,
    /// How long a first listing waits for servers never seen.
    pub answer_deadline: Duration,
    /// More variables that children may inherit.
    pub env_allow: Vec<String>,
    /// How long a tool list counts as fresh, for servers that do not say.
    pub ttl: Duration,
    /// How old the list of a stopped server may get, for servers that do not say.
    pub max_age: Duration,
    /// `discovery_timeout` for servers that do not say.
    pub discovery_timeout: Duration,
    /// `connect_timeout` for servers that do not say.
    pub connect_timeout: Duration,
    /// `call_timeout` for servers that do not say.
    pub call_timeout: Duration,
    /// `idle_timeout` for servers that do not say.
    pub idle_timeout: Duration,
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
        }
    }
}

impl Settings {
    /// The time-outs of a server that does not give its own.
    pub fn timeouts(&self) -> Timeouts {
        Timeouts {
            connect: self.connect_timeout,
            discovery: self.discovery_timeout,
            call: self.call_timeout,
            idle: self.idle_timeout,
        }
    }

    /// Each setting with its value in words, for `config explain`.
    pub(crate) fn shown(&self) -> Vec<(&'static str, String)> {
        let word = |value: serde_json::Result<serde_json::Value>| {
            value
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        vec![
            ("answer_deadline", shown_duration(self.answer_deadline)),
            ("call_timeout", shown_duration(self.call_timeout)),
            (
                "concurrent_discoveries",
                self.concurrent_discoveries.to_string(),
            ),
            ("connect_timeout", shown_duration(self.connect_timeout)),
            ("discovery_timeout", shown_duration(self.discovery_timeout)),
            ("env_allow", format!("[{}]", self.env_allow.join(", "))),
            ("idle_timeout", shown_duration(self.idle_timeout)),
            ("max_age", shown_duration(self.max_age)),
            (
                "refresh_on_start",
                word(serde_json::to_value(self.refresh_on_start)),
            ),
            (
                "stale_refresh",
                word(serde_json::to_value(self.stale_refresh)),
            ),
            ("ttl", shown_duration(self.ttl)),
        ]
    }

    /// Takes over what a file's `settings` says; answers the keys that were taken, with their places.
    pub(crate) fn apply<'n>(
        &mut self,
        entry: &'n Entry,
        layer: Layer,
        typed: &mut Typed<'_>,
    ) -> Vec<&'n Entry> {
        let entries = typed.table(entry, "{ ttl = \"5m\" }").unwrap_or_default();
        let twice: Vec<&str> = duplicates(entries)
            .iter()
            .map(|(_, e)| e.key.as_str())
            .collect();
        let mut taken = Vec::new();
        for entry in entries
            .iter()
            .filter(|entry| !twice.contains(&entry.key.as_str()))
        {
            if self.apply_one(entry, layer, typed).is_some() {
                taken.push(entry);
            }
        }
        taken
    }

    fn apply_one(&mut self, entry: &Entry, layer: Layer, typed: &mut Typed<'_>) -> Option<()> {
        match entry.key.as_str() {
            "refresh_on_start" => {
                use RefreshOnStart::{All, Stale, Unknown};
                self.refresh_on_start = typed.word(
                    entry,
                    &[("unknown", Unknown), ("stale", Stale), ("all", All)],
                )?;
            }
            "stale_refresh" => {
                use StaleRefresh::{Always, Background};
                self.stale_refresh =
                    typed.word(entry, &[("background", Background), ("always", Always)])?;
            }
            "concurrent_discoveries" => {
                self.concurrent_discoveries = typed.count(entry, MOST_DISCOVERIES)?
            }
            "answer_deadline" => self.answer_deadline = typed.duration(entry, true)?,
            "ttl" => self.ttl = typed.duration(entry, true)?,
            "max_age" => self.max_age = typed.duration(entry, true)?,
            "discovery_timeout" => self.discovery_timeout = typed.duration(entry, false)?,
            "connect_timeout" => self.connect_timeout = typed.duration(entry, false)?,
            "call_timeout" => self.call_timeout = typed.duration(entry, false)?,
            "idle_timeout" => self.idle_timeout = typed.duration(entry, true)?,
            "env_allow" if layer == Layer::Project => {
                typed.report(
                    Severity::Warning,
                    Reason::ConfigInvalid,
                    entry.key_start,
                    "a project file cannot let servers see more variables; `env_allow` is ignored here",
                    "name the variables in your own config file, or in `env` of the server",
                );
                return None;
            }
            "env_allow" => self.env_allow = variable_names(entry, typed)?,
            _ => {
                typed.unknown_key(entry, "`settings`", SETTING_KEYS);
                return None;
            }
        }
        Some(())
    }
}

fn variable_names(entry: &Entry, typed: &mut Typed<'_>) -> Option<Vec<String>> {
    let names = typed.texts(entry)?;
    let wrong = names
        .iter()
        .position(|name| name.is_empty() || name.contains(['=', '\0', '$', ' ']));
    if let (Some(wrong), Value::List(items)) = (wrong, &entry.node.value) {
        let at = items.get(wrong).map_or(entry.node.start, |item| item.start);
        typed.invalid(
            at,
            "`env_allow` must hold names of variables",
            "write for example `[\"HTTPS_PROXY\"]`",
        );
        return None;
    }
    Some(names)
}

/// A duration as it would be written.
pub(crate) fn shown_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0 => "0s".to_owned(),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

//! The `[profiles.NAME]` tables: which tools a client sees.

use std::collections::BTreeMap;

use pegboard_model::{Layer, Reason, ServerName, UntrustedText};
use serde::Serialize;
use serde_json::json;

use crate::explain::{EffectiveValue, explain_entry};
use crate::file::ConfigFile;
use crate::keys::{ValueType, impl_words};
use crate::kinds::{BOOLEAN, Kind, TEXTS, key_table, one_of};
use crate::load::LoadedConfig;
use crate::node::{Entry, Value};
use crate::problem::{Severity, shown_path};
use crate::profile_narrowing::{RejectedKey, WrittenKeys, bounded, narrowed};
use crate::reader::{TableReader, nearest};
use crate::template::ReferenceSource;

/// The profile of clients that do not name one.
pub const DEFAULT_PROFILE: &str = "default";

/// Maximum length of a name. Names are part of URLs.
const MAX_NAME_LENGTH: usize = 32;

/// Which tools a client's tool list contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileMode {
    /// The meta tools and the pinned tools.
    #[default]
    Lazy,
    /// Every tool, without the meta tools.
    Direct,
    /// Every tool and the meta tools.
    Both,
}

impl ProfileMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lazy => "lazy",
            Self::Direct => "direct",
            Self::Both => "both",
        }
    }
}

impl_words! {
    ProfileMode: Lazy, Direct, Both;
}

/// Tools as `server/tool`.
const PINNED: Kind<Vec<String>> = Kind {
    value_type: ValueType::Custom(
        || json!({ "type": "array", "items": { "type": "string", "pattern": "^[^/]+/.+$" } }),
    ),
    ..TEXTS
};

key_table! {
    /// Which servers and tools a client sees.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Profile, PROFILE_KEYS;

    /// Server names, or patterns with `*`. If empty, all servers.
    servers: Vec<String> = Vec::new(), TEXTS;
    /// Tools that are listed in every mode, as `server/tool`. Both parts may contain `*`.
    pinned: Vec<String> = Vec::new(), PINNED;
    /// What the tool list contains: the meta tools and the pinned tools (`lazy`), every tool (`direct`), or all of them
    /// (`both`).
    mode: ProfileMode = ProfileMode::Lazy, one_of();
    /// Whether tool names start with the server's name. `false` needs exactly one server, named without `*`.
    prefix: bool = true, BOOLEAN;
}

/// Profile entries by name, with their files.
type ProfileEntries<'n> = BTreeMap<&'n str, (&'n ConfigFile, &'n Entry)>;

/// Reads the profiles of all files. A project's profiles can only narrow the user's own. Must be called after the
/// servers are loaded.
pub(crate) fn read_profiles(
    files: &[ConfigFile],
    values: &ReferenceSource<'_>,
    loaded: &mut LoadedConfig,
) {
    let (mut own, mut project_profiles) = (ProfileEntries::new(), ProfileEntries::new());
    for file in files {
        let Some(root) = file.table("profiles") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        let example = "{ work = { servers = [\"github\"] } }";
        let entries = reader.unique_entries(root, example);
        let found = match file.layer {
            Layer::Project => &mut project_profiles,
            _ => &mut own,
        };
        for entry in entries {
            if is_name(entry, &mut reader) {
                found.insert(&entry.key, (file, entry));
            }
        }
        loaded.problems.append(&mut reader.problems);
    }
    for (name, (file, entry)) in &own {
        let mut reader = file.reader(None, values);
        let profile = read_profile(entry, loaded, &mut reader);
        loaded.problems.append(&mut reader.problems);
        let Some(profile) = profile else { continue };
        loaded.profiles.insert((*name).to_owned(), profile);
        explain(name, file, entry, loaded);
    }
    let default = loaded.profiles.get(DEFAULT_PROFILE).cloned();
    let default = default.filter(|_| own.contains_key(DEFAULT_PROFILE));
    for (name, (file, entry)) in project_profiles {
        let mut reader = file.reader(None, values);
        if let Some(profile) = read_profile(entry, loaded, &mut reader) {
            let place = (file, entry);
            let own = own.get(name).copied();
            apply_project_profile(
                name,
                profile,
                place,
                own,
                default.as_ref(),
                loaded,
                &mut reader,
            );
        }
        loaded.problems.append(&mut reader.problems);
    }
}

/// Applies the part of a project's profile that narrows the user's own, and reports the rest.
fn apply_project_profile(
    name: &str,
    wanted: Profile,
    (file, entry): (&ConfigFile, &Entry),
    own: Option<(&ConfigFile, &Entry)>,
    default: Option<&Profile>,
    loaded: &mut LoadedConfig,
    reader: &mut TableReader<'_>,
) {
    let known: Vec<&str> = loaded.servers.keys().map(ServerName::as_str).collect();
    let written = |key: &str| entry.node.get(key).is_some();
    let (profile, rejected) = match (own, loaded.profiles.get(name)) {
        (Some(_), Some(own)) => {
            let keys = WrittenKeys {
                mode: written("mode"),
                pinned: written("pinned"),
                prefix: written("prefix"),
            };
            narrowed(own, &wanted, keys, &known)
        }
        (Some(_), None) => {
            // The user's intention is unknown, so the project's profile must not be used instead.
            let message =
                format!("the project's profile `{name}` is ignored because yours is invalid");
            reader.warn(
                entry.key_start,
                message,
                "fix the profile in your own config file",
            );
            return;
        }
        (None, _) => match default {
            Some(default) => bounded(default, &wanted, &known),
            None => (wanted, Vec::new()),
        },
    };
    for not in &rejected {
        report_rejected(not, entry, reader);
    }
    let first = loaded.values.len();
    explain(name, file, entry, loaded);
    correct_rows(name, &profile, first, &rejected, loaded);
    loaded.profiles.insert(name.to_owned(), profile);
}

fn report_rejected(not: &RejectedKey, profile: &Entry, reader: &mut TableReader<'_>) {
    let Some(entry) = profile.node.get(not.key) else {
        return;
    };
    let items = match &entry.node.value {
        Value::List(items) => items.as_slice(),
        _ => &[],
    };
    let item = not.item.and_then(|at| items.get(at));
    let what = match item.map(|item| &item.value) {
        Some(Value::Text(text)) => {
            format!(
                "`{}` in `{}`",
                UntrustedText::new(text).shortened(60),
                not.key
            )
        }
        _ => format!("`{}`", not.key),
    };
    reader.warn(
        item.map_or(entry.node.start, |item| item.start),
        format!(
            "a project file can only narrow a profile; {what} is ignored: {}",
            not.why
        ),
        "set it in your own config file",
    );
}

fn explain(name: &str, file: &ConfigFile, profile: &Entry, loaded: &mut LoadedConfig) {
    for inner in profile.node.entries() {
        let key = format!(
            "profiles.{name}.{}",
            UntrustedText::new(&inner.key).shortened(60)
        );
        let (source, layer) = (&file.source, file.layer);
        explain_entry(&mut loaded.values, "profiles", key, inner, source, layer);
    }
}

/// Leaves one row per key of a narrowed profile, with the effective value. `first` is the project file's first row.
fn correct_rows(
    name: &str,
    profile: &Profile,
    first: usize,
    rejected: &[RejectedKey],
    loaded: &mut LoadedConfig,
) {
    let list =
        |texts: &[String]| UntrustedText::new(&format!("[{}]", texts.join(", "))).to_string();
    let mut project_profiles = loaded.values.split_off(first);
    // A key that is rejected as a whole keeps the row of the user's file.
    project_profiles.retain(|row| {
        let key = row.key.rsplit('.').next().unwrap_or_default();
        !rejected
            .iter()
            .any(|not| not.key == key && not.item.is_none())
    });
    for row in &mut project_profiles {
        match row.key.strip_prefix(&format!("profiles.{name}.")) {
            Some("servers") => row.value = list(&profile.servers),
            Some("pinned") => row.value = list(&profile.pinned),
            _ => {}
        }
    }
    for row in project_profiles {
        match loaded.values.iter_mut().find(|own| own.key == row.key) {
            Some(own) => {
                let place = own.file.as_deref().map(shown_path).unwrap_or_default();
                let line = own.line.unwrap_or_default();
                *own = EffectiveValue {
                    note: Some(format!("narrows {place}:{line}")),
                    ..row
                };
            }
            None => loaded.values.push(row),
        }
    }
}

fn is_name(entry: &Entry, reader: &mut TableReader<'_>) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    let name = &entry.key;
    if (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.bytes().all(good) {
        return true;
    }
    let shown = UntrustedText::new(name).shortened(60).to_string();
    let message = format!("`{shown}` cannot be the name of a profile");
    let help = format!("use up to {MAX_NAME_LENGTH} of the characters a-z, 0-9, `_` and `-`");
    reader.report(
        Severity::Error,
        Reason::ConfigName,
        entry.key_start,
        message,
        help,
    );
    false
}

fn read_profile(
    entry: &Entry,
    loaded: &LoadedConfig,
    reader: &mut TableReader<'_>,
) -> Option<Profile> {
    let mut profile = Profile::default();
    let entries = reader.table(entry, "{ servers = [\"github\"] }")?;
    let keys = reader.each_key(
        entries,
        PROFILE_KEYS,
        "a profile",
        |reader, entry, field| (field.apply)(&mut profile, entry, reader),
    );
    for entry in keys {
        match entry.key.as_str() {
            "servers" => {
                for (at, server) in with_offsets(entry, &profile.servers) {
                    check_server(server, at, loaded, reader);
                }
            }
            "pinned" => {
                for (at, pattern) in with_offsets(entry, &profile.pinned) {
                    check_pinned(pattern, at, loaded, reader);
                }
            }
            "prefix" if !profile.prefix && !profile.has_one_server() => reader.invalid(
                entry.node.start,
                "`prefix = false` needs exactly one server; otherwise tool names would be ambiguous",
                "name one server in `servers`, without `*`, or remove `prefix`",
            ),
            _ => {}
        }
    }
    (!reader.failed()).then_some(profile)
}

impl Profile {
    fn has_one_server(&self) -> bool {
        matches!(self.servers.as_slice(), [only] if !only.contains('*'))
    }
}

/// Returns the items of a list with their offsets.
fn with_offsets<'t>(entry: &Entry, texts: &'t [String]) -> Vec<(usize, &'t str)> {
    let Value::List(items) = &entry.node.value else {
        return Vec::new();
    };
    let texts = texts.iter().map(String::as_str);
    items.iter().map(|item| item.start).zip(texts).collect()
}

/// Warns of an unknown server. This is not an error: the profile works with the others, and the server may be added
/// later.
fn check_server(name: &str, at: usize, loaded: &LoadedConfig, reader: &mut TableReader<'_>) {
    if name.contains('*') {
        return;
    }
    let known = loaded.servers.keys().map(ServerName::as_str);
    let known = || {
        known
            .clone()
            .chain(loaded.broken.keys().map(String::as_str))
    };
    if known().any(|known| known == name) {
        return;
    }
    let help = match nearest(name, known()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => "see the names with `pegboard list`".to_owned(),
    };
    let shown = UntrustedText::new(name).shortened(60).to_string();
    let message = format!("no server `{shown}` is configured");
    let (severity, reason) = (Severity::Warning, Reason::ServerUnknown);
    reader.report(severity, reason, at, message, help);
}

fn check_pinned(pattern: &str, at: usize, loaded: &LoadedConfig, reader: &mut TableReader<'_>) {
    match pattern.split_once('/') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            check_server(server, at, loaded, reader);
        }
        _ => reader.invalid(
            at,
            "`pinned` must contain tools as `server/tool`",
            "write for example `[\"github/create_issue\", \"time/*\"]`",
        ),
    }
}

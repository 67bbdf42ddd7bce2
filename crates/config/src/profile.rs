//! The `[profiles.NAME]` tables: what clients get to see.

use std::collections::BTreeMap;

use pegboard_model::{Layer, Reason, ServerName, UntrustedText};
use serde::Serialize;

use crate::explain::{EffectiveValue, explain_entry};
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::node::{Entry, Value};
use crate::problem::{Severity, shown_path};
use crate::profile_narrowing::{RejectedKey, WrittenKeys, bounded, narrowed};
use crate::reader::{TableReader, duplicates, nearest};
use crate::template::Values;

/// The profile of clients that name none.
pub const DEFAULT_PROFILE: &str = "default";

/// The keys of a profile.
pub(crate) const PROFILE_KEYS: &[&str] = &["mode", "pinned", "prefix", "servers"];

/// Longest name: it stands in addresses.
const MAX_NAME_LENGTH: usize = 32;

/// How tools are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileMode {
    /// The meta tools and what is pinned.
    #[default]
    Lazy,
    /// Every tool, no meta tools.
    Direct,
    /// Every tool, and the meta tools.
    Both,
}

/// What clients that name it get to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// The servers by name or pattern with `*`; empty means all.
    pub servers: Vec<String>,
    /// Tools that are listed in any mode, as `server/tool`; either part may hold `*`.
    pub pinned: Vec<String>,
    /// How tools are shown.
    pub mode: ProfileMode,
    /// Whether names carry their server.
    pub prefix: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            pinned: Vec::new(),
            mode: ProfileMode::Lazy,
            prefix: true,
        }
    }
}

/// The profiles of some files by name, with their places.
type ProfileEntries<'n> = BTreeMap<&'n str, (&'n ConfigFile, &'n Entry)>;

/// Reads the profiles of all files. A project's profiles can only narrow what the user's own files say. The servers must
/// be known already.
pub(crate) fn read_profiles(files: &[ConfigFile], values: &Values<'_>, loaded: &mut LoadedConfig) {
    let (mut own, mut of_project) = (ProfileEntries::new(), ProfileEntries::new());
    for file in files {
        let Some(root) = file.table("profiles") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        let example = "{ work = { servers = [\"github\"] } }";
        let entries = reader.table(root, example).unwrap_or_default();
        let twice: Vec<&str> = duplicates(entries)
            .iter()
            .map(|(_, entry)| entry.key.as_str())
            .collect();
        let found = match file.layer {
            Layer::Project => &mut of_project,
            _ => &mut own,
        };
        for entry in entries {
            if is_name(entry, &mut reader) && !twice.contains(&entry.key.as_str()) {
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
    for (name, (file, entry)) in of_project {
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

/// Takes over as much of a project's profile as narrows what the user's own file says, and reports the rest.
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
            // What the user meant is not known, so nothing may take its place.
            let message =
                format!("the project's profile `{name}` is not used: yours cannot be read");
            reader.report(
                Severity::Warning,
                Reason::ConfigInvalid,
                entry.key_start,
                message,
                "correct the profile in your own config file",
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
    reader.report(
        Severity::Warning,
        Reason::ConfigInvalid,
        item.map_or(entry.node.start, |item| item.start),
        format!(
            "a project file can only narrow a profile; {what} is not taken: {}",
            not.why
        ),
        "write it into your own config file, if you mean it",
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

/// Leaves one row for each key of a narrowed profile, with the value that holds. `first` is the first row of the
/// project's file.
fn correct_rows(
    name: &str,
    profile: &Profile,
    first: usize,
    rejected: &[RejectedKey],
    loaded: &mut LoadedConfig,
) {
    let list =
        |texts: &[String]| UntrustedText::new(&format!("[{}]", texts.join(", "))).to_string();
    let mut of_project = loaded.values.split_off(first);
    // A key that is refused as a whole keeps the row of the user's file.
    of_project.retain(|row| {
        let key = row.key.rsplit('.').next().unwrap_or_default();
        !rejected
            .iter()
            .any(|not| not.key == key && not.item.is_none())
    });
    for row in &mut of_project {
        match row.key.strip_prefix(&format!("profiles.{name}.")) {
            Some("servers") => row.value = list(&profile.servers),
            Some("pinned") => row.value = list(&profile.pinned),
            _ => {}
        }
    }
    for row in of_project {
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
    let mut unprefixed = None;
    for entry in reader.table(entry, "{ servers = [\"github\"] }")? {
        match entry.key.as_str() {
            "servers" => {
                profile.servers = reader.texts(entry)?;
                for (at, server) in placed(entry, &profile.servers) {
                    check_server(server, at, loaded, reader);
                }
            }
            "pinned" => {
                profile.pinned = reader.texts(entry)?;
                for (at, pattern) in placed(entry, &profile.pinned) {
                    check_pinned(pattern, at, loaded, reader);
                }
            }
            "mode" => {
                use ProfileMode::{Both, Direct, Lazy};
                let words = [("lazy", Lazy), ("direct", Direct), ("both", Both)];
                profile.mode = reader.word(entry, &words)?;
            }
            "prefix" => {
                profile.prefix = reader.boolean(entry)?;
                unprefixed = Some(entry);
            }
            _ => reader.unknown_key(entry, "a profile", PROFILE_KEYS),
        }
    }
    if let Some(entry) = unprefixed.filter(|_| !profile.prefix)
        && !matches!(profile.servers.as_slice(), [only] if !only.contains('*'))
    {
        reader.invalid(
            entry.node.start,
            "`prefix = false` needs exactly one server, or names would not tell whose tool is meant",
            "name one server in `servers`, without `*`, or remove `prefix`",
        );
    }
    (!reader.failed()).then_some(profile)
}

/// The texts of a list with their places.
fn placed<'t>(entry: &Entry, texts: &'t [String]) -> Vec<(usize, &'t str)> {
    let Value::List(items) = &entry.node.value else {
        return Vec::new();
    };
    let texts = texts.iter().map(String::as_str);
    items.iter().map(|item| item.start).zip(texts).collect()
}

/// A server that is not there is a warning only: the profile works with the others, and the server may
/// come later.
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
            "`pinned` must hold tools as `server/tool`",
            "write for example `[\"github/create_issue\", \"time/*\"]`",
        ),
    }
}

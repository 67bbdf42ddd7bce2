//! The `[profiles.NAME]` tables: what clients get to see.

use std::collections::BTreeMap;

use pegboard_model::{Foreign, Reason, ServerName};
use serde::Serialize;

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::Loaded;
use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::template::Values;
use crate::typed::{Typed, duplicates, nearest};

/// The profile of clients that name none.
pub const DEFAULT_PROFILE: &str = "default";

/// The keys of a profile.
pub(crate) const PROFILE_KEYS: &[&str] = &["mode", "pinned", "prefix", "servers"];

/// Longest name: it stands in addresses.
const LONGEST_NAME: usize = 32;

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

/// Reads the profiles of all files; a higher layer replaces a profile as a whole. The servers must be
/// known already.
pub(crate) fn read_profiles(files: &[ConfigFile], values: &Values<'_>, loaded: &mut Loaded) {
    let mut found: BTreeMap<&str, (&ConfigFile, &Entry)> = BTreeMap::new();
    for file in files {
        let Some(root) = file.table("profiles") else {
            continue;
        };
        let mut typed = file.typed(None, values);
        let example = "{ work = { servers = [\"github\"] } }";
        let entries = typed.table(root, example).unwrap_or_default();
        let twice: Vec<&str> = duplicates(entries)
            .iter()
            .map(|(_, entry)| entry.key.as_str())
            .collect();
        for entry in entries {
            if is_name(entry, &mut typed) && !twice.contains(&entry.key.as_str()) {
                found.insert(&entry.key, (file, entry));
            }
        }
        loaded.problems.append(&mut typed.problems);
    }
    for (name, (file, entry)) in found {
        let mut typed = file.typed(None, values);
        let profile = read_profile(entry, loaded, &mut typed);
        loaded.problems.append(&mut typed.problems);
        let Some(profile) = profile else { continue };
        loaded.profiles.insert(name.to_owned(), profile);
        for inner in entry.node.entries() {
            let key = format!("profiles.{name}.{}", Foreign::new(&inner.key).shortened(60));
            let (source, layer) = (&file.source, file.layer);
            explain_entry(&mut loaded.values, "profiles", key, inner, source, layer);
        }
    }
}

fn is_name(entry: &Entry, typed: &mut Typed<'_>) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    let name = &entry.key;
    if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(good) {
        return true;
    }
    let shown = Foreign::new(name).shortened(60).to_string();
    let message = format!("`{shown}` cannot be the name of a profile");
    let help = format!("use up to {LONGEST_NAME} of the characters a-z, 0-9, `_` and `-`");
    typed.report(
        Severity::Error,
        Reason::ConfigName,
        entry.key_start,
        message,
        help,
    );
    false
}

fn read_profile(entry: &Entry, loaded: &Loaded, typed: &mut Typed<'_>) -> Option<Profile> {
    let mut profile = Profile::default();
    let mut unprefixed = None;
    for entry in typed.table(entry, "{ servers = [\"github\"] }")? {
        match entry.key.as_str() {
            "servers" => {
                profile.servers = typed.texts(entry)?;
                for (at, server) in placed(entry, &profile.servers) {
                    check_server(server, at, loaded, typed);
                }
            }
            "pinned" => {
                profile.pinned = typed.texts(entry)?;
                for (at, pattern) in placed(entry, &profile.pinned) {
                    check_pinned(pattern, at, loaded, typed);
                }
            }
            "mode" => {
                use ProfileMode::{Both, Direct, Lazy};
                let words = [("lazy", Lazy), ("direct", Direct), ("both", Both)];
                profile.mode = typed.word(entry, &words)?;
            }
            "prefix" => {
                profile.prefix = typed.boolean(entry)?;
                unprefixed = Some(entry);
            }
            _ => typed.unknown_key(entry, "a profile", PROFILE_KEYS),
        }
    }
    if let Some(entry) = unprefixed.filter(|_| !profile.prefix)
        && !matches!(profile.servers.as_slice(), [only] if !only.contains('*'))
    {
        typed.invalid(
            entry.node.start,
            "`prefix = false` needs exactly one server, or names would not tell whose tool is meant",
            "name one server in `servers`, without `*`, or remove `prefix`",
        );
    }
    (!typed.failed()).then_some(profile)
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
fn check_server(name: &str, at: usize, loaded: &Loaded, typed: &mut Typed<'_>) {
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
    let shown = Foreign::new(name).shortened(60).to_string();
    let message = format!("no server `{shown}` is configured");
    let (severity, reason) = (Severity::Warning, Reason::ServerUnknown);
    typed.report(severity, reason, at, message, help);
}

fn check_pinned(pattern: &str, at: usize, loaded: &Loaded, typed: &mut Typed<'_>) {
    match pattern.split_once('/') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            check_server(server, at, loaded, typed);
        }
        _ => typed.invalid(
            at,
            "`pinned` must hold tools as `server/tool`",
            "write for example `[\"github/create_issue\", \"time/*\"]`",
        ),
    }
}

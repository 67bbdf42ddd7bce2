//! The `sandbox` key of a server: a mode, or a table with paths, network and limits.

use std::path::{Component, Path, PathBuf};

use pegboard_model::{Sandbox, SandboxMode, SandboxNetwork};
use serde_json::json;

use crate::keys::{ValueType, impl_words, keys, words};
use crate::node::{Entry, Node, Value};
use crate::reader::TableReader;
use crate::template_checks::{anchored, has_stored_secret, known_parts};

impl_words! {
    SandboxMode: Off, Default, Strict;
}

/// Maximum number of paths or hosts in one list.
const LIST_MAX: usize = 256;
/// Maximum number of processes.
const PROCESSES_MAX: usize = 100_000;
/// The least memory that any program needs to start.
const MEMORY_MIN: u64 = 1024 * 1024;

type ReadSandbox = fn(&mut Sandbox, &Entry, &mut TableReader<'_>);

const NETWORK: ValueType = ValueType::Custom(|| {
    let hosts = json!({ "type": "array", "items": { "type": "string" } });
    json!({ "anyOf": [{ "enum": ["on", "off"] }, hosts] })
});
const MEMORY: ValueType =
    ValueType::Custom(|| json!({ "type": "string", "pattern": "^[0-9]+ ?(MB|GB|MiB|GiB|M|G)$" }));

keys! {
    /// The keys of a sandbox.
    const SANDBOX_KEYS: ReadSandbox;

    /// How strict the sandbox is.
    "mode": ValueType::OneOf(words::<SandboxMode>),
        |sandbox, entry, reader| set(&mut sandbox.mode, reader.one_of(entry)), { default: "`default`" };
    /// Additional paths that the server may read, relative to the config file. In `strict` mode nothing else of yours
    /// is readable. A project's file can only name paths in the project.
    "read": ValueType::TemplateList,
        |sandbox, entry, reader| set(&mut sandbox.read, paths(entry, reader)), { default: "`[]`" };
    /// Additional paths that the server may read and change.
    "write": ValueType::TemplateList,
        |sandbox, entry, reader| set(&mut sandbox.write, paths(entry, reader)), { default: "`[]`" };
    /// `on`, `off`, or the hosts that may be reached through Pegboard's [proxy](sandbox.md#network): `name`, `*.name`
    /// or `name:port`.
    "network": NETWORK,
        |sandbox, entry, reader| set(&mut sandbox.network, network(entry, reader)), { default: "`on`" };
    /// Whether the server may connect to Unix sockets, which [lead out of the sandbox](sandbox.md#what-is-confined).
    "unix_sockets": ValueType::Boolean,
        |sandbox, entry, reader| set(&mut sandbox.unix_sockets, reader.boolean(entry)), { default: "`false`" };
    /// The most memory that the server's processes use together, such as `512 MB` or `2 GB`.
    "memory": MEMORY, |sandbox, entry, reader| sandbox.memory = memory(entry, reader);
    /// The most processes that the server runs at a time.
    "processes": ValueType::Count { max: PROCESSES_MAX }, |sandbox, entry, reader| {
        let count = reader.count(entry, PROCESSES_MAX);
        sandbox.processes = count.and_then(|count| u32::try_from(count).ok());
    };
}

/// Reads the `sandbox` of a server. A table without `mode` is the mode `default`.
pub(crate) fn read_sandbox(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Sandbox> {
    if !matches!(entry.node.value, Value::Map(_)) {
        return reader.one_of(entry).map(Sandbox::of_mode);
    }
    let mut sandbox = Sandbox::of_mode(SandboxMode::Default);
    let entries = reader.table(entry, r#"{"network": "off"}"#)?;
    reader.each_key(entries, SANDBOX_KEYS, "a sandbox", |reader, entry, read| {
        read(&mut sandbox, entry, reader);
        Some(())
    });
    Some(sandbox)
}

/// Returns the sandbox of a project's server. The project's file can only tighten what the user's settings (`bound`) and
/// the user's own server of the same name (`own`) set. The second value names what was ignored.
pub(crate) fn in_project(
    written: Option<Sandbox>,
    bound: SandboxMode,
    own: Option<&Sandbox>,
    project: Option<&Path>,
) -> (Sandbox, Vec<&'static str>) {
    let bound = Sandbox::of_mode(bound);
    let is_written = written.is_some();
    let mut sandbox = written.unwrap_or_else(|| bound.clone());
    let wanted = sandbox.clone();
    // Sockets lead out of the sandbox, so only the user can allow them.
    sandbox.unix_sockets &= own.is_some_and(|own| own.unix_sockets);
    let unix_sockets = sandbox.unix_sockets;
    sandbox = sandbox.bounded_by(&Sandbox {
        unix_sockets,
        ..bound
    });
    if let Some(own) = own {
        sandbox = sandbox.bounded_by(own);
    }
    let is_inside = |path: &PathBuf| project.is_some_and(|project| path.starts_with(project));
    sandbox.read.retain(is_inside);
    sandbox.write.retain(is_inside);
    let mut ignored = Vec::new();
    if is_written {
        let mut note = |differs: bool, key| ignored.extend(differs.then_some(key));
        note(sandbox.mode != wanted.mode, "mode");
        note(sandbox.read != wanted.read, "read");
        note(sandbox.write != wanted.write, "write");
        note(sandbox.network != wanted.network, "network");
        note(sandbox.unix_sockets != wanted.unix_sockets, "unix_sockets");
        note(
            wanted.memory.is_some() && sandbox.memory != wanted.memory,
            "memory",
        );
        let more = wanted.processes.is_some() && sandbox.processes != wanted.processes;
        note(more, "processes");
    }
    if !sandbox.is_off() {
        sandbox.within = project.map(Path::to_path_buf);
    }
    (sandbox, ignored)
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn paths(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Vec<PathBuf>> {
    let Value::List(items) = &entry.node.value else {
        return reader.texts(entry).map(|_| Vec::new());
    };
    is_short(entry, items, reader)?;
    items
        .iter()
        .map(|item| path(&entry.key, item, reader))
        .collect()
}

fn path(key: &str, item: &Node, reader: &mut TableReader<'_>) -> Option<PathBuf> {
    let template = reader.template(key, item)?;
    if has_stored_secret(&template) || known_parts(&template).all(str::is_empty) {
        let message = format!("`{key}` must contain paths");
        reader.invalid(item.start, message, "write for example `[\"~/notes\"]`");
        return None;
    }
    let home = &reader.values.env.home;
    let template = anchored(template, reader.folder, home, |_| true);
    let text: String = known_parts(&template).collect();
    Some(normalized(Path::new(&text)))
}

/// Removes `.` and `..`, so that a path can be compared with another.
fn normalized(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

fn network(entry: &Entry, reader: &mut TableReader<'_>) -> Option<SandboxNetwork> {
    let Value::List(items) = &entry.node.value else {
        let words = [("on", true), ("off", false)];
        return reader.choice(entry, &words).map(|is_on| match is_on {
            true => SandboxNetwork::On,
            false => SandboxNetwork::Off,
        });
    };
    is_short(entry, items, reader)?;
    let hosts = reader.texts(entry)?;
    if let Some(wrong) = hosts.iter().position(|host| !is_host(host)) {
        let at = items.get(wrong).map_or(entry.node.start, |item| item.start);
        let help = "write for example `[\"api.example.com\", \"*.example.org:8443\"]`";
        reader.invalid(at, "`network` must contain host names", help);
        return None;
    }
    let hosts = hosts.iter().map(|host| host.to_ascii_lowercase());
    Some(SandboxNetwork::Hosts(hosts.collect()))
}

/// Whether a text is `name`, `*.name`, an address, or one of them with a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let name = host.strip_prefix("*.").unwrap_or(host);
    let of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    !name.is_empty()
        && name.bytes().all(of_host)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_short(entry: &Entry, items: &[Node], reader: &mut TableReader<'_>) -> Option<()> {
    if items.len() <= LIST_MAX {
        return Some(());
    }
    let message = format!("`{}` has more than {LIST_MAX} items", entry.key);
    reader.invalid(
        entry.node.start,
        message,
        "name a folder that contains the paths",
    );
    None
}

fn memory(entry: &Entry, reader: &mut TableReader<'_>) -> Option<u64> {
    let text = reader.text(entry)?;
    let bytes = parse_bytes(&text).filter(|bytes| *bytes >= MEMORY_MIN);
    if bytes.is_none() {
        let help = "write for example `512 MB` or `2 GB`";
        reader.invalid(
            entry.node.start,
            "`memory` is not an amount of memory",
            help,
        );
    }
    bytes
}

/// Parses an amount such as `512 MB`. A megabyte has 1024 × 1024 bytes, as in the tools that show memory.
fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.trim() {
        "M" | "MB" | "MiB" => 1024 * 1024,
        "G" | "GB" | "GiB" => 1024 * 1024 * 1024,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_hosts_are_checked() {
        for (text, bytes) in [
            ("512 MB", Some(512 * 1024 * 1024)),
            ("2G", Some(2 * 1024 * 1024 * 1024)),
            ("2", None),
            ("MB", None),
            ("99999999999999999999 GB", None),
        ] {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
        for (host, good) in [
            ("api.example.com", true),
            ("*.example.com:8443", true),
            ("[::1]:80", true),
            ("localhost:0", false),
            ("*", false),
            ("a/b", false),
            ("http://a", false),
            ("", false),
        ] {
            assert_eq!(is_host(host), good, "{host}");
        }
    }
}

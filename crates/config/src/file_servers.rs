//! The servers of one file. Names are checked; duplicates are rejected.

use std::collections::{BTreeMap, HashMap};

use pegboard_model::{Reason, ServerName};

use crate::client_files::{is_client_file, is_pegboard};
use crate::file::ConfigFile;
use crate::name::{NameCheck, check_name};
use crate::node::{Entry, Value};
use crate::problem::{Problem, shown_text};
use crate::server::{Definition, read_server};
use crate::settings::Settings;
use crate::template::ReferenceSource;

/// Maximum number of lines that a message about duplicates lists.
const SHOWN_LINES: usize = 8;

/// A server as defined by one file.
pub(crate) struct FileServer<'n> {
    /// The name as written, escaped for display.
    pub(crate) shown: String,
    /// The server name, if the written name is valid or could be corrected.
    pub(crate) name: Option<ServerName>,
    pub(crate) root: &'n str,
    pub(crate) entry: &'n Entry,
    /// The parsed definition; `None` if it has an error.
    pub(crate) definition: Option<Box<Definition>>,
    /// Indexes of its problems.
    pub(crate) problems: Vec<usize>,
}

impl ConfigFile {
    /// Returns the servers of the file in order, at most `room` of them.
    pub(crate) fn servers(
        &self,
        settings: &Settings,
        values: &ReferenceSource<'_>,
        room: usize,
        problems: &mut Vec<Problem>,
    ) -> Vec<FileServer<'_>> {
        let mut found = self.named_servers(settings, values, room, problems);
        self.reject_duplicates(&mut found, problems);
        self.reject_clashes(&mut found, problems);
        for server in found.iter_mut().filter(|server| server.problems.is_empty()) {
            let mut reader = self.reader(Some(&server.shown), values);
            server.definition = read_server(server.entry, settings, &mut reader).map(Box::new);
            let first = problems.len();
            problems.append(&mut reader.problems);
            server.problems = (first..problems.len()).collect();
        }
        found
    }

    /// Returns Pegboard's own entries in another program's file, each with its root table.
    pub(crate) fn own_entries(&self, settings: &Settings) -> Vec<(&Entry, &Entry)> {
        let foreign = is_client_file(&self.source);
        let roots = self
            .root_entries()
            .iter()
            .filter(|root| root.key == "mcpServers" || (foreign && root.key == "servers"));
        let entries = roots.flat_map(|root| {
            let entries = root.node.entries().iter();
            entries.map(move |entry| (root, entry))
        });
        entries
            .filter(|(_, entry)| is_pegboard(entry, settings.port))
            .collect()
    }

    /// Returns every server with its name checked. Invalid names are already reported.
    fn named_servers(
        &self,
        settings: &Settings,
        values: &ReferenceSource<'_>,
        room: usize,
        problems: &mut Vec<Problem>,
    ) -> Vec<FileServer<'_>> {
        let mut found: Vec<FileServer<'_>> = Vec::new();
        for root in self
            .root_entries()
            .iter()
            .filter(|e| matches!(e.key.as_str(), "servers" | "mcpServers"))
        {
            let entries = match &root.node.value {
                Value::Map(entries) => entries.as_slice(),
                Value::Null => &[],
                _ => {
                    let mut reader = self.reader(None, values);
                    let message = format!(
                        "`{}` must be a table of servers by name, but it is {}",
                        root.key,
                        root.node.kind()
                    );
                    let help = match self.source.format {
                        crate::text::Format::Toml => {
                            "write `[servers.NAME]` and below it `command = \"…\"`"
                        }
                        crate::text::Format::Yaml => {
                            "write each server as `NAME:` with `command: …` below it"
                        }
                        crate::text::Format::Json => {
                            "write each server as `\"NAME\": { \"command\": \"…\" }`"
                        }
                    };
                    reader.invalid(root.node.start, message, help);
                    problems.append(&mut reader.problems);
                    continue;
                }
            };
            let is_client_file = root.key == "mcpServers" || is_client_file(&self.source);
            for entry in entries {
                // Not a problem: the client is connected to Pegboard. `config explain` mentions the entry.
                if is_client_file && is_pegboard(entry, settings.port) {
                    continue;
                }
                if found.len() >= room {
                    let limit = values.limits.servers;
                    let message = format!(
                        "more than {limit} servers are configured; the servers from here on are ignored"
                    );
                    problems.push(
                        Problem::error(Reason::ConfigTooLarge, message)
                            .at(&self.source, entry.key_start),
                    );
                    return found;
                }
                found.push(self.named_server(&root.key, entry, problems));
            }
        }
        found
    }

    fn named_server<'n>(
        &'n self,
        root: &'n str,
        entry: &'n Entry,
        problems: &mut Vec<Problem>,
    ) -> FileServer<'n> {
        let shown = shown_text(&entry.key, 60).into_owned();
        let mut server = FileServer {
            shown,
            name: None,
            root,
            entry,
            definition: None,
            problems: Vec::new(),
        };
        let refused_root = self
            .refused_roots
            .iter()
            .find(|(key, _)| key == root)
            .map(|(_, problem)| *problem);
        server
            .problems
            .extend(self.refused.into_iter().chain(refused_root));
        let lenient = root == "mcpServers" || is_client_file(&self.source);
        match check_name(&entry.key, lenient) {
            NameCheck::Valid(name) => server.name = Some(name),
            NameCheck::Corrected(name) => {
                let message = format!("it is used under the name `{name}`");
                let problem = Problem::warning(Reason::ConfigName, message)
                    .help(format!(
                        "rename it to `{name}` if your other programs allow it"
                    ))
                    .of_server(&entry.key)
                    .at(&self.source, entry.key_start);
                problems.push(problem);
                server.name = Some(name);
            }
            NameCheck::Invalid { reason, why, help } => {
                server.problems.push(problems.len());
                let problem = Problem::error(reason, why).help(help).of_server(&entry.key);
                problems.push(problem.at(&self.source, entry.key_start));
            }
        }
        server
    }

    /// Rejects all servers of a duplicate name, because it is unclear which one was meant.
    fn reject_duplicates(&self, found: &mut [FileServer<'_>], problems: &mut Vec<Problem>) {
        let groups = groups_of(found.iter().map(|server| Some(server.entry.key.as_str())));
        for group in groups {
            self.reject_group(found, &group, problems, |lines| {
                (
                    Reason::ConfigDuplicate,
                    format!("it is defined more than once, on {lines}; all are ignored"),
                    "remove all but one".to_owned(),
                )
            });
        }
    }

    fn reject_clashes(&self, found: &mut [FileServer<'_>], problems: &mut Vec<Problem>) {
        let names = found
            .iter()
            .map(|server| server.name.as_ref().map(ServerName::as_str));
        for group in groups_of(names) {
            let members = || group.iter().filter_map(|at| found.get(*at));
            let Some(first) = members().next() else {
                continue;
            };
            // The same key twice was already reported as a duplicate.
            if members().all(|server| server.entry.key == first.entry.key) {
                continue;
            }
            let name = first
                .name
                .as_ref()
                .map_or(String::new(), ServerName::to_string);
            self.reject_group(found, &group, problems, |lines| {
                let message =
                    format!("several servers have the name `{name}`, on {lines}; all are ignored");
                (
                    Reason::ConfigName,
                    message,
                    "give them names that differ in more than case, `-`, `.` or spaces".to_owned(),
                )
            });
        }
    }

    fn reject_group(
        &self,
        found: &mut [FileServer<'_>],
        group: &[usize],
        problems: &mut Vec<Problem>,
        explain: impl Fn(&str) -> (Reason, String, String),
    ) {
        let places: Vec<usize> = group
            .iter()
            .filter_map(|at| found.get(*at))
            .map(|s| s.entry.key_start)
            .collect();
        let mut lines: Vec<String> = places
            .iter()
            .take(SHOWN_LINES)
            .map(|at| format!("line {}", self.source.line_of(*at)))
            .collect();
        if let Some(more) = places
            .len()
            .checked_sub(SHOWN_LINES)
            .filter(|more| *more > 0)
        {
            lines.push(format!("{more} more"));
        }
        let (reason, message, help) = explain(&lines.join(" and "));
        let index = problems.len();
        for at in group {
            if let Some(server) = found.get_mut(*at) {
                server.problems.push(index);
            }
        }
        let shown = group
            .first()
            .and_then(|at| found.get(*at))
            .map_or("", |server| &server.entry.key);
        let last = places.last().copied().unwrap_or(0);
        problems.push(
            Problem::error(reason, message)
                .help(help)
                .of_server(shown)
                .at(&self.source, last),
        );
    }
}

/// Groups positions with the same name, ordered by their first member.
fn groups_of<'n>(names: impl Iterator<Item = Option<&'n str>>) -> Vec<Vec<usize>> {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(names.size_hint().0);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, name) in names.enumerate() {
        let Some(name) = name else { continue };
        match first.get(name) {
            Some(first) => groups
                .entry(*first)
                .or_insert_with(|| vec![*first])
                .push(at),
            None => drop(first.insert(name, at)),
        }
    }
    groups.into_values().collect()
}

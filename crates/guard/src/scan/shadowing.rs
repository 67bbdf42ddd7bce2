//! Tools that imitate tools of other servers.

use std::collections::HashSet;

use crate::confusables::skeleton_of;

/// Share of common words from which two descriptions count as the same.
const SAME_WORDS: f64 = 0.75;
/// Identical tools from which a server counts as another instance of the same server.
const COPY_MIN: usize = 2;

/// A tool of another server.
#[derive(Clone, Debug)]
pub struct PeerTool {
    /// The name of its server.
    pub server: String,
    /// The tool's name on its server.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// The tools of other servers, prepared for comparisons.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    tools: Vec<(PeerTool, String)>,
    names: HashSet<String>,
}

impl Peers {
    /// Prepares the tools of other servers.
    pub fn new(tools: impl IntoIterator<Item = PeerTool>) -> Self {
        let tools: Vec<_> = tools
            .into_iter()
            .map(|tool| {
                let skeleton = skeleton_of(&tool.name);
                (tool, skeleton)
            })
            .collect();
        let names = tools
            .iter()
            .map(|(tool, _)| tool.name.to_lowercase())
            .collect();
        Self { tools, names }
    }

    pub(super) fn names(&self) -> &HashSet<String> {
        &self.names
    }

    /// Whether a tool of another server has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(&name.to_lowercase())
    }

    /// The peers without the tools of servers that a server with so many tools is a copy of: the same program,
    /// configured twice. `own` are its tools with a name that a peer has.
    #[must_use]
    pub fn without_copies(mut self, own: &[(&str, &str)], tools: usize) -> Self {
        let own: HashSet<(&str, &str)> = own.iter().copied().collect();
        let servers: HashSet<String> = self
            .tools
            .iter()
            .map(|(tool, _)| tool.server.clone())
            .collect();
        for server in servers {
            let of_server = || self.tools.iter().filter(|(tool, _)| tool.server == server);
            let same = of_server()
                .filter(|(tool, _)| own.contains(&(tool.name.as_str(), tool.description.as_str())))
                .count();
            let smaller = of_server().count().min(tools);
            if same >= COPY_MIN && same * 2 >= smaller {
                self.tools.retain(|(tool, _)| tool.server != server);
            }
        }
        self.names = self
            .tools
            .iter()
            .map(|(tool, _)| tool.name.to_lowercase())
            .collect();
        self
    }

    /// The tool that has the same name and nearly the same description.
    pub(super) fn shadowed(&self, name: &str, description: &str) -> Option<&PeerTool> {
        if !self.names.contains(&name.to_lowercase()) {
            return None;
        }
        let words = words_of(description);
        let mut same_name = self
            .tools
            .iter()
            .map(|(tool, _)| tool)
            .filter(|tool| tool.name.eq_ignore_ascii_case(name));
        same_name.find(|tool| is_same(&words, &words_of(&tool.description)))
    }

    /// The tool whose name looks the same but is spelled differently.
    pub(super) fn look_alike(&self, name: &str) -> Option<&PeerTool> {
        if self.names.contains(&name.to_lowercase()) {
            return None;
        }
        let skeleton = skeleton_of(name);
        let alike = self.tools.iter().find(|(_, other)| *other == skeleton);
        alike.map(|(tool, _)| tool)
    }
}

fn words_of(text: &str) -> HashSet<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn is_same(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    let common = one.intersection(other).count();
    let all = one.union(other).count();
    #[expect(clippy::cast_precision_loss, reason = "numbers of words are small")]
    let share = common as f64 / all.max(1) as f64;
    common >= 3 && share >= SAME_WORDS
}

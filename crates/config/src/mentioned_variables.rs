//! The environment variables on which a configuration may depend.

use std::collections::BTreeSet;

use pegboard_model::Limits;

use crate::env_overrides::override_names;
use crate::file::read_text;
use crate::load::LoadedConfig;

/// Prefixes of variables that Pegboard itself reads: its own settings and the destinations of traces.
const OWN_PREFIXES: &[&str] = &["LANGFUSE_", "OTEL_", "PEGBOARD_"];
/// Ends of variables that define a server.
const DEFINING_SUFFIXES: &[&str] = &["_MCP_ENABLED", "_MCP_URL"];

/// Names of environment variables, as far as they are known before the variables themselves are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MentionedVariables {
    /// Whole names.
    pub names: BTreeSet<String>,
    /// Starts of further names.
    pub prefixes: Vec<&'static str>,
    /// Ends of further names.
    pub suffixes: Vec<&'static str>,
}

impl MentionedVariables {
    /// Whether a variable is one of these.
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
            || self.suffixes.iter().any(|suffix| name.ends_with(suffix))
    }
}

impl LoadedConfig {
    /// Returns the variables that the config files refer to, and those with which a server can be defined or changed.
    /// Everything that looks like a reference counts, also in comments, so no reference is missed.
    pub fn mentioned_variables(&self) -> MentionedVariables {
        let mut names: BTreeSet<String> = self.settings.env_allow.iter().cloned().collect();
        for name in self.servers.keys() {
            names.extend(override_names(name.as_str()));
        }
        for broken in self.broken.keys() {
            names.extend(override_names(broken));
        }
        let limits = Limits::default();
        for file in &self.files {
            // A file that cannot be read was reported while loading.
            if let Ok(text) = read_text(&file.path, &limits) {
                names.extend(references(&text).map(str::to_owned));
            }
        }
        MentionedVariables {
            names,
            prefixes: OWN_PREFIXES.to_vec(),
            suffixes: DEFINING_SUFFIXES.to_vec(),
        }
    }
}

/// Returns what follows each `${` and looks like a variable's name.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let rests = text.split("${").skip(1);
    let names = rests.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    });
    names.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_02_every_reference_in_a_file_is_found() {
        let text = "a = \"${ONE}-${TWO:-x${THREE}}\" # ${FOUR} ${secret:name} $${FIVE} ${} ${SIX";
        let found: Vec<&str> = references(text).collect();
        assert_eq!(
            found,
            ["ONE", "TWO", "THREE", "FOUR", "secret", "FIVE", "SIX"]
        );
    }
}

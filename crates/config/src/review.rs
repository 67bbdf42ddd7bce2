//! The review that a person sees before trusting a project's server.
//!
//! The values in a project's file were written by its author and are not the user's secrets, so they are shown as
//! written. The user's own values appear as references (`${secret:NAME}`, `${NAME}`), with the process or URL that
//! would receive them. All text is escaped.

use std::collections::BTreeMap;

use pegboard_model::{
    ConfigHash, Reason, Sandbox, SandboxMode, SandboxNetwork, ServerName, ServerSpec, Template,
    TrustState, UntrustedText,
};
use pegboard_model::{ToolError, Transport};
use serde::Serialize;

use crate::command_line::{command_line, has_hiding_space, quoted};
use crate::loader_variables::loader_variable;
use crate::problem::shown_path;
use crate::received_values::{ReceivedValue, received};

/// Maximum number of characters in one review. A longer definition cannot be trusted: it would exceed about thirty
/// screens, and a part that is cut off could be the important one.
pub const REVIEW_CHARACTERS: usize = 50_000;

/// Everything to review before a project's server is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustReview {
    /// The server.
    pub server: ServerName,
    /// Whether the server is trusted.
    pub trust_state: TrustState,
    /// The file that defines it.
    pub file: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// Hash of the definition that is shown. Trust is bound to it.
    #[serde(skip)]
    pub hash: ConfigHash,
    /// The user's own server of the same name, which is not used while the project defines this one.
    pub replaces: Option<ReplacedServer>,
    /// What would run and what it would receive; `None` if it is too long.
    #[serde(flatten)]
    pub shown: Option<ShownDefinition>,
    /// Why the server cannot be trusted, if so.
    pub refused: Option<String>,
}

/// One of the user's servers that a project's server replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacedServer {
    /// The file that defines it.
    pub file: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// Its command or URL, with secrets masked; `None` if the definition is invalid.
    pub command: Option<String>,
}

/// A complete definition as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownDefinition {
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// The complete command line or URL.
    pub command: String,
    /// The folder that the program runs in.
    pub folder: Option<String>,
    /// The variables in `env`.
    pub variables: Vec<ShownValue>,
    /// The headers of each request.
    pub headers: Vec<ShownValue>,
    /// How its process is confined, if not as usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Recorded hashes of its package.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub integrity: Vec<String>,
    /// The user's secrets and variables that it would receive.
    pub receives: Vec<ReceivedValue>,
}

/// A variable or a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownValue {
    /// Its name.
    pub name: String,
    /// The value as written.
    pub value: String,
    /// Why the variable is dangerous, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
}

/// Variables of the user that a server receives although the project's file does not name them.
#[derive(Default)]
pub(crate) struct InheritedVariables {
    /// Variables that were applied because they start with the server's name.
    pub(crate) env_overrides: Vec<String>,
    /// Variables that are set and listed in the user's `env_allow`.
    pub(crate) allowed: Vec<String>,
}

impl TrustReview {
    pub(crate) fn new(
        spec: &ServerSpec,
        replaces: Option<ReplacedServer>,
        inherited: &InheritedVariables,
    ) -> Self {
        let shown = ShownDefinition::new(spec, inherited);
        let characters = shown.characters();
        let refused = (characters > REVIEW_CHARACTERS).then(|| {
            format!(
                "its definition has {characters} characters, and a review shows at most \
                 {REVIEW_CHARACTERS}"
            )
        });
        Self {
            server: spec.name.clone(),
            trust_state: match &refused {
                Some(_) => TrustState::Pending,
                None => spec.trust_state,
            },
            file: spec.origin.file.as_deref().map(shown_path),
            line: spec.origin.line,
            hash: spec.hash,
            replaces,
            shown: refused.is_none().then_some(shown),
            refused,
        }
    }

    /// Returns the location of the definition, as `file:line`.
    pub fn place(&self) -> String {
        place(self.file.as_deref(), self.line)
    }

    /// Checks that the definition can be shown completely.
    ///
    /// # Errors
    /// Fails with `CONFIG_TOO_LARGE` if it is too long.
    pub fn check(&self) -> Result<(), ToolError> {
        let Some(why) = &self.refused else {
            return Ok(());
        };
        let message = format!("server `{}` cannot be trusted: {why}", self.server);
        let error = ToolError::new(Reason::ConfigTooLarge, message).at_server(&self.server);
        Err(error.with_remedy(
            "Shorten the definition, or read it and write the server into your own config file.",
        ))
    }

    /// Formats the review as lines of text, without the server's name.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(own) = &self.replaces {
            lines.push(own.sentence(&self.server));
        }
        if let Some(why) = &self.refused {
            lines.push(format!("cannot be trusted: {why}"));
        }
        let Some(shown) = &self.shown else {
            return lines;
        };
        lines.push(shown.command.clone());
        if let Some(folder) = &shown.folder {
            lines.push(format!("in {folder}"));
        }
        for variable in &shown.variables {
            lines.push(format!("with {}={}", variable.name, variable.value));
            if let Some(reason) = variable.warning {
                lines.push(format!("  warning: {reason}"));
            }
        }
        for header in &shown.headers {
            lines.push(format!("with header {}: {}", header.name, header.value));
        }
        if let Some(sandbox) = &shown.sandbox {
            lines.push(format!("confined: {sandbox}"));
        }
        for hash in &shown.integrity {
            lines.push(format!("with package {hash}"));
        }
        lines.extend(shown.receives.iter().map(ReceivedValue::sentence));
        lines
    }
}

impl ReplacedServer {
    /// Describes the replaced server in one sentence.
    pub fn sentence(&self, name: &ServerName) -> String {
        let place = match place(self.file.as_deref(), self.line) {
            place if place.is_empty() => place,
            place => format!(" ({place})"),
        };
        let command = match &self.command {
            Some(command) => format!(": {command}"),
            None => String::new(),
        };
        format!("replaces your own server `{name}`{place}{command}")
    }
}

fn place(file: Option<&str>, line: Option<usize>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => String::new(),
    }
}

impl ShownDefinition {
    fn new(spec: &ServerSpec, inherited: &InheritedVariables) -> Self {
        let transport = &spec.transport;
        let (folder, variables, headers) = match transport {
            Transport::Stdio { env, cwd, .. } => {
                let folder = cwd.as_ref().map(|cwd| shown_value(&cwd.exact()));
                let mut variables = shown_values(env);
                for (variable, name) in variables.iter_mut().zip(env.keys()) {
                    variable.warning = loader_variable(name).map(|row| row.reason);
                }
                (folder, variables, Vec::new())
            }
            Transport::Http {
                headers, bearer, ..
            } => {
                let mut headers = shown_values(headers);
                headers.extend(bearer.as_ref().map(|bearer| ShownValue {
                    name: "Authorization".to_owned(),
                    value: format!("Bearer {}", shown_value(bearer.written())),
                    warning: None,
                }));
                (None, Vec::new(), headers)
            }
        };
        Self {
            transport: transport.kind(),
            command: command_line(transport),
            folder,
            variables,
            headers,
            sandbox: shown_sandbox(&spec.sandbox),
            integrity: spec
                .integrity
                .iter()
                .map(|hash| shown_value(hash))
                .collect(),
            receives: received(transport, inherited),
        }
    }

    fn characters(&self) -> usize {
        let values = self.variables.iter().chain(&self.headers);
        let values = values.flat_map(|value| [value.name.as_str(), &value.value]);
        let sentences: usize = self
            .receives
            .iter()
            .map(|received| received.sentence().chars().count())
            .sum();
        let texts = values
            .chain([self.command.as_str()])
            .chain(self.folder.as_deref())
            .chain(self.sandbox.as_deref())
            .chain(self.integrity.iter().map(String::as_str));
        texts.map(|text| text.chars().count()).sum::<usize>() + sentences
    }
}

/// Describes a sandbox that differs from the one that every project's server gets.
fn shown_sandbox(sandbox: &Sandbox) -> Option<String> {
    let usual = Sandbox {
        within: sandbox.within.clone(),
        ..Sandbox::of_mode(SandboxMode::Default)
    };
    if *sandbox == usual {
        return None;
    }
    let mut parts = vec![sandbox.mode.as_str().to_owned()];
    for (word, paths) in [("reads", &sandbox.read), ("writes", &sandbox.write)] {
        let shown = paths
            .iter()
            .map(|path| shown_value(&path.to_string_lossy()));
        parts.extend(shown.map(|path| format!("{word} {path}")));
    }
    if sandbox.network != SandboxNetwork::On {
        parts.push(format!(
            "network {}",
            shown_value(&sandbox.network.to_string())
        ));
    }
    if sandbox.unix_sockets {
        parts.push("Unix sockets".to_owned());
    }
    parts.extend(
        sandbox
            .memory
            .map(|bytes| format!("at most {bytes} bytes of memory")),
    );
    parts.extend(
        sandbox
            .processes
            .map(|count| format!("at most {count} processes")),
    );
    Some(parts.join(", "))
}

fn shown_values(values: &BTreeMap<String, Template>) -> Vec<ShownValue> {
    let values = values.iter().map(|(name, value)| ShownValue {
        name: shown_value(name),
        value: shown_value(value.written()),
        warning: None,
    });
    values.collect()
}

/// Quotes a value if it contains anything invisible or ambiguous.
pub(crate) fn shown_value(value: &str) -> String {
    let is_plain = !value.is_empty()
        && value.trim() == value
        && !value.contains("  ")
        && !has_hiding_space(value)
        && UntrustedText::new(value).to_string() == value;
    if is_plain {
        value.to_owned()
    } else {
        quoted(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_07_a_value_cannot_be_mistaken_for_another() {
        for (value, shown) in [
            (".lint.sh", ".lint.sh"),
            ("Bearer ${TOKEN}", "Bearer ${TOKEN}"),
            ("", "''"),
            (" a", "' a'"),
            ("a   b", "'a   b'"),
            ("a     b", "$'a\\x20\\x20\\x20\\x20 b'"),
            ("a\u{a0}b", "$'a\\u{a0}b'"),
            ("a\nb", "$'a\\nb'"),
            ("a\u{202e}b\\n", "$'a\\u{202e}b\\\\n'"),
        ] {
            assert_eq!(shown_value(value), shown);
        }
    }
}

//! The user's secrets and variables that a project's server would receive, and where they would go.

use std::collections::BTreeMap;
use std::fmt;

use pegboard_model::{Template, Transport, UntrustedText};
use serde::Serialize;

use crate::review::InheritedVariables;
use crate::template::{Reference, references};

/// One of the user's values that a server would receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceivedValue {
    /// Whether it is a stored secret or an environment variable.
    pub kind: ReceivedValueKind,
    /// The name of the secret or variable.
    pub name: String,
    /// How the server receives it, such as `header X-Session` or `argument 2`.
    pub used_as: String,
    /// The URL that it is sent to; `None` for a local program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_to: Option<String>,
    /// Why the server receives it although the project's file does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
}

/// The kinds of values that a definition can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceivedValueKind {
    /// A secret stored with `pegboard secret set`.
    Secret,
    /// A variable of Pegboard's environment.
    Variable,
}

impl fmt::Display for ReceivedValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret => "secret",
            Self::Variable => "variable",
        })
    }
}

/// Why a variable such as `OPENAI_API_KEY` reaches a server named `openai`.
const ENV_OVERRIDE: &str = "the variable's name begins with the server's name";
/// Why a variable in `env_allow` reaches every program.
const ALLOWED: &str = "it is listed in your setting `env_allow`";

impl ReceivedValue {
    /// Describes in one sentence what is received, and which program or host receives it.
    pub fn sentence(&self) -> String {
        let Self {
            kind,
            name,
            used_as,
            ..
        } = self;
        let because = self.because.map(|why| format!(", because {why}"));
        let because = because.unwrap_or_default();
        match &self.sent_to {
            Some(address) => {
                format!("your {kind} `{name}` is sent to {address} as {used_as}{because}")
            }
            None => format!("your {kind} `{name}` is passed to the program as {used_as}{because}"),
        }
    }
}

/// Returns all values of the user that a server would receive.
pub(crate) fn received(
    transport: &Transport,
    inherited: &InheritedVariables,
) -> Vec<ReceivedValue> {
    let mut found = Vec::new();
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let mut take = |references: Vec<Reference<'_>>, used_as: String| {
                collect(&mut found, references, used_as, None, inherited);
            };
            take(references_beyond(command, env), "the command".to_owned());
            for (at, arg) in args.iter().enumerate() {
                take(references_beyond(arg, env), format!("argument {}", at + 1));
            }
            for (name, value) in env {
                let used_as = format!("variable {}", UntrustedText::new(name));
                take(references(value.written()), used_as);
            }
            if let Some(cwd) = cwd {
                take(
                    references_beyond(cwd, env),
                    "the working directory".to_owned(),
                );
            }
            let allowed = inherited
                .allowed
                .iter()
                .filter(|name| !env.contains_key(*name));
            found.extend(allowed.map(|name| ReceivedValue {
                kind: ReceivedValueKind::Variable,
                name: UntrustedText::new(name).to_string(),
                used_as: format!("variable {}", UntrustedText::new(name)),
                sent_to: None,
                because: Some(ALLOWED),
            }));
        }
        Transport::Http {
            url,
            headers,
            bearer,
            ..
        } => {
            let address = UntrustedText::new(url.written()).to_string();
            let mut take = |value: &Template, used_as: String| {
                let references = references(value.written());
                collect(&mut found, references, used_as, Some(&address), inherited);
            };
            take(url, "part of the URL".to_owned());
            for (name, value) in headers {
                take(value, format!("header {}", UntrustedText::new(name)));
            }
            if let Some(bearer) = bearer {
                take(bearer, "header Authorization".to_owned());
            }
        }
    }
    found
}

/// Returns the references in a value. A reference to the server's own `env` is replaced by the references in that
/// variable.
fn references_beyond<'v>(
    value: &'v Template,
    env: &'v BTreeMap<String, Template>,
) -> Vec<Reference<'v>> {
    let mut found = Vec::new();
    for reference in references(value.written()) {
        match reference {
            Reference::Variable(name) if env.contains_key(name) => {
                let own = env.get(name).map(|own| references(own.written()));
                found.extend(own.unwrap_or_default());
            }
            other => found.push(other),
        }
    }
    found
}

fn collect(
    found: &mut Vec<ReceivedValue>,
    references: Vec<Reference<'_>>,
    used_as: String,
    sent_to: Option<&str>,
    inherited: &InheritedVariables,
) {
    for reference in references {
        let (kind, name) = match reference {
            Reference::Secret(name) => (ReceivedValueKind::Secret, name),
            Reference::Variable(name) => (ReceivedValueKind::Variable, name),
        };
        let is_overlaid = kind == ReceivedValueKind::Variable
            && inherited.env_overrides.iter().any(|own| own == name);
        let new = ReceivedValue {
            kind,
            name: name.to_owned(),
            used_as: used_as.clone(),
            sent_to: sent_to.map(str::to_owned),
            because: is_overlaid.then_some(ENV_OVERRIDE),
        };
        if !found.contains(&new) {
            found.push(new);
        }
    }
}

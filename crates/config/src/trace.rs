//! The `[trace]` table: where spans are sent and what they contain.
//!
//! All problems here are warnings, because everything else works without traces.

use std::collections::BTreeMap;

use pegboard_model::{Layer, Reason, Template, UntrustedText};

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::node::Entry;
use crate::problem::Severity;
use crate::reader::{TableReader, duplicates};
use crate::template::ReferenceSource;
use crate::template_checks::{header_error, url_error};

pub(crate) const TRACE_KEYS: &[&str] = &[
    "capture_content",
    "endpoint",
    "environment",
    "headers",
    "langfuse",
    "service_name",
];
pub(crate) const LANGFUSE_KEYS: &[&str] = &["base_url", "public_key", "secret_key"];

/// The `[trace]` table. Without `endpoint` and `langfuse` nothing is traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSettings {
    /// Base URL of a collector.
    pub endpoint: Option<Template>,
    /// Headers of requests to the collector.
    pub headers: BTreeMap<String, Template>,
    /// A Langfuse project.
    pub langfuse: Option<LangfuseSettings>,
    /// Whether arguments, results and queries are recorded.
    pub capture_content: bool,
    /// The `service.name` of the spans.
    pub service_name: Option<String>,
    /// The deployment environment, such as `production`.
    pub environment: Option<String>,
}

/// Credentials of a Langfuse project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LangfuseSettings {
    /// The public key.
    pub public_key: Template,
    /// The secret key.
    pub secret_key: Template,
    /// Base URL; the default is Langfuse's cloud.
    pub base_url: Option<Template>,
}

/// Reads the tables of all files, key by key.
pub(crate) fn read_trace(
    files: &[ConfigFile],
    values: &ReferenceSource<'_>,
    loaded: &mut LoadedConfig,
) {
    let mut applied: BTreeMap<&str, (&ConfigFile, &Entry)> = BTreeMap::new();
    for file in files {
        let Some(root) = file.table("trace") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        if file.layer == Layer::Project {
            let message =
                "a project file cannot change where traces are sent; `trace` is ignored here";
            let help = "set it in your own config file";
            let (severity, reason) = (Severity::Warning, Reason::ConfigInvalid);
            reader.report(severity, reason, root.key_start, message, help);
        } else {
            let entries = reader.table(root, r#"{"endpoint": "http://localhost:4318"}"#);
            let entries = entries.unwrap_or_default();
            let twice: Vec<&str> = (duplicates(entries).iter())
                .map(|(_, entry)| entry.key.as_str())
                .collect();
            for entry in entries {
                if !twice.contains(&entry.key.as_str())
                    && loaded.trace.apply(entry, &mut reader).is_some()
                {
                    applied.insert(&entry.key, (file, entry));
                }
            }
        }
        for mut problem in reader.problems {
            problem.severity = Severity::Warning;
            loaded.problems.push(problem);
        }
    }
    for (key, (file, entry)) in applied {
        let key = format!("trace.{}", UntrustedText::new(key).shortened(60));
        let (source, layer) = (&file.source, file.layer);
        explain_entry(&mut loaded.values, "trace", key, entry, source, layer);
    }
}

impl TraceSettings {
    fn apply(&mut self, entry: &Entry, reader: &mut TableReader<'_>) -> Option<()> {
        match entry.key.as_str() {
            "endpoint" => self.endpoint = Some(address("endpoint", entry, reader)?),
            "headers" => self.headers = headers(entry, reader),
            "langfuse" => self.langfuse = Some(langfuse(entry, reader)?),
            "capture_content" => self.capture_content = reader.boolean(entry)?,
            "service_name" => self.service_name = Some(reader.text(entry)?),
            "environment" => self.environment = Some(reader.text(entry)?),
            _ => {
                reader.unknown_key(entry, "`trace`", TRACE_KEYS);
                return None;
            }
        }
        Some(())
    }
}

fn address(key: &str, entry: &Entry, reader: &mut TableReader<'_>) -> Option<Template> {
    let address = reader.template(key, &entry.node)?;
    let Some(error) = url_error(&address) else {
        return Some(address);
    };
    let message = format!("`{key}` is not a valid URL: {error}");
    reader.invalid(
        entry.node.start,
        message,
        "write a URL such as `http://localhost:4318`",
    );
    None
}

fn headers(entry: &Entry, reader: &mut TableReader<'_>) -> BTreeMap<String, Template> {
    let mut headers = reader.templates(entry);
    headers.retain(|name, value| {
        let Some(error) = header_error(name, value) else {
            return true;
        };
        let name = UntrustedText::new(name).shortened(60).to_string();
        let message = format!("the header `{name}` cannot be sent: {error}");
        let example = reader
            .source
            .format
            .written(r#"{"x-api-key": "${secret:collector}"}"#);
        reader.invalid(
            entry.node.start,
            message,
            format!("write it as `{example}`"),
        );
        false
    });
    headers
}

fn langfuse(entry: &Entry, reader: &mut TableReader<'_>) -> Option<LangfuseSettings> {
    let example =
        r#"{"public_key": "${secret:langfuse_public}", "secret_key": "${secret:langfuse}"}"#;
    let (mut public_key, mut secret_key, mut base_url) = (None, None, None);
    for inner in reader.table(entry, example)? {
        match inner.key.as_str() {
            "public_key" => public_key = reader.template("langfuse.public_key", &inner.node),
            "secret_key" => secret_key = reader.template("langfuse.secret_key", &inner.node),
            "base_url" => base_url = address("langfuse.base_url", inner, reader),
            _ => reader.unknown_key(inner, "`trace.langfuse`", LANGFUSE_KEYS),
        }
    }
    match (public_key, secret_key) {
        (Some(public_key), Some(secret_key)) => Some(LangfuseSettings {
            public_key,
            secret_key,
            base_url,
        }),
        _ => {
            let message = "`langfuse` needs `public_key` and `secret_key`";
            reader.invalid(entry.key_start, message, format!("write `{example}`"));
            None
        }
    }
}

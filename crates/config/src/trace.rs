//! The `[trace]` table: where spans are sent and what they contain.
//!
//! All problems here are warnings, because everything else works without traces.

use std::collections::BTreeMap;

use pegboard_model::{Layer, Template, UntrustedText};
use serde_json::json;

use crate::explain::explain_entry;
use crate::file::ConfigFile;
use crate::keys::{Key, ValueType, keys, table_schema};
use crate::kinds::{BOOLEAN, Kind, TEMPLATE, TEXT, key_table};
use crate::load::LoadedConfig;
use crate::node::Entry;
use crate::problem::Severity;
use crate::reader::TableReader;
use crate::sensitive::Visibility;
use crate::template::ReferenceSource;
use crate::template_checks::{header_error, url_error};

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

const ENDPOINT: Kind<Option<Template>> = Kind {
    visibility: Visibility::Address,
    read: |entry, reader| address("endpoint", entry, reader).map(Some),
    ..TEMPLATE
};
const HEADERS: Kind<BTreeMap<String, Template>> = Kind {
    value_type: ValueType::TemplateTable,
    visibility: Visibility::Hidden,
    read: |entry, reader| Some(headers(entry, reader)),
    show: |_| "{}".to_owned(),
};
const LANGFUSE: Kind<Option<LangfuseSettings>> = Kind {
    value_type: ValueType::Custom(|| {
        let mut schema = table_schema(LANGFUSE_KEYS, Key::written_default);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("required".to_owned(), json!(["public_key", "secret_key"]));
        }
        schema
    }),
    visibility: Visibility::Hidden,
    read: |entry, reader| langfuse(entry, reader).map(Some),
    show: |_| String::new(),
};
const SERVICE_NAME: Kind<Option<String>> = Kind {
    show: |name| name.clone().unwrap_or_else(|| "pegboard".to_owned()),
    ..TEXT
};

key_table! {
    /// The `[trace]` table. Without `endpoint` and `langfuse` nothing is traced.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TraceSettings, TRACE_KEYS;

    /// Base URL of a collector that accepts OTLP over HTTP, such as `http://localhost:4318`; `/v1/traces` is added.
    endpoint: Option<Template> = None, ENDPOINT;
    /// Headers of requests to the collector.
    headers: BTreeMap<String, Template> = BTreeMap::new(), HEADERS;
    /// A Langfuse project.
    langfuse: Option<LangfuseSettings> = None, LANGFUSE;
    /// Whether arguments, results and queries are recorded, [redacted](observability.md).
    capture_content: bool = false, BOOLEAN;
    /// The service name of the spans.
    service_name: Option<String> = None, SERVICE_NAME;
    /// The deployment environment, such as `production`.
    environment: Option<String> = None, TEXT;
}

type SetLangfuse = fn(&mut WrittenLangfuse, Option<Template>);

keys! {
    /// The keys of `[trace.langfuse]`.
    const LANGFUSE_KEYS: SetLangfuse;

    /// The public key, `pk-lf-…`.
    "public_key": ValueType::Template, |langfuse, key| langfuse.public_key = key, { visibility: Visibility::Hidden };
    /// The secret key, `sk-lf-…`.
    "secret_key": ValueType::Template, |langfuse, key| langfuse.secret_key = key, { visibility: Visibility::Hidden };
    /// The URL of the Langfuse server.
    "base_url": ValueType::Template, |langfuse, url| langfuse.base_url = url,
        { visibility: Visibility::Hidden, default: "`https://cloud.langfuse.com`" };
}

/// The `[trace.langfuse]` table while it is read.
#[derive(Default)]
pub(crate) struct WrittenLangfuse {
    public_key: Option<Template>,
    secret_key: Option<Template>,
    base_url: Option<Template>,
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
            reader.warn(root.key_start, message, help);
        } else {
            let entries = reader.unique_entries(root, r#"{"endpoint": "http://localhost:4318"}"#);
            let trace = &mut loaded.trace;
            let keys = reader.each_key(entries, TRACE_KEYS, "`trace`", |reader, entry, field| {
                (field.apply)(trace, entry, reader)
            });
            applied.extend(
                keys.into_iter()
                    .map(|entry| (entry.key.as_str(), (file, entry))),
            );
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
    let mut written = WrittenLangfuse::default();
    let entries = reader.table(entry, example)?;
    reader.each_key(
        entries,
        LANGFUSE_KEYS,
        "`trace.langfuse`",
        |reader, entry, set| {
            let key = format!("langfuse.{}", entry.key);
            let value = match entry.key.as_str() {
                "base_url" => address(&key, entry, reader),
                _ => reader.template(&key, &entry.node),
            };
            set(&mut written, value);
            Some(())
        },
    );
    match (written.public_key, written.secret_key) {
        (Some(public_key), Some(secret_key)) => Some(LangfuseSettings {
            public_key,
            secret_key,
            base_url: written.base_url,
        }),
        _ => {
            let message = "`langfuse` needs `public_key` and `secret_key`";
            reader.invalid(entry.key_start, message, format!("write `{example}`"));
            None
        }
    }
}

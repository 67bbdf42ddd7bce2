//! Whether two servers are the same: by their definition, whatever their names and the order of their keys.

use std::collections::BTreeMap;

use pegboard_model::{SecretLookup, ServerName};

use super::draft::{Draft, DraftTransport};
use super::value::{ImportValue, SecretForm, escaped, secret_reference};
use crate::load::LoadedConfig;
use crate::name::{NameCheck, check_name};
use crate::node::{Entry, Node, Value};
use crate::secrets::SecretStore;

/// A definition as text by place. Secrets are literal.
type Definition = BTreeMap<String, String>;

/// Returns the hash of a draft's definition. Drafts of the same server have the same one.
pub(super) fn identity(draft: &Draft) -> Option<blake3::Hash> {
    let definition = definition(draft, &SecretForm::Literal)?;
    let mut hasher = blake3::Hasher::new();
    for (place, text) in definition {
        for part in [place, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    Some(hasher.finalize())
}

fn definition(draft: &Draft, form: &SecretForm<'_>) -> Option<Definition> {
    let mut definition = Definition::new();
    match &draft.transport {
        DraftTransport::Stdio { command, args, cwd } => {
            for (at, word) in std::iter::once(command).chain(args).enumerate() {
                definition.insert(format!("word {at:06}"), word.written(form)?);
            }
            if let Some(cwd) = cwd {
                definition.insert("cwd".to_owned(), cwd.written(form)?);
            }
        }
        DraftTransport::Http { url, .. } => {
            definition.insert("url".to_owned(), url.written(form)?);
        }
    }
    for (name, value) in &draft.env {
        definition.insert(format!("env {name}"), value.written(form)?);
    }
    for (name, value) in &draft.headers {
        definition.insert(header(name), value.written(form)?);
    }
    if let Some(bearer) = &draft.bearer {
        definition.insert(
            header("authorization"),
            bearer_header(&bearer.written(form)?),
        );
    }
    Some(definition)
}

fn header(name: &str) -> String {
    format!("header {}", name.to_ascii_lowercase())
}

fn bearer_header(token: &str) -> String {
    format!("Bearer {token}")
}

/// A server of Pegboard's own configuration, as it is written.
pub(super) struct Configured {
    pub(super) name: ServerName,
    /// The definition as written.
    written: Definition,
}

/// Reads the servers of the configuration's files, including those that are rejected, for example because a variable
/// is not set.
pub(super) fn configured_servers(config: &LoadedConfig) -> Vec<Configured> {
    let mut servers = Vec::new();
    for file in config.files.iter().filter(|file| file.exists) {
        let limits = pegboard_model::Limits::default();
        let Ok(text) = crate::file::read_text(&file.path, &limits) else {
            continue;
        };
        let mut source = crate::text::SourceText::new(file.path.clone(), text);
        if source.parse(&limits).is_err() {
            continue;
        }
        let roots = source.tree().map(Node::entries).unwrap_or_default().iter();
        for root in roots.filter(|root| matches!(root.key.as_str(), "servers" | "mcpServers")) {
            servers.extend(root.node.entries().iter().filter_map(configured));
        }
    }
    servers
}

fn configured(entry: &Entry) -> Option<Configured> {
    let name = match check_name(&entry.key, true) {
        NameCheck::Valid(name) | NameCheck::Corrected(name) => name,
        NameCheck::Invalid { .. } => return None,
    };
    let node = &entry.node;
    let mut written = Definition::new();
    let texts = |key: &str| match node.get(key).map(|entry| &entry.node.value) {
        Some(Value::Text(text)) => vec![text.as_str()],
        Some(Value::List(items)) => items.iter().filter_map(Node::text).collect(),
        _ => Vec::new(),
    };
    let words = texts("command").into_iter().chain(texts("args"));
    for (at, word) in words.enumerate() {
        written.insert(format!("word {at:06}"), own_form(word));
    }
    for key in ["url", "serverUrl", "httpUrl"] {
        for url in texts(key) {
            written.insert("url".to_owned(), own_form(url));
        }
    }
    for cwd in texts("cwd") {
        written.insert("cwd".to_owned(), own_form(cwd));
    }
    let pairs = |key: &str| {
        node.get(key)
            .map(|entry| entry.node.entries())
            .unwrap_or_default()
    };
    for pair in pairs("env") {
        let text = pair.node.text().unwrap_or_default();
        written.insert(format!("env {}", pair.key), own_form(text));
    }
    for pair in pairs("headers") {
        let text = pair.node.text().unwrap_or_default();
        written.insert(header(&pair.key), own_form(text));
    }
    for bearer in texts("bearer") {
        written.insert(header("authorization"), bearer_header(&own_form(bearer)));
    }
    Some(Configured { name, written })
}

/// Pegboard also accepts `${env:NAME}`.
fn own_form(text: &str) -> String {
    text.replace("${env:", "${")
}

impl Configured {
    /// Whether a draft has this definition. A value may be written as it is, or as a stored secret of the same value.
    pub(super) fn is_same(&self, draft: &Draft, stored: &mut StoredValues<'_>) -> bool {
        let Some(definition) = definition(draft, &SecretForm::Literal) else {
            return false;
        };
        let places = self.written.keys().eq(definition.keys());
        places
            && self.written.iter().all(|(place, text)| {
                let wanted = definition.get(place);
                wanted.is_some_and(|wanted| wanted == text || *wanted == stored.inserted(text))
            })
    }
}

/// The values of stored secrets, read when they are first compared.
pub(super) struct StoredValues<'a> {
    store: &'a SecretStore,
    values: BTreeMap<String, Option<String>>,
}

impl<'a> StoredValues<'a> {
    pub(super) fn new(store: &'a SecretStore) -> Self {
        Self {
            store,
            values: BTreeMap::new(),
        }
    }

    /// Returns the value of a stored secret.
    pub(super) fn get(&mut self, name: &str) -> Option<&str> {
        let store = self.store;
        let value = self.values.entry(name.to_owned()).or_insert_with(|| {
            let secret = store.secret(name)?;
            Some(secret.reveal().to_owned())
        });
        value.as_deref()
    }

    /// Replaces references to stored secrets by their values.
    fn inserted(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for reference in crate::template::references(&text.clone()) {
            if let crate::template::Reference::Secret(name) = reference
                && let Some(value) = self.get(name).map(escaped)
            {
                text = text.replace(&secret_reference(name), &value);
            }
        }
        text
    }
}

/// Whether an entry starts or reaches Pegboard itself.
pub(super) fn is_pegboard(name: &str, draft: &Draft, port: Option<u16>) -> bool {
    let text =
        |value: &ImportValue| Node::new(0, 0, Value::Text(value.plain().unwrap_or_default()));
    let field = |key: &str, node: Node| Entry {
        key: key.to_owned(),
        key_start: 0,
        node,
    };
    let fields = match &draft.transport {
        DraftTransport::Stdio { command, args, .. } => {
            let args = Node::new(0, 0, Value::List(args.iter().map(text).collect()));
            vec![field("command", text(command)), field("args", args)]
        }
        DraftTransport::Http { url, .. } => vec![field("url", text(url))],
    };
    let entry = field(name, Node::new(0, 0, Value::Map(fields)));
    crate::client_files::is_pegboard(&entry, port)
}

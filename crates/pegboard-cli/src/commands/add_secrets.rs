//! Secrets that were typed as part of a server's definition: hints, and moving them to the secret store.

use std::collections::{BTreeMap, BTreeSet};

use pegboard_config::edit::{NewServer, NewTransport};
use pegboard_config::{LoadedConfig, Problem, SecretStore, secret_name};
use pegboard_model::{
    Secret, SecretLookup, ServerName, ServerSpec, Template, TemplatePart, Transport,
    is_secret_name, plaintext_secret,
};

use super::secret::place;
use crate::failure::Failure;
use crate::output::{Output, Paint};

/// Words before the token in the value of a header.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "ApiKey "];
/// The minimum length of a header's value that is taken for a secret.
const MIN_HEADER_VALUE: usize = 6;
/// The maximum length of a secret's name.
const MAX_NAME: usize = 64;

/// A secret in a definition. It has no `Debug`, because it refers to the value.
struct Found {
    /// The key in the config file, such as `env.GITHUB_TOKEN`.
    key: String,
    place: Place,
    secret: Secret,
    /// The name to store it under.
    name: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Env(usize),
    Header(usize),
    Arg(usize),
    Url,
}

/// Prints how to move each secret to the secret store. Secrets in arguments are reported by the warnings about
/// definitions.
pub(super) fn print_hints(server: &NewServer, output: &Output) {
    let server_name = &server.name;
    for found in find(server) {
        if matches!(found.place, Place::Arg(_)) {
            continue;
        }
        let (key, name) = (&found.key, &found.name);
        let text = text_at(server, found.place);
        let secret = found.secret.reveal();
        let known_scheme = text.is_some_and(|text| {
            text.strip_suffix(secret)
                .is_some_and(|start| start.is_empty() || SCHEMES.contains(&start))
        });
        // The rest of a longer text may be secret too and is not repeated.
        let next = match text.filter(|_| known_scheme) {
            Some(text) => format!(
                "`pegboard edit {server_name} {key} '{}'`",
                text.replace(secret, &reference(name))
            ),
            None => format!("replace the secret in `{key}` with `{}`", reference(name)),
        };
        let hint = output.paint(Paint::Warn, "hint:");
        output.note(&format!(
            "{hint} `{key}` looks like a secret and is in the config file as plain text. Run \
             `pegboard secret set {name}`, then {next}; or let `--store-secrets` do both."
        ));
    }
}

/// The secrets that were stored for a definition, until the definition is written.
#[derive(Default)]
pub(super) struct Stored {
    /// The values by name.
    values: BTreeMap<String, Secret>,
    new_names: Vec<String>,
    /// The values that were replaced.
    old_values: Vec<(String, Secret)>,
    notes: Vec<String>,
}

impl Stored {
    /// Removes the new values and restores those that were replaced.
    pub(super) fn undo(self, store: &SecretStore) {
        for name in self.new_names {
            // An unused value that stays does no harm.
            let _ = store.remove(&name);
        }
        for (name, value) in self.old_values {
            let _ = store.set(&name, value);
        }
    }

    /// Prints what was stored. To be called when the definition is written.
    pub(super) fn print(&self, output: &Output) {
        for note in &self.notes {
            output.note(note);
        }
    }

    fn keep(&mut self, found: &Found, name: &str, store: &SecretStore) -> Result<(), Problem> {
        let old = store.secret(name);
        let note = if old.as_ref() == Some(&found.secret) {
            format!("the value of `{}` is already stored as `{name}`", found.key)
        } else {
            let kept = store.set(name, found.secret.clone())?;
            match old {
                Some(old) => self.old_values.push((name.to_owned(), old)),
                None => self.new_names.push(name.to_owned()),
            }
            let place = place(kept.backend);
            format!("stored the value of `{}` as `{name}` in {place}", found.key)
        };
        self.values.insert(name.to_owned(), found.secret.clone());
        self.notes.push(note);
        Ok(())
    }
}

/// Moves the secrets of a definition to the store and replaces them by references. `replace` says whether the server
/// of the same name in the edited file is replaced.
pub(super) fn store(
    server: &mut NewServer,
    store: &SecretStore,
    loaded: &LoadedConfig,
    replace: bool,
) -> Result<Stored, Failure> {
    let server_name = server.name.clone();
    let names = Names::new(&server_name, store, loaded, replace)?;
    let mut stored = Stored::default();
    for found in find(server) {
        let name = names.choose(&found, &stored);
        if let Err(problem) = stored.keep(&found, &name, store) {
            stored.undo(store);
            return Err(problem.into());
        }
        if let Some(text) = text_at_mut(server, found.place) {
            *text = text.replace(found.secret.reveal(), &reference(&name));
        }
    }
    Ok(stored)
}

/// Chooses names, so that no secret changes that something else uses.
struct Names<'a> {
    server: &'a ServerName,
    store: &'a SecretStore,
    loaded: &'a LoadedConfig,
    known: BTreeSet<String>,
    /// The definition that is replaced.
    replaced: Option<&'a Transport>,
    /// The text of the edited file.
    text: String,
}

impl<'a> Names<'a> {
    fn new(
        server: &'a ServerName,
        store: &'a SecretStore,
        loaded: &'a LoadedConfig,
        replace: bool,
    ) -> Result<Self, Problem> {
        let known = store.list()?.into_iter().map(|secret| secret.name);
        let replaced = existing(loaded, server).filter(|_| replace);
        Ok(Self {
            server,
            store,
            loaded,
            known: known.collect(),
            replaced: replaced.map(|spec| &spec.transport),
            text: std::fs::read_to_string(&loaded.edit_target).unwrap_or_default(),
        })
    }

    fn choose(&self, found: &Found, stored: &Stored) -> String {
        let is_free = |name: &String| match stored.values.get(name) {
            Some(value) => *value == found.secret,
            None => !self.known.contains(name) || self.may_hold(name, &found.secret),
        };
        let own = format!("{}_", self.server);
        let mut name = found.name.clone();
        if !is_free(&name) && !name.starts_with(&own) {
            name = shortened(&format!("{own}{name}"));
        }
        let numbered = (2_u32..).map(|number| {
            let suffix = format!("_{number}");
            let start: String = name.chars().take(MAX_NAME - suffix.len()).collect();
            format!("{start}{suffix}")
        });
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(is_free).unwrap_or_default()
    }

    /// Whether a stored secret may be used for a value: it has this value, or belongs to the replaced server. In both
    /// cases nothing else refers to it.
    fn may_hold(&self, name: &str, value: &Secret) -> bool {
        let Some(old) = self.store.secret(name) else {
            // A value that cannot be read could not be restored.
            return false;
        };
        let reference = reference(name);
        let own = self.replaced.map_or(0, |transport| {
            let templates = templates(transport).into_iter();
            let counts = templates.map(|text| text.written().matches(&reference).count());
            counts.sum::<usize>()
        });
        let mut others = self.loaded.servers.values();
        let is_used = others.any(|spec| {
            let is_replaced = self.replaced.is_some() && spec.name == *self.server;
            !is_replaced && refers_to(&spec.transport, name)
        });
        // The text covers invalid servers and other tables too.
        let is_used = is_used || self.text.matches(&reference).count() > own;
        !is_used && (own > 0 || old == *value)
    }
}

/// The server of a name in the file that `add` edits.
pub(super) fn existing<'a>(loaded: &'a LoadedConfig, name: &ServerName) -> Option<&'a ServerSpec> {
    let found = loaded.servers.get(name)?;
    (found.origin.file.as_ref() == Some(&loaded.edit_target)).then_some(found)
}

fn templates(transport: &Transport) -> Vec<&Template> {
    let mut found = Vec::new();
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            found.push(command);
            found.extend(args);
            found.extend(env.values());
            found.extend(cwd);
        }
        Transport::Http {
            url,
            headers,
            bearer,
            ..
        } => {
            found.push(url);
            found.extend(headers.values());
            found.extend(bearer);
        }
    }
    found
}

fn refers_to(transport: &Transport, secret: &str) -> bool {
    let is_secret = |part: &TemplatePart| matches!(part, TemplatePart::StoredSecret { name, .. } if name == secret);
    let templates = templates(transport);
    templates
        .iter()
        .any(|text| text.parts().iter().any(is_secret))
}

fn reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

fn shortened(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

/// Returns a valid name of a secret that contains the good characters of a text.
fn valid_name(text: &str) -> String {
    let is_good = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    text.chars().filter(is_good).take(MAX_NAME).collect()
}

fn find(server: &NewServer) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |key: String, place: Place, secret: &str, name: String| {
        if !name.is_empty() {
            let secret = Secret::new(secret.to_owned());
            found.push(Found {
                key,
                place,
                secret,
                name,
            });
        }
    };
    for (at, (key, value)) in server.env.iter().enumerate() {
        let pair = format!("{key}={value}");
        if let Some(secret) = plaintext_secret(None, &pair) {
            add(
                format!("env.{key}"),
                Place::Env(at),
                secret,
                valid_name(key),
            );
        }
    }
    for (at, (key, value)) in server.headers.iter().enumerate() {
        if let Some(secret) = header_secret(key, value) {
            let name = key.to_ascii_lowercase().replace('-', "_");
            let name = match name.as_str() {
                "authorization" => "token",
                name => name,
            };
            let name = shortened(&format!("{}_{}", server.name, valid_name(name)));
            add(format!("headers.{key}"), Place::Header(at), secret, name);
        }
    }
    match &server.transport {
        NewTransport::Http { url } => {
            if let Some(secret) = plaintext_secret(None, url) {
                let name = shortened(&format!("{}_url", server.name));
                add("url".to_owned(), Place::Url, secret, name);
            }
        }
        NewTransport::Stdio { args, .. } => {
            let mut before: Option<&str> = None;
            for (at, arg) in args.iter().enumerate() {
                if let Some(secret) = plaintext_secret(before, arg) {
                    let name = secret_name(&server.name, before, arg);
                    add(format!("args[{}]", at + 1), Place::Arg(at), secret, name);
                }
                before = Some(arg);
            }
        }
    }
    found
}

/// Returns the secret part of a header's value, without the scheme before it.
fn header_secret<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    if value.contains("${") {
        return None;
    }
    let known = plaintext_secret(None, value);
    let starts = |scheme: &&&str| {
        value
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let scheme = SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len());
    let token = value.get(scheme..).map(str::trim);
    let by_name = token.filter(|token| is_secret_name(name) && token.len() >= MIN_HEADER_VALUE);
    by_name.or(known)
}

fn text_at(server: &NewServer, place: Place) -> Option<&String> {
    match (place, &server.transport) {
        (Place::Env(at), _) => server.env.get(at).map(|(_, value)| value),
        (Place::Header(at), _) => server.headers.get(at).map(|(_, value)| value),
        (Place::Arg(at), NewTransport::Stdio { args, .. }) => args.get(at),
        (Place::Url, NewTransport::Http { url }) => Some(url),
        _ => None,
    }
}

fn text_at_mut(server: &mut NewServer, place: Place) -> Option<&mut String> {
    match (place, &mut server.transport) {
        (Place::Env(at), _) => server.env.get_mut(at).map(|(_, value)| value),
        (Place::Header(at), _) => server.headers.get_mut(at).map(|(_, value)| value),
        (Place::Arg(at), NewTransport::Stdio { args, .. }) => args.get_mut(at),
        (Place::Url, NewTransport::Http { url }) => Some(url),
        _ => None,
    }
}

//! The `oauth` table of a server: how to log in to it.

use std::collections::BTreeMap;

use pegboard_model::{Layer, OAuthGrant, OAuthSettings};
use serde_json::json;

use crate::keys::{ValueType, impl_words, keys, words};
use crate::node::{Entry, Value};
use crate::reader::TableReader;

/// The most scopes and parameters that are read.
const MAX_ENTRIES: usize = 64;

impl_words! {
    OAuthGrant: AuthorizationCode = "authorization_code", ClientCredentials = "client_credentials";
}

type ReadOAuth = fn(&mut OAuthSettings, &Entry, &mut TableReader<'_>);

const TEXTS: ValueType =
    ValueType::Custom(|| json!({ "type": "object", "additionalProperties": { "type": "string" } }));

keys! {
    /// The keys of `oauth`.
    const OAUTH_KEYS: ReadOAuth;

    /// How a token is obtained: a person logs in with a browser, or the client logs in as itself.
    "grant": ValueType::OneOf(words::<OAuthGrant>),
        |oauth, entry, reader| if let Some(grant) = reader.one_of(entry) { oauth.grant = grant },
        { default: "`authorization_code`" };
    /// The id of a client that you registered with the service.
    "client_id": ValueType::Template,
        |oauth, entry, reader| oauth.client_id = reader.template("client_id", &entry.node),
        { default: "Pegboard registers itself" };
    /// The secret of that client, best as `${secret:NAME}`.
    "client_secret": ValueType::Template,
        |oauth, entry, reader| oauth.client_secret = reader.template("client_secret", &entry.node);
    /// The private key of that client (PKCS #8 in PEM), with which it signs instead of sending a secret.
    "private_key": ValueType::Template,
        |oauth, entry, reader| oauth.private_key = reader.template("private_key", &entry.node);
    /// The URL of a client id metadata document, used where the authorization server supports it.
    "client_metadata_url": ValueType::Text,
        |oauth, entry, reader| oauth.client_metadata_url = https_url(entry, reader);
    /// The name under which Pegboard registers itself.
    "client_name": ValueType::Text,
        |oauth, entry, reader| oauth.client_name = reader.text(entry), { default: "`Pegboard`" };
    /// The scopes to request.
    "scopes": ValueType::TextList,
        |oauth, entry, reader| oauth.scopes = scopes(entry, reader), { default: "those that the server names" };
    /// The redirect URI that is registered for the client, such as `http://127.0.0.1:8765/callback`.
    "redirect_uri": ValueType::Text,
        |oauth, entry, reader| oauth.redirect_uri = redirect(entry, reader), { default: "a free port of 127.0.0.1" };
    /// The issuer of the authorization server, if the server names another one or none.
    "issuer": ValueType::Text, |oauth, entry, reader| oauth.issuer = issuer(entry, reader);
    /// Additional parameters of the authorization request, such as `access_type = \"offline\"`.
    "authorize_parameters": TEXTS,
        |oauth, entry, reader| oauth.authorize_parameters = parameters(entry, reader), { default: "`{}`" };
    /// Accepts an authorization server that does not advertise PKCE. It is used in any case.
    "assume_pkce": ValueType::Boolean,
        |oauth, entry, reader| oauth.assume_pkce = reader.boolean(entry).unwrap_or(false), { default: "`false`" };
    /// Whether to send the `resource` parameter, which a few authorization servers refuse.
    "send_resource": ValueType::Boolean,
        |oauth, entry, reader| oauth.send_resource = reader.boolean(entry).unwrap_or(true), { default: "`true`" };
}

/// The `oauth` key of a server as a JSON Schema.
pub(crate) const OAUTH: ValueType = ValueType::Custom(|| json!({ "$ref": "#/$defs/oauth" }));

/// Reads the table. In a project's file it has no effect: a cloned folder must not relax how its server is logged in
/// to, nor choose the client or the addresses.
pub(crate) fn read_oauth(
    entry: &Entry,
    reader: &mut TableReader<'_>,
) -> Option<Box<OAuthSettings>> {
    if reader.layer == Layer::Project {
        reader.warn(
            entry.key_start,
            "a project file cannot configure how you log in; `oauth` is ignored here",
            "write the `oauth` table in your own config file",
        );
        return None;
    }
    let entries = reader.table(entry, r#"{"client_id": "…"}"#)?;
    let mut settings = OAuthSettings::default();
    reader.each_key(entries, OAUTH_KEYS, "`oauth`", |reader, entry, read| {
        read(&mut settings, entry, reader);
        Some(())
    });
    let needs_client = settings.client_secret.is_some()
        || settings.private_key.is_some()
        || settings.grant == OAuthGrant::ClientCredentials;
    if needs_client && settings.client_id.is_none() {
        reader.invalid(
            entry.key_start,
            "`oauth` needs a `client_id` here",
            "set the id of the client that you registered with the service",
        );
    }
    Some(Box::new(settings))
}

fn scopes(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Vec<String>> {
    let scopes = reader.texts(entry)?;
    let is_scope = |scope: &String| {
        !scope.is_empty()
            && scope
                .bytes()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    if scopes.len() > MAX_ENTRIES || !scopes.iter().all(is_scope) {
        let help = reader.example("scopes", "[\"read\", \"write\"]");
        reader.invalid(
            entry.node.start,
            "`scopes` must be a list of single scopes",
            help,
        );
        return None;
    }
    Some(scopes)
}

fn https_url(entry: &Entry, reader: &mut TableReader<'_>) -> Option<String> {
    let text = reader.text(entry)?;
    let path = text
        .strip_prefix("https://")
        .and_then(|rest| rest.split_once('/'));
    if path.is_none_or(|(host, path)| host.is_empty() || path.is_empty()) {
        let message = format!("`{}` must be an https URL with a path", entry.key);
        reader.invalid(
            entry.node.start,
            message,
            "write it as `https://example.com/client.json`",
        );
        return None;
    }
    Some(text)
}

fn issuer(entry: &Entry, reader: &mut TableReader<'_>) -> Option<String> {
    let text = reader.text(entry)?;
    if !text.starts_with("https://") && !text.starts_with("http://") {
        let help = reader.example("issuer", "\"https://login.example.com\"");
        reader.invalid(entry.node.start, "`issuer` must be a URL", help);
        return None;
    }
    Some(text)
}

fn redirect(entry: &Entry, reader: &mut TableReader<'_>) -> Option<String> {
    let text = reader.text(entry)?;
    let host = text.strip_prefix("http://").map(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        host.rsplit_once(':').map_or(host, |(host, _)| host)
    });
    if !matches!(host, Some("127.0.0.1" | "localhost" | "[::1]")) {
        let help = reader.example("redirect_uri", "\"http://127.0.0.1:8765/callback\"");
        let message = "`redirect_uri` must be an http URL of this machine";
        reader.invalid(entry.node.start, message, help);
        return None;
    }
    Some(text)
}

/// Parameters that the login sets itself.
const OWN_PARAMETERS: &[&str] = &[
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "resource",
    "response_type",
    "scope",
    "state",
];

fn parameters(entry: &Entry, reader: &mut TableReader<'_>) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    let entries = reader.table(entry, r#"{"access_type": "offline"}"#);
    for inner in entries.unwrap_or_default().iter().take(MAX_ENTRIES) {
        if OWN_PARAMETERS.contains(&inner.key.as_str()) {
            let message = format!("`{}` is set by the login itself", inner.key);
            reader.invalid(inner.key_start, message, "remove it");
            continue;
        }
        let text = match &inner.node.value {
            Value::Text(text) => Some(text.clone()),
            _ => reader.text(inner),
        };
        parameters.extend(text.map(|text| (inner.key.clone(), text)));
    }
    parameters
}

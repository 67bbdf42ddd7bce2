//! The `oauth` table of a server with its stored secrets resolved.

use pegboard_model::{
    OAuthGrant, OAuthSettings, Reason, Secret, SecretLookup, ServerSpec, Template, ToolError,
    ToolResult, Transport,
};
use reqwest::Url;

use super::failure::LoginErrors;
use super::login::LoginKey;
use super::random::hash_fields;

/// The principal of a login: the user of this machine.
const PRINCIPAL: &str = "user";

/// The settings of one server, resolved.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedSettings {
    pub(crate) plain: OAuthSettings,
    pub(crate) client_id: Option<Secret>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) private_key: Option<Secret>,
}

/// A server that can be logged in to.
#[derive(Clone, Debug)]
pub(crate) struct LoginTarget {
    /// The URL as configured; it may contain secrets.
    pub(crate) url: Secret,
    pub(crate) parsed: Url,
    pub(crate) settings: ResolvedSettings,
    pub(crate) key: LoginKey,
    pub(crate) errors: LoginErrors,
}

impl LoginTarget {
    /// Resolves a server. Returns `None` if it needs no login from us: it is not remote, or a `bearer`, an
    /// `Authorization` header or credentials in the URL are configured.
    pub(crate) fn of(spec: &ServerSpec, secrets: &dyn SecretLookup) -> ToolResult<Option<Self>> {
        let Transport::Http {
            url,
            headers,
            bearer,
            ..
        } = &spec.transport
        else {
            return Ok(None);
        };
        let has_header = headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("authorization"));
        if bearer.is_some() || has_header {
            return Ok(None);
        }
        let resolve = |template: &Template, field: &str| {
            template.resolve(secrets).map_err(|name| {
                let what = format!(
                    "server `{}` needs the secret `{name}` for `{field}`, which is not stored",
                    spec.name
                );
                ToolError::new(Reason::ConfigSecretMissing, what)
                    .at_server(&spec.name)
                    .at_field(field)
                    .with_remedy(format!("Store it with `pegboard secret set {name}`."))
            })
        };
        let url = resolve(url, "url")?;
        let url = Secret::new(url.reveal().trim());
        let Ok(parsed) = Url::parse(url.reveal()) else {
            return Ok(None);
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Ok(None);
        }
        let plain = spec.oauth.as_deref().cloned().unwrap_or_default();
        let optional = |template: &Option<Template>, field: &str| {
            let resolved = template.as_ref().map(|template| resolve(template, field));
            resolved.transpose()
        };
        let settings = ResolvedSettings {
            client_id: optional(&plain.client_id, "oauth.client_id")?,
            client_secret: optional(&plain.client_secret, "oauth.client_secret")?,
            private_key: optional(&plain.private_key, "oauth.private_key")?,
            plain,
        };
        let key = LoginKey {
            server: spec.name.clone(),
            binding: binding(&url, &settings),
        };
        Ok(Some(Self {
            url,
            parsed,
            settings,
            key,
            errors: LoginErrors::new(&spec.name),
        }))
    }
}

/// Everything that a login is bound to, except the client's secret, which may be replaced.
fn binding(url: &Secret, settings: &ResolvedSettings) -> String {
    let plain = &settings.plain;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut fields = vec![
        PRINCIPAL.to_owned(),
        url.reveal().to_owned(),
        settings
            .client_id
            .as_ref()
            .map(|id| id.reveal().to_owned())
            .unwrap_or_default(),
        text(&plain.issuer),
        text(&plain.client_metadata_url),
        text(&plain.redirect_uri),
        format!(
            "{} {} {}",
            plain.grant == OAuthGrant::ClientCredentials,
            plain.assume_pkce,
            plain.send_resource
        ),
        plain
            .scopes
            .as_ref()
            .map(|all| all.join(" "))
            .unwrap_or_default(),
    ];
    for (name, value) in &plain.authorize_parameters {
        fields.extend([name.clone(), value.clone()]);
    }
    hash_fields(fields.iter().map(String::as_str))
}

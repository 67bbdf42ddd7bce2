//! Finds the authorization server of a server: from a 401 to checked metadata.

use pegboard_model::{OAuthSettings, ToolResult};
use reqwest::Url;

use super::challenge::{BearerChallenge, split_scopes};
use super::failure::shown;
use super::fetch::{Fetcher, json, unless_temporary};
use super::metadata::{ResourceMetadata, ServerMetadata};

/// The most authorization servers of one server that are tried.
const MAX_SERVERS: usize = 4;
const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource";
const OAUTH_PATH: &str = "/.well-known/oauth-authorization-server";
const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// What a login needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discovered {
    /// The value of the `resource` parameter.
    pub(crate) resource: String,
    /// The scopes that the server publishes.
    pub(crate) scopes: Option<Vec<String>>,
    /// The issuer, exactly as the server wrote it.
    pub(crate) issuer: String,
    pub(crate) metadata: ServerMetadata,
    /// Whether there is no metadata, only the default paths of revision 2025-03-26.
    pub(crate) is_assumed: bool,
}

impl Fetcher {
    /// Finds the authorization server. `url` is the server's URL as configured.
    pub(crate) async fn discover(
        &self,
        url: &str,
        challenge: Option<&BearerChallenge>,
        settings: &OAuthSettings,
    ) -> ToolResult<Discovered> {
        let server = self.published_url_of_server(url)?;
        let published = self.resource_metadata(&server, challenge).await?;
        let (resource, scopes, issuers) = match published {
            Some(metadata) => {
                let resource = self.checked_resource(&metadata, &server, url)?;
                (
                    resource,
                    metadata.scopes_supported,
                    metadata.authorization_servers,
                )
            }
            None => (own_resource(url), None, Vec::new()),
        };
        let named = issuers.first().cloned();
        if let Some(issuer) = &settings.issuer {
            let metadata = self.overridden(issuer, &issuers).await?;
            return Ok(Discovered {
                resource,
                scopes,
                issuer: issuer.clone(),
                metadata,
                is_assumed: false,
            });
        }
        if named.is_none() {
            // A server of revision 2025-03-26 is its own authorization server.
            return self.own_server(&server, resource, scopes).await;
        }
        let mut last = None;
        for issuer in issuers.into_iter().take(MAX_SERVERS) {
            match self.server_metadata(&issuer, &issuer).await {
                Ok(metadata) => {
                    return Ok(Discovered {
                        resource,
                        scopes,
                        issuer,
                        metadata,
                        is_assumed: false,
                    });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.no_metadata()))
    }

    /// Whether the server publishes how to log in. Used where a server refuses without a challenge.
    pub(crate) async fn publishes_login(&self, url: &str) -> bool {
        let Ok(server) = self.published_url_of_server(url) else {
            return false;
        };
        let published = self.resource_metadata(&server, None).await;
        published.is_ok_and(|metadata| {
            metadata.is_some_and(|metadata| !metadata.authorization_servers.is_empty())
        })
    }

    fn published_url_of_server(&self, url: &str) -> ToolResult<Url> {
        Url::parse(url.trim()).map_err(|_| self.no_metadata())
    }

    /// Reads the protected-resource metadata at the named place, or at the well-known ones.
    async fn resource_metadata(
        &self,
        server: &Url,
        challenge: Option<&BearerChallenge>,
    ) -> ToolResult<Option<ResourceMetadata>> {
        let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
        let places = match named {
            Some(place) => vec![self.published_url(place, "a metadata URL")?],
            None => resource_places(server),
        };
        for place in places {
            if self
                .published_url(place.as_str(), "a metadata URL")
                .is_err()
            {
                continue;
            }
            let fetched = self.get(&place).await?;
            if fetched.is_temporary() {
                let place = place.origin().ascii_serialization();
                let status = fetched.status.as_u16();
                return Err(self
                    .errors
                    .temporary(format_args!("{place}: HTTP {status}")));
            }
            if fetched.status.is_success()
                && let Some(metadata) = json::<ResourceMetadata>(&fetched)
            {
                return Ok(Some(metadata));
            }
        }
        Ok(None)
    }

    /// Checks that the metadata is about this server: identical, or the same origin and a path above it.
    fn checked_resource(
        &self,
        metadata: &ResourceMetadata,
        server: &Url,
        written: &str,
    ) -> ToolResult<String> {
        let Some(resource) = &metadata.resource else {
            return Ok(own_resource(written));
        };
        if resource == written || covers(resource, server) {
            return Ok(resource.clone());
        }
        Err(self.errors.unsupported(
            format_args!(
                "publishes login metadata for another resource: `{}` instead of `{}`",
                shown(resource),
                shown(&own_resource(written))
            ),
            "If `url` is not exactly the server's address, correct it. Otherwise report it to the server's authors.",
        ))
    }

    /// Reads the metadata of an issuer, which must contain `expected` byte for byte.
    async fn server_metadata(&self, issuer: &str, expected: &str) -> ToolResult<ServerMetadata> {
        let url = self.published_url(issuer, "an authorization server")?;
        let mut other = None;
        for place in server_places(&url) {
            let fetched = self.get(&place).await?;
            if fetched.is_temporary() {
                let place = place.origin().ascii_serialization();
                let status = fetched.status.as_u16();
                return Err(self
                    .errors
                    .temporary(format_args!("{place}: HTTP {status}")));
            }
            let metadata = fetched.status.is_success().then(|| json(&fetched));
            let Some(metadata): Option<ServerMetadata> = metadata.flatten() else {
                continue;
            };
            match metadata.issuer.as_deref() {
                Some(named) if named == expected => return Ok(metadata),
                named => other = Some(named.unwrap_or_default().to_owned()),
            }
        }
        Err(match other {
            Some(named) => self.errors.unsupported(
                format_args!(
                    "names the authorization server `{}`, whose metadata says `{}`",
                    shown(expected),
                    shown(&named)
                ),
                "If both belong together, set `issuer` in the server's `oauth` table to the second value. Report it to the server's authors.",
            ),
            None => self.errors.unsupported(
                format_args!("names the authorization server `{}`, which publishes no metadata", shown(issuer)),
                "Set a `bearer` for the server, or report it to its authors.",
            ),
        })
    }

    /// The user names the issuer: its document counts, wherever it is.
    async fn overridden(&self, issuer: &str, named: &[String]) -> ToolResult<ServerMetadata> {
        let mut last = None;
        let places = std::iter::once(issuer).chain(named.iter().map(String::as_str));
        for place in places.take(1 + MAX_SERVERS) {
            match self.server_metadata(place, issuer).await {
                Ok(metadata) => return Ok(metadata),
                Err(error) => last = last.or(Some(error)),
            }
        }
        Err(last.unwrap_or_else(|| self.no_metadata()))
    }

    /// Metadata at the server's own origin, or the default paths.
    async fn own_server(
        &self,
        server: &Url,
        resource: String,
        scopes: Option<Vec<String>>,
    ) -> ToolResult<Discovered> {
        let origin = server.origin().ascii_serialization();
        let root = self.published_url(&origin, "an authorization server")?;
        for issuer in [origin.clone(), format!("{origin}/")] {
            match self.server_metadata(&origin, &issuer).await {
                Ok(metadata) => {
                    return Ok(Discovered {
                        resource,
                        scopes,
                        issuer,
                        metadata,
                        is_assumed: false,
                    });
                }
                Err(error) => unless_temporary::<()>(error)?,
            };
        }
        let endpoint = |path: &str| root.join(path).ok().map(String::from);
        let metadata = ServerMetadata {
            issuer: Some(origin.clone()),
            authorization_endpoint: endpoint("/authorize"),
            token_endpoint: endpoint("/token"),
            registration_endpoint: endpoint("/register"),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..ServerMetadata::default()
        };
        Ok(Discovered {
            resource,
            scopes,
            issuer: origin,
            metadata,
            is_assumed: true,
        })
    }

    pub(crate) fn no_metadata(&self) -> pegboard_model::ToolError {
        self.errors.unsupported(
            "wants a login, but publishes nothing about it",
            "Set a `bearer` for the server, or the keys of its `oauth` table.",
        )
    }
}

impl Discovered {
    /// The scopes to request: configured, else those of the challenge, else those that the server publishes.
    pub(crate) fn scopes_for(
        &self,
        settings: &OAuthSettings,
        challenge: Option<&BearerChallenge>,
    ) -> Vec<String> {
        let challenged = challenge.and_then(|challenge| challenge.scope.as_deref());
        let mut scopes = match (&settings.scopes, challenged, &self.scopes) {
            (Some(configured), ..) => return configured.clone(),
            (None, Some(challenged), _) => split_scopes(challenged),
            (None, None, Some(published)) => split_scopes(&published.join(" ")),
            (None, None, None) => Vec::new(),
        };
        // Only if it is listed: elsewhere an unknown scope fails the whole login.
        const OFFLINE: &str = "offline_access";
        if self.metadata.lists_scope(OFFLINE) && !scopes.iter().any(|scope| scope == OFFLINE) {
            scopes.push(OFFLINE.to_owned());
        }
        scopes
    }
}

/// Our URL as the resource: without query and fragment, and without an added slash.
fn own_resource(written: &str) -> String {
    let written = written.trim();
    let end = written.find(['?', '#']).unwrap_or(written.len());
    let resource = written.get(..end).unwrap_or(written);
    // Credentials before `@` are not part of the resource.
    match Url::parse(resource) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        }
        _ => resource.to_owned(),
    }
}

/// Whether a resource has the same origin as the server and a path above it, on a segment border.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let above = resource.path().trim_end_matches('/');
    resource.origin() == server.origin()
        && resource.query().is_none()
        && server
            .path()
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn resource_places(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut paths = vec![format!("{RESOURCE_PATH}{path}")];
    if !path.is_empty() {
        paths.push(RESOURCE_PATH.to_owned());
    }
    at_paths(server, &paths)
}

fn server_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("{OAUTH_PATH}{path}"),
        format!("{OPENID_PATH}{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}{OPENID_PATH}"));
    }
    at_paths(issuer, &paths)
}

fn at_paths(url: &Url, paths: &[String]) -> Vec<Url> {
    let place = |path: &String| {
        let mut url = url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(path);
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url
    };
    paths.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(urls: Vec<Url>) -> Vec<String> {
        urls.into_iter().map(String::from).collect()
    }

    #[test]
    fn r_auth_01_every_well_known_form_is_tried_in_order() {
        let url = |text: &str| Url::parse(text).unwrap();
        assert_eq!(
            texts(resource_places(&url("https://a/x/mcp?k=1"))),
            [
                "https://a/.well-known/oauth-protected-resource/x/mcp",
                "https://a/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(resource_places(&url("https://a/"))),
            ["https://a/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            texts(server_places(&url("https://a/t1"))),
            [
                "https://a/.well-known/oauth-authorization-server/t1",
                "https://a/.well-known/openid-configuration/t1",
                "https://a/t1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(server_places(&url("https://a"))),
            [
                "https://a/.well-known/oauth-authorization-server",
                "https://a/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn r_auth_04_a_resource_covers_only_its_own_origin_and_path() {
        let server = Url::parse("https://a.example/x/mcp").unwrap();
        for (resource, expected) in [
            ("https://a.example/x/mcp", true),
            ("https://a.example/x/mcp/", true),
            ("https://a.example/x", true),
            ("https://a.example", true),
            ("https://a.example/x/m", false),
            ("https://a.example/x/mcp/deeper", false),
            ("https://a.example.evil/x/mcp", false),
            ("http://a.example/x/mcp", false),
            ("https://a.example:444/x/mcp", false),
            ("urn:x", false),
        ] {
            assert_eq!(covers(resource, &server), expected, "{resource}");
        }
    }

    #[test]
    fn r_auth_01_our_own_resource_gets_no_slash_and_loses_its_query() {
        assert_eq!(own_resource("https://a.example"), "https://a.example");
        assert_eq!(
            own_resource("https://a.example/mcp?key=1#x"),
            "https://a.example/mcp"
        );
        assert_eq!(
            own_resource("https://u:p@a.example/mcp"),
            "https://a.example/mcp"
        );
    }
}

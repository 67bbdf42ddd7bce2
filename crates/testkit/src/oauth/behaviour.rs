//! The table of behaviours: one field for each thing in which real servers differ. The default follows the
//! specification.

use std::time::Duration;

use super::clients::{Client, RedirectRule};
use super::fault::FaultRule;

/// Everything that can be chosen about both servers.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// The authorization server has the origin of the MCP server, as in the revision 2025-03-26.
    pub same_origin: bool,
    /// The protected MCP server.
    pub resource: Resource,
    /// The authorization server's metadata.
    pub metadata: Metadata,
    /// Clients and how they are made known.
    pub registration: Registration,
    /// The authorize endpoint.
    pub authorize: Authorize,
    /// The token endpoint.
    pub tokens: Tokens,
    /// Faults of single endpoints. The first rule that matches is applied.
    pub faults: Vec<FaultRule>,
}

/// The protected MCP server.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The path of the MCP endpoint.
    pub path: String,
    /// Only `tools/call` needs a token, as at Google.
    pub only_calls: bool,
    /// How a request without a valid token is refused.
    pub refusal: Refusal,
    /// The `WWW-Authenticate` header of a 401.
    pub challenge: Challenge,
    /// The `scope` of the challenge.
    pub challenge_scope: Option<String>,
    /// Replaces the URL of the metadata in the challenge.
    pub challenge_metadata_url: Option<String>,
    /// Where the protected-resource metadata is.
    pub prm: PrmLocation,
    /// Its `resource`.
    pub form: ResourceForm,
    /// Its `authorization_servers`; the issuer if `None`.
    pub authorization_servers: Option<Vec<String>>,
    /// Its `scopes_supported`.
    pub scopes: Option<Vec<String>>,
    /// Tools that need a scope beyond those of the token, with that scope: 403 `insufficient_scope`.
    pub step_up: Vec<(String, String)>,
    /// Tools that the account may not use: a 403 without a challenge.
    pub forbidden: Vec<String>,
    /// A token that was issued for another resource is accepted.
    pub accepts_any_audience: bool,
}

impl Default for Resource {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            only_calls: false,
            refusal: Refusal::Unauthorized,
            challenge: Challenge::Quoted,
            challenge_scope: None,
            challenge_metadata_url: None,
            prm: PrmLocation::WithPath,
            form: ResourceForm::Exact,
            authorization_servers: None,
            scopes: None,
            step_up: Vec::new(),
            forbidden: Vec::new(),
            accepts_any_audience: false,
        }
    }
}

/// How a request without a valid token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 401 with a challenge.
    Unauthorized,
    /// 403 with the challenge.
    Forbidden,
    /// 404 without one.
    NotFound,
    /// HTTP 200 with a JSON-RPC error that says so.
    ErrorInOk,
    /// HTTP 200 with a tool result that is an error and says so.
    ToolErrorInOk,
}

/// The form of the `WWW-Authenticate` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// `Bearer resource_metadata="…", scope="…"`.
    Quoted,
    /// The same without quotes where the grammar allows it, `BEARER` in capitals.
    Unquoted,
    /// Two challenges in one header, with a quoted comma before ours.
    Several,
    /// Two headers, ours second.
    TwoHeaders,
    /// `Bearer` alone.
    Bare,
    /// No header.
    Missing,
    /// Text that is not a challenge.
    Malformed,
}

/// Where the protected-resource metadata is. Other places answer 404.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrmLocation {
    /// `/.well-known/oauth-protected-resource/PATH`.
    WithPath,
    /// `/.well-known/oauth-protected-resource`.
    Root,
    /// This path, which only the challenge names.
    Custom(String),
    /// Nowhere, and the challenge does not name it.
    Nowhere,
}

/// The `resource` of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceForm {
    /// The URL of the MCP endpoint.
    Exact,
    /// Its origin without a slash, as at Slack.
    BareOrigin,
    /// The URL with a slash at its end, as at GitHub.
    TrailingSlash,
    /// A part of the last segment, which is no prefix on a segment border.
    PartOfSegment,
    /// Another path of the same origin.
    OtherPath,
    /// This text.
    Text(String),
    /// No `resource`.
    Missing,
}

/// The authorization server's metadata.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// The path of the issuer, such as `/tenant`.
    pub issuer_path: String,
    /// The well-known location of the document.
    pub at: Location,
    /// The `issuer` in the document.
    pub issuer: IssuerForm,
    /// The issuer has a slash at its end in the protected-resource metadata, as FastMCP writes it.
    pub slash_in_prm: bool,
    /// `code_challenge_methods_supported`.
    pub pkce_methods: Option<Vec<String>>,
    /// `scopes_supported`.
    pub scopes: Option<Vec<String>>,
    /// `token_endpoint_auth_methods_supported`.
    pub auth_methods: Option<Vec<String>>,
    /// `authorization_response_iss_parameter_supported`.
    pub iss_parameter: Option<bool>,
    /// `client_id_metadata_document_supported`.
    pub cimd: bool,
    /// Endpoints that the document gives in place of the real ones; an empty text leaves the member out.
    pub endpoints: Vec<(super::Route, String)>,
    /// Whether the device grant is advertised.
    pub device: bool,
    /// Whether revocation is advertised.
    pub revocation: bool,
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            issuer_path: String::new(),
            at: Location::OAuth,
            issuer: IssuerForm::Exact,
            slash_in_prm: false,
            pkce_methods: Some(vec!["S256".to_owned()]),
            scopes: None,
            auth_methods: Some(words(&[
                "none",
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ])),
            iss_parameter: Some(true),
            cimd: false,
            endpoints: Vec::new(),
            device: false,
            revocation: true,
        }
    }
}

/// The well-known location of the authorization server's metadata. P is the path of the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// `/.well-known/oauth-authorization-server/P`.
    OAuth,
    /// `/.well-known/openid-configuration/P`.
    OpenId,
    /// `P/.well-known/openid-configuration`.
    OpenIdAppended,
    /// Nowhere.
    Nowhere,
}

/// The `issuer` of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerForm {
    /// The same text as in the protected-resource metadata.
    Exact,
    /// With a slash that the protected-resource metadata lacks, or the other way around.
    OtherSlash,
    /// Without its path, as at Atlassian.
    WithoutPath,
    /// This text.
    Text(String),
}

/// Clients and how they are made known.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Whether the metadata has a registration endpoint.
    pub offered: bool,
    /// The method that a registered client gets.
    pub method: RegisteredMethod,
    /// The answer has an empty secret.
    pub empty_secret: bool,
    /// `client_secret_expires_at`, in seconds from the registration.
    pub secret_lifetime: Option<Duration>,
    /// The answer has a `registration_access_token`.
    pub access_token: bool,
    /// Only clients with one of these names are registered, as at Figma; others get 403.
    pub names: Option<Vec<String>>,
    /// How redirect URIs are compared.
    pub redirects: RedirectRule,
    /// Clients that a person registered before.
    pub configured: Vec<Client>,
    /// Any client id is known, with any redirect URI; for the honest side of a mix-up.
    pub accepts_unknown: bool,
}

impl Default for Registration {
    fn default() -> Self {
        Self {
            offered: true,
            method: RegisteredMethod::AsAsked,
            empty_secret: false,
            secret_lifetime: None,
            access_token: false,
            names: None,
            redirects: RedirectRule::Exact,
            configured: Vec::new(),
            accepts_unknown: false,
        }
    }
}

/// The method that a registered client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisteredMethod {
    /// What the request names; `client_secret_basic` if it names none.
    AsAsked,
    /// This one, whatever was asked for.
    Fixed(super::AuthMethod),
}

/// The authorize endpoint.
#[derive(Clone, Debug, Default)]
pub struct Authorize {
    /// What is sent back.
    pub answer: CodeAnswer,
    /// The `iss` of the answer.
    pub iss: IssAnswer,
    /// A request without `scope` is refused, as at Slack.
    pub scope_required: bool,
    /// A request with `resource` is refused, as by Entra.
    pub refuses_resource: bool,
    /// The granted scopes in place of the asked ones.
    pub granted: Option<String>,
}

/// What the authorize endpoint sends back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeAnswer {
    /// A code with the state of the request.
    #[default]
    Code,
    /// An error such as `access_denied`, with a description.
    Error(String, String),
    /// A page without a redirect, as for a client that is not known any more.
    Nothing,
    /// A code with another state.
    WrongState,
    /// A code without a state.
    NoState,
    /// A code that was issued for another attempt, with the right state.
    ForeignCode,
    /// A redirect to this URL in place of the client's.
    Elsewhere(String),
}

/// The `iss` of an authorization response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IssAnswer {
    /// The issuer of the metadata.
    #[default]
    Right,
    /// None.
    Absent,
    /// With a slash more or less.
    OtherSlash,
    /// This text.
    Text(String),
}

/// The token endpoint.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The lifetime of an access token.
    pub lifetime: Duration,
    /// What the answer says about it.
    pub expires_in: ExpiresIn,
    /// What happens to refresh tokens.
    pub rotation: Rotation,
    /// How long a rotated refresh token is still accepted.
    pub grace: Duration,
    /// The access token is a JWT with `exp` and `aud`.
    pub jwt: bool,
    /// The answer has the granted `scope`.
    pub says_scope: bool,
    /// The resource that tokens are issued for, in place of the one that was asked for.
    pub audience: Option<String>,
    /// Answers are forms unless the request accepts JSON, as at GitHub.
    pub form_bodies: bool,
    /// Errors come with HTTP 200, as at GitHub.
    pub errors_with_ok: bool,
    /// The error code for a dead refresh token.
    pub dead_refresh_error: String,
    /// The text of errors.
    pub error_description: String,
    /// `token_type` of the answer; left out if empty.
    pub token_type: String,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(3600),
            expires_in: ExpiresIn::Lifetime,
            rotation: Rotation::Rotate,
            grace: Duration::ZERO,
            jwt: false,
            says_scope: true,
            audience: None,
            form_bodies: false,
            errors_with_ok: false,
            dead_refresh_error: "invalid_grant".to_owned(),
            error_description: "refused by the test server".to_owned(),
            token_type: "Bearer".to_owned(),
        }
    }
}

/// The `expires_in` of a token answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpiresIn {
    /// The lifetime.
    Lifetime,
    /// None, as at Notion.
    Absent,
    /// The lifetime as a text.
    Text,
    /// This value.
    Value(serde_json::Value),
}

/// What happens to refresh tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Each refresh issues a new one; the use of an old one revokes the grant.
    Rotate,
    /// A refresh issues a new one; the use of an old one is refused, and nothing else happens.
    RotateLeniently,
    /// The first one stays, and answers to refreshes have none.
    Keep,
    /// None is issued.
    None,
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

//! The endpoints of both servers.

/// An endpoint, as requests are counted and faults are chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// The MCP endpoint.
    Mcp,
    /// Every place where protected-resource metadata may be.
    ResourceMetadata,
    /// Every place where the authorization server's metadata may be.
    ServerMetadata,
    /// `/register`.
    Register,
    /// `/authorize`.
    Authorize,
    /// `/token`.
    Token,
    /// `/revoke`.
    Revoke,
    /// `/device`.
    Device,
    /// The page where a person enters the code of a device.
    DeviceApproval,
    /// Anything else.
    Other,
}

impl Route {
    /// The endpoints of the authorization server with their paths and the member of the metadata that names them.
    pub(super) const ENDPOINTS: [(Self, &'static str, &'static str); 6] = [
        (Self::Authorize, "/authorize", "authorization_endpoint"),
        (Self::Token, "/token", "token_endpoint"),
        (Self::Register, "/register", "registration_endpoint"),
        (Self::Revoke, "/revoke", "revocation_endpoint"),
        (Self::Device, "/device", "device_authorization_endpoint"),
        (Self::DeviceApproval, "/device/approve", ""),
    ];

    /// The path of an endpoint of the authorization server below its issuer.
    pub(super) fn path(self) -> &'static str {
        Self::ENDPOINTS
            .iter()
            .find(|(route, ..)| *route == self)
            .map_or("/", |(_, path, _)| path)
    }

    /// The endpoint of a path.
    pub(super) fn of(path: &str, mcp: &str, issuer_path: &str) -> Self {
        if path == mcp {
            return Self::Mcp;
        }
        if path.contains("/.well-known/oauth-protected-resource") {
            return Self::ResourceMetadata;
        }
        if path.contains("/.well-known/oauth-authorization-server")
            || path.contains("/.well-known/openid-configuration")
        {
            return Self::ServerMetadata;
        }
        let below = path.strip_prefix(issuer_path).unwrap_or(path);
        Self::ENDPOINTS
            .iter()
            .find(|(_, known, _)| *known == below)
            .map_or(Self::Other, |(route, ..)| *route)
    }
}

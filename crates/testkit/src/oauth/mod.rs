//! An authorization server and a protected MCP server in one process, for tests of logins.
//!
//! [`OAuthServer::start`] takes a [`Behaviour`], which is a table of everything that real servers do differently; its
//! default is a server that follows the specification. [`hostile`] has the forms of an attacker. The authorize endpoint
//! approves by itself, so that one GET plays the browser and the person ([`browse`]).
//!
//! Time is the system's plus what [`OAuthServer::advance`] added, so that tokens expire on demand.

mod actions;
mod authorize;
mod behaviour;
mod browser;
mod client_auth;
mod clients;
mod device;
mod fault;
pub mod hostile;
mod listen;
mod mcp;
mod metadata;
mod partner;
mod register;
mod reply;
mod resource;
mod revoke;
mod route;
mod seen;
mod state;
mod token;

use std::sync::Arc;

pub use behaviour::{
    Authorize, Behaviour, Challenge, CodeAnswer, ExpiresIn, IssAnswer, IssuerForm, Location,
    Metadata, PrmLocation, Refusal, RegisteredMethod, Registration, Resource, ResourceForm,
    Rotation, Tokens,
};
pub use browser::{Page, browse, get, post_form, send};
pub use clients::{AuthMethod, Client, RedirectRule};
pub use fault::{Fault, FaultRule};
pub use partner::{Partner, PartnerServer};
pub use route::Route;
pub use seen::SeenRequest;

use listen::Listening;
use state::Shared;

/// A running authorization server and its protected MCP server. Both end with this value.
pub struct OAuthServer {
    shared: Arc<Shared>,
    _listening: Listening,
}

impl OAuthServer {
    /// Starts both servers on free ports.
    ///
    /// # Panics
    /// If they do not start.
    pub fn start(behaviour: Behaviour) -> Self {
        let (shared, listening) = listen::start(behaviour);
        Self {
            shared,
            _listening: listening,
        }
    }

    /// The URL of the protected MCP server.
    pub fn mcp_url(&self) -> String {
        self.shared.mcp_url()
    }

    /// The issuer, as the authorization server's metadata is found by.
    pub fn issuer(&self) -> String {
        self.shared.issuer()
    }

    /// The URL of an endpoint of the authorization server.
    pub fn endpoint(&self, route: Route) -> String {
        self.shared.endpoint(route)
    }

    /// A spec for the protected MCP server.
    pub fn spec(&self, name: &str) -> pegboard_model::ServerSpec {
        crate::http_spec(name, self.mcp_url())
    }
}

//! Security schemes of the OpenAPI description.

use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};

/// Adds the bearer tokens to the description.
pub(super) struct BearerTokens;

impl Modify for BearerTokens {
    fn modify(&self, document: &mut OpenApi) {
        let token = |text: &str| {
            let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
            SecurityScheme::Http(scheme.description(Some(text)).build())
        };
        let components = document.components.get_or_insert_with(Default::default);
        components.add_security_scheme("call", token("Reads and calls tools: `pegboard token`."));
        components.add_security_scheme(
            "admin",
            token("Also changes servers, policies and grants: `pegboard token --admin`."),
        );
        let none: [&str; 0] = [];
        document.security = Some(vec![
            SecurityRequirement::new("call", none),
            SecurityRequirement::new("admin", none),
        ]);
    }
}

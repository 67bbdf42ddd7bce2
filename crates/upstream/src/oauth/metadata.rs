//! What a server and its authorization server publish (RFC 9728, RFC 8414, OpenID Connect Discovery).

use serde::{Deserialize, Deserializer, Serialize};

/// The most entries that are read of any list.
const MAX_ENTRIES: usize = 64;
/// The longest text that is read.
const MAX_TEXT: usize = 4 * 1024;

/// Protected-resource metadata.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    #[serde(default, deserialize_with = "text")]
    pub(crate) resource: Option<String>,
    #[serde(default, deserialize_with = "list")]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default, deserialize_with = "optional_list")]
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// Authorization-server metadata. It is stored with the login, so that a refresh goes to the server of the login.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerMetadata {
    #[serde(default, deserialize_with = "text")]
    pub(crate) issuer: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) authorization_endpoint: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) token_endpoint: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) registration_endpoint: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) revocation_endpoint: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub(crate) device_authorization_endpoint: Option<String>,
    #[serde(default, deserialize_with = "optional_list")]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "optional_list")]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "optional_list")]
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "flag")]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    #[serde(default, deserialize_with = "flag")]
    pub(crate) client_id_metadata_document_supported: bool,
}

impl ServerMetadata {
    /// Whether PKCE with S256 is advertised.
    pub(crate) fn advertises_pkce(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref();
        methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }

    /// Whether the server lists a scope.
    pub(crate) fn lists_scope(&self, scope: &str) -> bool {
        let scopes = self.scopes_supported.as_deref();
        scopes.is_some_and(|scopes| scopes.iter().any(|known| known == scope))
    }
}

/// A value of the wrong type counts as absent: one bad member must not spoil the document.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value
        .as_str()
        .filter(|text| text.len() <= MAX_TEXT)
        .map(str::to_owned))
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_bool().unwrap_or(false))
}

fn optional_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_array().map(|items| {
        let items = items.iter().filter_map(|item| item.as_str());
        let items = items.filter(|item| item.len() <= MAX_TEXT);
        items.take(MAX_ENTRIES).map(str::to_owned).collect()
    }))
}

fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    optional_list(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_auth_01_a_member_of_the_wrong_type_counts_as_absent() {
        let read: ServerMetadata = serde_json::from_str(
            r#"{"issuer":7,"token_endpoint":"https://a/t","scopes_supported":["a",1,"b"],
                "code_challenge_methods_supported":"S256","authorization_response_iss_parameter_supported":"yes"}"#,
        )
        .unwrap();
        assert_eq!(read.issuer, None);
        assert_eq!(read.token_endpoint.as_deref(), Some("https://a/t"));
        assert_eq!(read.scopes_supported.unwrap(), ["a", "b"]);
        assert_eq!(read.code_challenge_methods_supported, None);
        assert!(!read.authorization_response_iss_parameter_supported);
    }
}

//! Keys of `_meta` that the protocol defines.

/// The prefix of all keys that the modern protocol defines.
pub const PREFIX: &str = "io.modelcontextprotocol/";
/// The revision of a modern request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The name and version of the client.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The capabilities of the client.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The name and version of the server.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The level of log messages that a modern request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The id of the `subscriptions/listen` request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The token under which a request asks for progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";

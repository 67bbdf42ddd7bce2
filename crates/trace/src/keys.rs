//! Attribute names. The OpenTelemetry conventions for MCP and generative AI are not stable yet, so the names are our own
//! constants rather than those of a crate.

pub(crate) const METHOD: &str = "mcp.method.name";
pub(crate) const PROTOCOL: &str = "mcp.protocol.version";
pub(crate) const SESSION: &str = "mcp.session.id";
pub(crate) const TRANSPORT: &str = "network.transport";
pub(crate) const PROTOCOL_NAME: &str = "network.protocol.name";
pub(crate) const ERROR: &str = "error.type";
pub(crate) const RPC_STATUS: &str = "rpc.response.status_code";

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const PROMPT: &str = "gen_ai.prompt.name";
pub(crate) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const AGENT: &str = "gen_ai.agent.name";
pub(crate) const MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(crate) const FINISH: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const QUERY: &str = "gen_ai.retrieval.query.text";

/// Prefix of our own attributes. Langfuse shows the rest of the name as metadata.
pub(crate) const OWN: &str = "pegboard.";
pub(crate) const SERVER: &str = "pegboard.server";
pub(crate) const EXPOSED: &str = "pegboard.tool";
pub(crate) const TOOL_COUNT: &str = "pegboard.tool_count";
pub(crate) const TOOL_NAMES: &str = "pegboard.tool_names";
pub(crate) const DURATION: &str = "pegboard.duration_ms";
pub(crate) const CACHE: &str = "pegboard.cache";
pub(crate) const CACHE_HITS: &str = "pegboard.cache_hits";
pub(crate) const CACHE_MISSES: &str = "pegboard.cache_misses";
pub(crate) const OUTCOME: &str = "pegboard.outcome";
pub(crate) const STARTED: &str = "pegboard.server_started";
pub(crate) const FOUND: &str = "pegboard.found";
pub(crate) const DECISION: &str = "pegboard.decision";
pub(crate) const RULE: &str = "pegboard.rule";
pub(crate) const TURNS: &str = "pegboard.turns";
pub(crate) const CALLS: &str = "pegboard.calls";
/// Camel case like the metadata of other agents' traces, so that the same filters match.
pub(crate) const MCP_SERVERS: &str = "pegboard.mcpServers";
pub(crate) const NEEDS_DISCOVERY: &str = "pegboard.needsDiscovery";

//! Limits on everything that a server or a client can fill.

use std::time::Duration;

/// All limits. The sizes are based on measurements of 15,000 public tools, with a margin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one stdout line, one SSE event or one HTTP body that carries a list or a handshake.
    pub frame_bytes: usize,
    /// The same for the result of a call, which may contain an image or a file.
    pub result_bytes: usize,
    /// Bytes of large HTTP responses of one server that may be in flight at the same time.
    pub response_bytes_per_server: usize,
    /// The same for all servers together.
    pub response_bytes: usize,
    /// Nesting depth of any JSON that is parsed; it bounds the parser's stack.
    pub json_depth: usize,
    /// Nesting depth of a tool's schema; the deepest one measured has 18 levels.
    pub schema_depth: usize,
    /// Bytes of one schema; the largest one measured has 53 kB.
    pub schema_bytes: usize,
    /// Values in one schema; the largest one measured has 2,210.
    pub schema_nodes: usize,
    /// Bytes of one complete tool definition.
    pub tool_bytes: usize,
    /// Bytes of a description that are stored; the longest one measured has 19 kB.
    pub description_bytes: usize,
    /// Tools of one server; the largest list measured has 253.
    pub tools_per_server: usize,
    /// Entries of each list of prompts, resources or resource templates of a server.
    pub offers_per_list: usize,
    /// Bytes of a prompt name, resource URI or URI template.
    pub offer_key_bytes: usize,
    /// Resources that one session may subscribe to at the same time.
    pub subscriptions_per_session: usize,
    /// Resources of one server that all sessions together may subscribe to at the same time.
    pub subscriptions_per_server: usize,
    /// Unlisted resources that one session may read because a result linked to them.
    pub resource_links_per_session: usize,
    /// The same for all sessions together; the oldest are dropped first.
    pub resource_links: usize,
    /// Number of pages of one list.
    pub pages_per_list: usize,
    /// Bytes of one pagination cursor.
    pub cursor_bytes: usize,
    /// Bytes of all pages of one list together.
    pub list_bytes: usize,
    /// Bytes of a server's stderr that are kept.
    pub stderr_bytes: usize,
    /// Burst of stdout lines that are not protocol messages before the server is stopped.
    pub stdout_noise_lines: u64,
    /// How many such lines per second are tolerated. A server that logs to stdout for weeks stays below; one that
    /// floods stdout does not.
    pub stdout_noise_rate: u64,
    /// Messages of one server per second that are read as they arrive. Above this rate they are read one pipe buffer at
    /// a time with short pauses, which costs a fraction of the CPU time.
    pub messages_per_second: u64,
    /// Log and progress notifications that one call may relay to its client; more are dropped and counted.
    pub relayed_per_call: u64,
    /// The same per second, also for log messages between calls.
    pub relayed_per_second: u64,
    /// Bytes of all such notifications of one call.
    pub relayed_bytes_per_call: usize,
    /// Concurrent calls to one server.
    pub calls_per_server: usize,
    /// Calls queued for one server.
    pub queued_calls_per_server: usize,
    /// Concurrent calls of one session to one server; fewer than `calls_per_server`, so that other sessions can always
    /// call.
    pub calls_per_session: usize,
    /// Calls of one session that are queued for one server.
    pub queued_calls_per_session: usize,
    /// Instances of one server for single sessions.
    pub session_instances_per_server: usize,
    /// Running instances of all servers in a pool.
    pub server_instances: usize,
    /// Views that share one instance of a server.
    pub leases_per_instance: usize,
    /// Concurrent discoveries.
    pub concurrent_discoveries: usize,
    /// Minimum interval between two refreshes caused by a server's `list_changed` notifications.
    pub list_changed_interval: Duration,
    /// Maximum TTL that a server's cache hint can set.
    pub max_ttl: Duration,
    /// Bytes of a server's error text that are kept.
    pub error_text_bytes: usize,
    /// Bytes of a server's instructions that are kept.
    pub instructions_bytes: usize,
    /// Bytes of a config file.
    pub config_bytes: u64,
    /// Values in one config file.
    pub config_values: usize,
    /// Problems of one config file that are reported individually; further ones are counted.
    pub config_problems: usize,
    /// Servers in all config files together.
    pub servers: usize,
    /// Bytes of one value after resolving `${…}`.
    pub value_bytes: usize,
    /// Bytes of one message of a client; enough for arguments that contain a file.
    pub request_bytes: usize,
    /// Bytes of large messages of all HTTP clients that are in memory at the same time.
    pub request_bytes_in_flight: usize,
    /// Concurrent requests of one stdio client; further ones wait.
    pub requests_per_client: usize,
    /// Messages in one batch of a client.
    pub batch_messages: usize,
    /// Connections of HTTP clients; each costs a few kilobytes.
    pub http_connections: usize,
    /// Bytes of the head of an HTTP request, including all headers.
    pub http_head_bytes: usize,
    /// Timeout for the complete head of the next request on a connection; longer than clients keep idle connections.
    pub http_head_time: Duration,
    /// Timeout for the head of the first request on a new connection.
    pub http_first_head_time: Duration,
    /// Timeout for a pause in the body of an HTTP request.
    pub http_body_time: Duration,
    /// Bytes buffered for a client that does not read.
    pub unread_bytes: usize,
    /// Bytes of sent events that a stream keeps for a client that reconnects.
    pub replay_bytes: usize,
    /// Finished streams that a session keeps for a client that reconnects.
    pub replay_streams: usize,
    /// Requests of one legacy session that continue after their connection was lost; the oldest is cancelled first.
    pub abandoned_requests_per_session: usize,
    /// The same for all sessions together; fewer than `calls_per_server`, so that other clients can always call.
    pub abandoned_requests: usize,
    /// How long such a request waits for its client to reconnect.
    pub abandoned_request_time: Duration,
    /// Sessions whose streams are kept for clients that reconnect.
    pub replay_sessions: usize,
    /// Legacy sessions in memory; an evicted one is recreated from its id.
    pub sessions: usize,
    /// Calls that wait for input from their clients; each may keep a server running.
    pub parked_calls: usize,
    /// Bytes of all results that are stored for `read_result`.
    pub stored_results_bytes: usize,
    /// Pending approvals of all processes that share a store.
    pub waiting_approvals: usize,
    /// Bytes of a call's arguments that can be shown for approval.
    pub shown_argument_bytes: usize,
    /// Approvals for sessions that are kept in memory.
    pub session_grants: usize,
    /// Entries of the activity log that are kept.
    pub activity_rows: usize,
    /// Entries of the activity log that wait to be written; more are dropped and counted.
    pub activity_queue: usize,
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 16 * MIB,
            result_bytes: 32 * MIB,
            response_bytes_per_server: 128 * MIB,
            response_bytes: 256 * MIB,
            json_depth: 128,
            schema_depth: 32,
            schema_bytes: 128 * KIB,
            schema_nodes: 10_000,
            tool_bytes: 256 * KIB,
            description_bytes: 32 * KIB,
            tools_per_server: 2_000,
            offers_per_list: 10_000,
            offer_key_bytes: 8 * KIB,
            subscriptions_per_session: 1_000,
            subscriptions_per_server: 10_000,
            resource_links_per_session: 256,
            resource_links: 4_096,
            pages_per_list: 200,
            cursor_bytes: 64 * KIB,
            list_bytes: 64 * MIB,
            stderr_bytes: 64 * KIB,
            stdout_noise_lines: 10_000,
            stdout_noise_rate: 100,
            messages_per_second: 1_000,
            relayed_per_call: 10_000,
            relayed_per_second: 1_000,
            relayed_bytes_per_call: 8 * MIB,
            calls_per_server: 64,
            queued_calls_per_server: 256,
            calls_per_session: 48,
            queued_calls_per_session: 192,
            session_instances_per_server: 32,
            server_instances: 1_024,
            leases_per_instance: 1_024,
            concurrent_discoveries: 64,
            list_changed_interval: Duration::from_secs(5),
            max_ttl: Duration::from_secs(24 * 3600),
            error_text_bytes: 2 * KIB,
            instructions_bytes: 32 * KIB,
            config_bytes: 8 * MIB as u64,
            config_values: 100_000,
            config_problems: 100,
            servers: 5_000,
            value_bytes: 128 * KIB,
            request_bytes: 4 * MIB,
            request_bytes_in_flight: 128 * MIB,
            requests_per_client: 256,
            batch_messages: 100,
            http_connections: 1_024,
            http_head_bytes: 64 * KIB,
            http_head_time: Duration::from_secs(75),
            http_first_head_time: Duration::from_secs(10),
            http_body_time: Duration::from_secs(30),
            unread_bytes: 8 * MIB,
            replay_bytes: 256 * KIB,
            replay_streams: 16,
            abandoned_requests_per_session: 8,
            abandoned_requests: 32,
            abandoned_request_time: Duration::from_secs(30),
            replay_sessions: 1_024,
            sessions: 10_000,
            parked_calls: 256,
            stored_results_bytes: 64 * MIB,
            waiting_approvals: 256,
            shown_argument_bytes: 256 * KIB,
            session_grants: 10_000,
            activity_rows: 50_000,
            activity_queue: 4_096,
        }
    }
}

//! Every limit on what a server or a client can fill, with the reason for its value.

use std::time::Duration;

/// The limits in force. Sizes come from measurements over 15,000 public tools, with room to spare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One line on stdout, one SSE event or one HTTP body that carries a list or a handshake.
    pub frame_bytes: usize,
    /// The same for the result of a call, which may hold an image or a file.
    pub result_bytes: usize,
    /// Bytes of large answers by HTTP that one server may have on their way at once.
    pub response_bytes_per_server: usize,
    /// The same of all servers together.
    pub response_bytes: usize,
    /// Nesting of any JSON that is looked into; the parser's own stack stays small.
    pub json_depth: usize,
    /// Nesting of a tool's schema; the deepest real one has 18 levels.
    pub schema_depth: usize,
    /// Bytes of one schema; the largest real one has 53 kB.
    pub schema_bytes: usize,
    /// Values in one schema; the largest real one has 2,210.
    pub schema_nodes: usize,
    /// Bytes of one whole tool definition, schema and description together.
    pub tool_bytes: usize,
    /// Bytes of a description that are kept; the longest real one has 19 kB.
    pub description_bytes: usize,
    /// Tools of one server; the largest real list has 253.
    pub tools_per_server: usize,
    /// Entries of each of a server's other lists: prompts, resources, templates.
    pub offers_per_list: usize,
    /// Bytes of a prompt's name, a resource's uri or a uri template.
    pub offer_key_bytes: usize,
    /// Resources that one session may watch at once.
    pub subscriptions_per_session: usize,
    /// Resources of one server that all sessions together may watch at once.
    pub subscriptions_per_server: usize,
    /// Resources named in results that one session may read without a list that names them.
    pub resource_links_per_session: usize,
    /// The same for all sessions together; the oldest are forgotten first.
    pub resource_links: usize,
    /// Pages of one list.
    pub pages_per_list: usize,
    /// Bytes of one cursor.
    pub cursor_bytes: usize,
    /// All pages of one list together.
    pub list_bytes: usize,
    /// What is kept of a server's stderr.
    pub stderr_bytes: usize,
    /// Lines on stdout that are not protocol, at once, before the server is given up.
    pub stdout_noise_lines: u64,
    /// How many such lines per second are forgiven: a server that logs to stdout for weeks is slower than this,
    /// and one that only makes noise is quicker.
    pub stdout_noise_rate: u64,
    /// Messages of one server per second that are read as they come. Beyond that they are read a pipe at a time with
    /// short pauses, which costs a fraction of the processor time.
    pub messages_per_second: u64,
    /// Log and progress notifications that one call may pass on to its client; more are dropped and counted.
    pub relayed_per_call: u64,
    /// The same per second, also for log messages between calls.
    pub relayed_per_second: u64,
    /// Bytes of all such notifications of one call.
    pub relayed_bytes_per_call: usize,
    /// Calls in flight to one server.
    pub calls_per_server: usize,
    /// Calls waiting for one server.
    pub queued_calls_per_server: usize,
    /// Discoveries side by side.
    pub concurrent_discoveries: usize,
    /// Shortest time between two refreshes that a server asks for by `list_changed`.
    pub list_changed_interval: Duration,
    /// Longest time that a server's own cache hint is honoured.
    pub max_ttl: Duration,
    /// Longest text of a server's error that is kept.
    pub error_text_bytes: usize,
    /// Longest instructions of a server that are kept.
    pub instructions_bytes: usize,
    /// A config file.
    pub config_bytes: u64,
    /// Values in one config file.
    pub config_values: usize,
    /// Problems of one config file that are reported one by one; the others are only counted.
    pub config_problems: usize,
    /// Servers in all config files together.
    pub servers: usize,
    /// One value after `${…}` was resolved.
    pub value_bytes: usize,
    /// One message of a client; enough for arguments that hold a file.
    pub request_bytes: usize,
    /// Bytes of large messages of all HTTP clients that are in memory at once.
    pub request_bytes_in_flight: usize,
    /// Requests of one stdio client in flight; what comes after them waits.
    pub requests_per_client: usize,
    /// Messages in one batch of a client.
    pub batch_messages: usize,
    /// Connections of HTTP clients; each costs a few kilobytes.
    pub http_connections: usize,
    /// The head of an HTTP request, with all its headers.
    pub http_head_bytes: usize,
    /// How long a connection may wait for the whole head of its next request; longer than clients keep
    /// idle connections.
    pub http_head_time: Duration,
    /// How long a new connection may take to send the head of its first request.
    pub http_first_head_time: Duration,
    /// How long the body of an HTTP request may pause.
    pub http_body_time: Duration,
    /// Bytes that wait for a client which does not read.
    pub unread_bytes: usize,
    /// Bytes of sent events that a stream keeps for a client that comes back.
    pub replay_bytes: usize,
    /// Ended streams that a session keeps for a client that comes back.
    pub replay_streams: usize,
    /// Requests of one legacy session that go on although their connections are gone; the oldest gives way.
    pub abandoned_requests_per_session: usize,
    /// The same of all sessions together; fewer than a server's places, so that other clients always find some.
    pub abandoned_requests: usize,
    /// How long such a request waits for its client to come back and read on.
    pub abandoned_request_time: Duration,
    /// Sessions whose streams are kept for clients that come back.
    pub replay_sessions: usize,
    /// Legacy sessions in memory; one that is left out is made again from its id.
    pub sessions: usize,
    /// Calls that wait for their clients to come back with answers; each may hold a server.
    pub parked_calls: usize,
    /// All results together that are kept aside for reading on.
    pub stored_results_bytes: usize,
    /// Calls that wait for a person at once, among all processes that share a store.
    pub waiting_approvals: usize,
    /// Bytes of a call's arguments that a person is shown.
    pub shown_argument_bytes: usize,
    /// Consents for a session that are remembered at once.
    pub session_grants: usize,
    /// Lines of activity that are kept.
    pub activity_rows: usize,
    /// Lines of activity that wait to be written; more are dropped and counted.
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

//! The table of error codes. Each has a page under `docs/errors/`.

use serde::{Deserialize, Serialize};

use crate::ErrorClass;

macro_rules! reasons {
    ($($variant:ident $code:literal $class:ident $retry:ident exit $exit:literal
        $title:literal, $remedy:literal $(, model $model:expr)?;)*) => {
        /// The specific reason of an error; more detailed than its [`ErrorClass`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $title] #[serde(rename = $code)] $variant,)*
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable code in upper case.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The coarse error class.
            pub fn class(self) -> ErrorClass {
                match self { $(Self::$variant => ErrorClass::$class,)* }
            }

            /// Whether the same request may succeed later without changes.
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => reasons!(@ $retry),)* }
            }

            /// The exit code of a command that ends with this reason.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }

            /// A one-sentence description of the error.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// The default remedy for a person, used if nothing more specific is known.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }

            /// The default remedy for a model, which can call meta tools or inform the user but cannot run commands.
            pub(crate) fn remedy_for_model(self) -> &'static str {
                match self { $(Self::$variant => reasons!(@model $remedy $(, $model)?),)* }
            }
        }
    };
    (@ retry) => { true };
    (@ final) => { false };
    (@model $remedy:literal) => { $remedy };
    (@model $remedy:literal, $model:expr) => { $model };
}

const CORRECT_CONFIG: &str =
    "Do not retry; tell the user that Pegboard's configuration must be fixed.";
const CORRECT_CLIENT: &str =
    "Do not retry; tell the user that the client's connection to Pegboard must be fixed.";
const SERVER_FAILS: &str = "Use another tool, or tell the user that server `SERVER` does not work.";
const SERVER_FAILS_NOW: &str =
    "Try again once; if it fails again, tell the user that server `SERVER` does not work.";
const ALLOW_TOOL: &str =
    "Do not retry; ask the user to allow `TOOL` in Pegboard's dashboard or policy.";
const STATE_BROKEN: &str = "Tell the user that Pegboard's state folder has a problem.";

reasons! {
    ConfigParse "CONFIG_PARSE" InvalidInput final exit 2
        "A config file is not valid TOML, YAML or JSON.",
        "Fix the marked line, then run `pegboard config check`.",
        model CORRECT_CONFIG;
    ConfigInvalid "CONFIG_INVALID" InvalidInput final exit 2
        "A value in a config file is invalid for its key.",
        "Write the value as the message shows; `pegboard config schema` lists every key.",
        model CORRECT_CONFIG;
    ConfigUnknownKey "CONFIG_UNKNOWN_KEY" InvalidInput final exit 2
        "A config file has an unknown key.",
        "Correct or remove the key; `pegboard config schema` lists every key.",
        model CORRECT_CONFIG;
    ConfigName "CONFIG_NAME" InvalidInput final exit 2
        "A server name is not snake_case, is too long, or conflicts with another.",
        "Rename the server as the message shows.";
    ConfigNameReserved "CONFIG_NAME_RESERVED" InvalidInput final exit 2
        "A server has a reserved name.",
        "Rename the server as the message shows.";
    ConfigDuplicate "CONFIG_DUPLICATE" InvalidInput final exit 2
        "A file defines the same server or key twice.",
        "Remove one of the two definitions that the message names.";
    ConfigSecretMissing "CONFIG_SECRET_MISSING" InvalidInput final exit 2
        "The config refers to a variable or secret that does not exist.",
        "Set the variable, give a default as `${NAME:-value}`, or run `pegboard secret set NAME`.",
        model CORRECT_CONFIG;
    ConfigPermission "CONFIG_PERMISSION" InvalidInput final exit 2
        "A config file can be changed by other users.",
        "Run `chmod go-w` on the file, or take ownership with `chown`.";
    ConfigChanged "CONFIG_CHANGED" Denied final exit 6
        "The definition of a trusted server changed.",
        "Review the new definition with `pegboard trust` and trust it again.",
        model CORRECT_CONFIG;
    ConfigIo "CONFIG_IO" InvalidInput final exit 2
        "A config file could not be read or written.",
        "Check that the file exists and that you can read and write it.";
    ConfigTooLarge "CONFIG_TOO_LARGE" InvalidInput final exit 2
        "A config file or value is larger than allowed.",
        "Split the file, or move large values out of it.";
    SupplyUnpinned "SUPPLY_UNPINNED" InvalidInput final exit 0
        "A package runner starts a server without a pinned version.",
        "Pin the version, as in `npx -y some-server@1.2.3`, `uvx some-server@1.2.3` or `docker run some/image:1.2.3`.";
    SecretWritten "SECRET_WRITTEN" InvalidInput final exit 0
        "The arguments of a server contain a secret.",
        "Store it with `pegboard secret set NAME` and write `${secret:NAME}` instead.",
        model CORRECT_CONFIG;
    ServerUnknown "SERVER_UNKNOWN" InvalidInput final exit 7
        "No configured server has this name.",
        "List the servers with `pegboard list`.",
        model "List the servers with list_available_tools.";
    ServerDisabled "SERVER_DISABLED" Denied final exit 6
        "The server is disabled.",
        "Enable it with `pegboard enable SERVER`.",
        model "Do not retry; ask the user to enable server `SERVER`.";
    ServerPending "SERVER_PENDING" Denied final exit 6
        "A project file defines this server and you have not trusted it yet.",
        "Review its command and trust it with `pegboard trust SERVER`.",
        model "Do not retry; ask the user to review and trust server `SERVER` in Pegboard.";
    ToolUnknown "TOOL_UNKNOWN" InvalidInput final exit 7
        "No tool has this name.",
        "Find it with `pegboard search WORDS`, or refresh its server.",
        model "Find the tool with search_tools.";
    ToolAmbiguous "TOOL_AMBIGUOUS" InvalidInput final exit 2
        "Several servers have a tool of this name.",
        "Write the name as `server/tool`.";
    ToolNameInvalid "TOOL_NAME_INVALID" InvalidInput final exit 2
        "This is not a valid tool name.",
        "Write `server/tool`, `server__tool` or a bare tool name.";
    PromptUnknown "PROMPT_UNKNOWN" InvalidInput final exit 7
        "No prompt has this name, or several servers have one.",
        "Write the name as `server__prompt`, as the list of prompts shows it.";
    ResourceUnknown "RESOURCE_UNKNOWN" InvalidInput final exit 7
        "No server has this resource, or several servers do.",
        "Write the uri as the list of resources shows it: `pegboard://SERVER/URI`.";
    ToolDisabled "TOOL_DISABLED" Denied final exit 6
        "The tool is disabled by configuration.",
        "Remove the tool's `disable` policy or `enabled = false`.",
        model "Do not retry; ask the user to enable `TOOL` in Pegboard's policy.";
    ToolNotReadOnly "TOOL_NOT_READ_ONLY" Denied final exit 6
        "The read-only call was used for a tool that its server does not mark as read-only.",
        "Run it with `call_tool`.";
    PolicyDenied "POLICY_DENIED" Denied final exit 6
        "A policy forbids this call.",
        "Change the policy that the message names if the call should be allowed.",
        model ALLOW_TOOL;
    ApprovalRefused "APPROVAL_REFUSED" Denied final exit 6
        "The user refused this call.",
        "Do not retry; ask the user.";
    ApprovalTimeout "APPROVAL_TIMEOUT" Denied retry exit 6
        "This call needed approval and got no response in time.",
        "Watch `pegboard approvals`, then call again.",
        model "Ask the user to answer in Pegboard's dashboard or to allow `TOOL` in its policy, then call again.";
    ApprovalUnanswered "APPROVAL_UNANSWERED" Denied final exit 6
        "This call needs approval, and the client dismissed the prompt without a response.",
        "Allow it with `pegboard policy set TOOL allow`, or answer in `pegboard approvals`.",
        model ALLOW_TOOL;
    ToolChanged "TOOL_CHANGED" Denied retry exit 6
        "The tool is not the version that was allowed.",
        "Call it again to request approval of the new version.";
    ReviewPending "REVIEW_PENDING" Denied final exit 6
        "The tool, prompt or resource awaits a review.",
        "Look at it with `pegboard review`, then accept or reject it.",
        model "Use another tool, or ask the user to review `TOOL` in Pegboard.";
    ReviewUnknown "REVIEW_UNKNOWN" InvalidInput final exit 7
        "No definition of this name and version has a review.",
        "List reviews with `pegboard review`, and decide about the version that is shown now.",
        model "Ask the user to review the version that Pegboard shows now.";
    ApprovalTooLong "APPROVAL_TOO_LONG" Denied final exit 6
        "This call needs approval, and its arguments are too long to be shown completely.",
        "Send shorter arguments, for example in several calls; only what is shown completely can be approved.";
    ApprovalUnknown "APPROVAL_UNKNOWN" InvalidInput final exit 7
        "No pending approval has this id.",
        "List pending approvals with `pegboard approvals`; they expire after a while.",
        model "Call the tool again.";
    ArgsInvalid "ARGS_INVALID" InvalidInput final exit 2
        "The arguments do not match the tool's schema.",
        "Correct the named field; `pegboard describe TOOL` shows what the tool takes.",
        model "Correct the named field; get_tool_description shows what the tool takes.";
    SpawnNotFound "SPAWN_NOT_FOUND" Unavailable final exit 3
        "The server's command was not found.",
        "Install the program, or set the server's `command` to a program in PATH or to an absolute path.";
    SpawnDenied "SPAWN_DENIED" Unavailable final exit 3
        "The server's command is not executable.",
        "Make the file executable, or correct `command`.";
    SpawnResource "SPAWN_RESOURCE" Unavailable retry exit 3
        "The system could not start another process.",
        "Close other programs or raise the limits on processes and open files, then try again.";
    SpawnFailed "SPAWN_FAILED" Unavailable final exit 3
        "The server's process could not be started.",
        "Check `command`, `args` and `cwd` of the server.";
    SandboxUnsupported "SANDBOX_UNSUPPORTED" Unavailable final exit 3
        "The system cannot confine the server as its `sandbox` requires.",
        "Set `sandbox = \"default\"` to confine it as far as possible; `pegboard show SERVER` says what is missing.",
        model SERVER_FAILS;
    SandboxLimit "SANDBOX_LIMIT" Unavailable retry exit 3
        "The server used more memory or processes than its `sandbox` allows and was stopped.",
        "Raise `memory` or `processes` in the server's `sandbox`, or request less.",
        model "Request less; if it fails again, tell the user that server `SERVER` exceeds its limits.";
    SupplyChanged "SUPPLY_CHANGED" Denied final exit 6
        "The package of a pinned server is not the one that was recorded.",
        "See the difference with `pegboard pin SERVER --check`; do not start the server before you know the reason.",
        model "Do not retry; tell the user that the package of server `SERVER` changed.";
    ConnectFailed "CONNECT_FAILED" Unavailable retry exit 3
        "Could not connect to the server.",
        "Check the url and the network, then try again.";
    ConnectTimeout "CONNECT_TIMEOUT" Unavailable retry exit 3
        "The server did not accept a connection in time.",
        "Check the url, or raise `connect_timeout`.";
    TlsFailed "TLS_FAILED" Unavailable final exit 3
        "The server's certificate was not accepted.",
        "Fix the server's certificate, or the host name in the url.";
    LoginNeeded "LOGIN_NEEDED" Unavailable final exit 4
        "The server requires a login.",
        "Log in with `pegboard login SERVER`, or set a valid `bearer` or header.",
        model "Do not retry; ask the user to log in to server `SERVER` in Pegboard's dashboard or on the command line.";
    LoginLost "LOGIN_LOST" Unavailable final exit 4
        "The login to the server ended.",
        "Log in again with `pegboard login SERVER`.",
        model "Do not retry; ask the user to log in to server `SERVER` again in Pegboard's dashboard or on the command line.";
    RightsNeeded "RIGHTS_NEEDED" Unavailable final exit 4
        "The login to the server does not include the rights that the call needs.",
        "Log in with these rights with `pegboard login SERVER`.",
        model "Do not retry; ask the user to log in to server `SERVER` with more rights, in Pegboard's dashboard or on the command line.";
    AccessForbidden "ACCESS_FORBIDDEN" Unavailable final exit 4
        "The server refuses access, and another login would not change that.",
        "Use an account that has the right, or ask the server's administrator for it.",
        model "Do not retry; tell the user that the account used for server `SERVER` may not do this.";
    LoginFailed "LOGIN_FAILED" Unavailable final exit 4
        "A login to a server did not succeed.",
        "Start the login again with `pegboard login SERVER`.",
        model "Do not retry; ask the user to log in to server `SERVER`.";
    LoginUnsupported "LOGIN_UNSUPPORTED" Unavailable final exit 4
        "The server requires a login, but what it publishes about it cannot be used.",
        "Set a `bearer` for the server, or the keys of its `oauth` table that the message names.",
        model "Do not retry; tell the user that the login of server `SERVER` must be configured.";
    HttpStatus "HTTP_STATUS" Unavailable retry exit 3
        "The server responded with an HTTP error.",
        "Check the url; `pegboard doctor SERVER` shows the response.",
        model SERVER_FAILS_NOW;
    HttpProtocol "HTTP_PROTOCOL" Unavailable final exit 3
        "The url responds, but not as an MCP server.",
        "Check that the url is the server's MCP endpoint.";
    HttpBodyTooLarge "HTTP_BODY_TOO_LARGE" Unavailable final exit 3
        "The server's response is larger than allowed.",
        "Request less data, or report it to the server's authors.";
    HttpRedirectRefused "HTTP_REDIRECT_REFUSED" Unavailable final exit 3
        "The server redirects to another address.",
        "Set `url` to the final address if you trust it.";
    VersionUnsupported "VERSION_UNSUPPORTED" Unavailable final exit 3
        "The server supports no protocol revision that Pegboard supports.",
        "Update the server, or Pegboard.";
    HandshakeFailed "HANDSHAKE_FAILED" Unavailable final exit 3
        "The server rejected the handshake.",
        "See `pegboard logs SERVER`, and check the server's credentials and arguments.",
        model SERVER_FAILS;
    DiscoveryTimeout "DISCOVERY_TIMEOUT" Unavailable retry exit 3
        "The server did not list its tools in time.",
        "Raise `discovery_timeout`, or run `pegboard doctor SERVER`.",
        model SERVER_FAILS_NOW;
    DiscoveryFailed "DISCOVERY_FAILED" Unavailable retry exit 3
        "The server did not return a valid list of tools.",
        "Run `pegboard doctor SERVER` and see `pegboard logs SERVER`.",
        model SERVER_FAILS_NOW;
    PaginationLoop "PAGINATION_LOOP" Unavailable final exit 3
        "The server's tool list never ends.",
        "Report it to the server's authors.";
    ListTooLarge "LIST_TOO_LARGE" Unavailable final exit 3
        "The server's list of tools is larger than allowed.",
        "Configure the server to expose fewer tools.";
    FrameTooLarge "FRAME_TOO_LARGE" Unavailable final exit 3
        "The server sent a message larger than allowed.",
        "Request less data, or report it to the server's authors.";
    FrameInvalid "FRAME_INVALID" Unavailable final exit 3
        "The server sent a message that is not valid JSON-RPC.",
        "Report it to the server's authors.";
    StdoutPollution "STDOUT_POLLUTION" Unavailable final exit 3
        "The server writes text other than protocol messages to standard output.",
        "Configure the server to log to standard error.";
    ServerExited "SERVER_EXITED" Unavailable retry exit 3
        "The server process exited.",
        "See the cause with `pegboard logs SERVER`.",
        model SERVER_FAILS_NOW;
    ServerBackoff "SERVER_BACKOFF" Unavailable retry exit 3
        "The server failed several times in a row and is not retried for a while.",
        "Wait, or see the cause with `pegboard logs SERVER`; `pegboard refresh SERVER --force` retries now.",
        model "Wait before retrying, use another tool, or tell the user that server `SERVER` does not work.";
    Overloaded "OVERLOADED" Unavailable retry exit 3
        "Too many calls are queued for this server.",
        "Try again when some of them have finished.";
    InputExpired "INPUT_EXPIRED" InvalidInput final exit 2
        "The call that asked for this input is no longer waiting.",
        "Make the call again from the beginning, without `requestState`.";
    InputRefused "INPUT_REFUSED" Denied final exit 6
        "A server sent the client a request that Pegboard does not forward.",
        "The server should request secrets in url mode; see also `elicitation` and `sampling` of SERVER in the configuration.";
    ResultGone "RESULT_GONE" InvalidInput final exit 2
        "The stored result has expired.",
        "Call the tool again; results are stored for half an hour, and the oldest are dropped first.";
    CallTimeout "CALL_TIMEOUT" Unavailable retry exit 3
        "The tool did not respond in time.",
        "Raise the server's `call_timeout`, or request less.";
    Cancelled "CANCELLED" ExecutionFailed retry exit 1
        "The request was cancelled before it finished.",
        "Repeat the request if it is still needed.";
    ServerError "SERVER_ERROR" ExecutionFailed final exit 5
        "The server responded to the call with a protocol error.",
        "Read the server's message; `pegboard logs SERVER` may show more.",
        model "Read the server's message and correct the call.";
    ToolFailed "TOOL_FAILED" ExecutionFailed final exit 5
        "The tool ran and reported a failure.",
        "Read the tool's message and correct the call.";
    HandlerMissing "HANDLER_MISSING" NotImplemented final exit 1
        "The tool is registered without a handler.",
        "Register a handler for the tool in the host program.";
    ToolRejectedName "TOOL_REJECTED_NAME" InvalidInput final exit 1
        "A tool's name is missing or too long.",
        "Report it to the server's authors; its other tools work.";
    ToolDuplicate "TOOL_DUPLICATE" InvalidInput final exit 1
        "Two tools of a server have the same name; the first one is used.",
        "Report it to the server's authors; its other tools work.";
    ToolMalformed "TOOL_MALFORMED" InvalidInput final exit 1
        "A tool's definition has fields of the wrong type.",
        "Report it to the server's authors; its other tools work.";
    ToolTooLarge "TOOL_TOO_LARGE" InvalidInput final exit 1
        "A tool's definition is larger than allowed.",
        "Report it to the server's authors; its other tools work.";
    NameReserved "NAME_RESERVED" InvalidInput final exit 1
        "A tool of the host program has the same name and takes precedence.",
        "Rename the server or the host program's tool.";
    SchemaInvalid "SCHEMA_INVALID" InvalidInput final exit 1
        "A tool's schema is not a JSON Schema of an object.",
        "Report it to the server's authors; its other tools work.";
    SchemaTooDeep "SCHEMA_TOO_DEEP" InvalidInput final exit 1
        "A tool's schema is nested deeper than allowed.",
        "Report it to the server's authors; its other tools work.";
    SchemaTooLarge "SCHEMA_TOO_LARGE" InvalidInput final exit 1
        "A tool's schema is larger than allowed.",
        "Report it to the server's authors; its other tools work.";
    SchemaExternalRef "SCHEMA_EXTERNAL_REF" InvalidInput final exit 1
        "A tool's schema refers to another document; Pegboard never fetches schemas.",
        "Report it to the server's authors; its other tools work.";
    SchemaHeader "SCHEMA_HEADER" InvalidInput final exit 1
        "A tool's `x-mcp-header` annotation is invalid.",
        "Report it to the server's authors; its other tools work.";
    SchemaOutputMismatch "SCHEMA_OUTPUT_MISMATCH" ExecutionFailed final exit 0
        "A tool's result does not match its output schema; the result was delivered.",
        "Report it to the server's authors.";
    CacheCorrupt "CACHE_CORRUPT" ExecutionFailed final exit 1
        "The store was damaged; it was set aside and is being rebuilt.",
        "Run `pegboard refresh --all`; the old file can be deleted.",
        model STATE_BROKEN;
    CacheUntrusted "CACHE_UNTRUSTED" ExecutionFailed final exit 1
        "A stored entry was modified by another program and is ignored.",
        "Run `pegboard refresh SERVER`.",
        model STATE_BROKEN;
    StoreTooNew "STORE_TOO_NEW" ExecutionFailed final exit 1
        "The store was written by a newer Pegboard.",
        "Update Pegboard, or point `PEGBOARD_STATE_DIR` elsewhere.";
    StoreIo "STORE_IO" ExecutionFailed retry exit 1
        "The store could not be read or written.",
        "Check the free space and permissions of the state folder (`pegboard config path`).",
        model STATE_BROKEN;
    ProfileUnknown "PROFILE_UNKNOWN" InvalidInput final exit 7
        "No configured profile has this name.",
        "Use one of the listed names, or add `[profiles.NAME]` to a config file.";
    AddressInUse "ADDRESS_IN_USE" InvalidInput final exit 2
        "Another program already listens on this address.",
        "Choose another port with `--port`, or stop the other program.",
        model CORRECT_CONFIG;
    HostRefused "HOST_REFUSED" Denied final exit 6
        "The `Host` header of a request is not allowed.",
        "Use the address that `pegboard up` printed, or allow the name with `--allow-host` or `allow_hosts`.",
        model CORRECT_CLIENT;
    OriginRefused "ORIGIN_REFUSED" Denied final exit 6
        "Requests from this `Origin` are not allowed.",
        "Add the origin to `allow_origins` in the settings if you trust it.";
    TokenWrong "TOKEN_WRONG" Denied final exit 6
        "The token is missing or wrong.",
        "Send `Authorization: Bearer TOKEN`; `pegboard token` prints the token.",
        model CORRECT_CLIENT;
    AdminNeeded "ADMIN_NEEDED" Denied final exit 6
        "This operation requires the admin token.",
        "Send the token that `pegboard token --admin` prints, or log in with `pegboard dashboard`.",
        model CORRECT_CLIENT;
    RequestForged "REQUEST_FORGED" Denied final exit 6
        "The request comes from a logged-in browser but not from a page of Pegboard.",
        "Reload the page and try again; programs should send a token instead of a cookie.";
    LoginExpired "LOGIN_EXPIRED" Denied final exit 6
        "The login code is invalid, expired or already used.",
        "Get a new one with `pegboard dashboard`.",
        model CORRECT_CLIENT;
    PathUnknown "PATH_UNKNOWN" InvalidInput final exit 7
        "This path does not exist.",
        "MCP clients connect to `/mcp` or `/mcp/PROFILE`; `/api/v1/openapi.json` lists the paths of the API.";
    MethodRefused "METHOD_REFUSED" InvalidInput final exit 2
        "The path does not support this HTTP method.",
        "Use a method that `/api/v1/openapi.json` lists for the path.";
    RequestInvalid "REQUEST_INVALID" InvalidInput final exit 2
        "The API request is invalid.",
        "Fix the named field; `/api/v1/openapi.json` describes every request.";
    RequestTooLarge "REQUEST_TOO_LARGE" InvalidInput final exit 2
        "The request body is larger than allowed.",
        "Send a smaller request.";
    RequestLate "REQUEST_LATE" Unavailable retry exit 3
        "The request body did not arrive in time.",
        "Send the complete request again.";
    MediaTypeRefused "MEDIA_TYPE_REFUSED" InvalidInput final exit 2
        "The request body is not declared as JSON.",
        "Send `Content-Type: application/json`.";
    ProjectUnknown "PROJECT_UNKNOWN" InvalidInput final exit 7
        "No project has this id.",
        "List the ids with `GET /api/v1/projects`.";
    ClientUnknown "CLIENT_UNKNOWN" InvalidInput final exit 7
        "No client has this key.",
        "List the keys with `GET /api/v1/clients` or `pegboard connect --status`.",
        model "Ask the user which client is meant.";
    PlanChanged "PLAN_CHANGED" InvalidInput final exit 2
        "The change is not the one that was reviewed.",
        "Get a new plan, review it, and send its `planHash`.";
    SessionUnknown "SESSION_UNKNOWN" InvalidInput final exit 7
        "No connected session has this id.",
        "List the ids with `GET /api/v1/sessions`.";
    RuleUnknown "RULE_UNKNOWN" InvalidInput final exit 7
        "The file has no such policy rule.",
        "List the rules with `pegboard policy list` or `GET /api/v1/policies`.",
        model CORRECT_CONFIG;
    GrantUnknown "GRANT_UNKNOWN" InvalidInput final exit 7
        "This tool has no grant.",
        "List the grants with `pegboard policy grants` or `GET /api/v1/grants`.",
        model CORRECT_CONFIG;
    NotRunning "NOT_RUNNING" Unavailable final exit 3
        "Pegboard is not running.",
        "Start one with `pegboard up`.",
        model "Tell the user that Pegboard is not running.";
    ProcessEnded "PROCESS_ENDED" Unavailable retry exit 3
        "The Pegboard process that clients share ended before it answered.",
        "A call may have had its effect already: check before you send it again.",
        model "A call may have had its effect already: check before you send it again.";
    ProcessUnresponsive "PROCESS_UNRESPONSIVE" Unavailable retry exit 3
        "The background process does not respond.",
        "End it with `pegboard stop`; clients start another one.",
        model "Tell the user that the background process of Pegboard does not respond.";
    InstanceUnknown "INSTANCE_UNKNOWN" InvalidInput final exit 7
        "No running instance of a server has this id.",
        "List the running instances to see their ids (`GET /api/v1/process`).";
    ServiceManagerMissing "SERVICE_MANAGER_MISSING" Unavailable final exit 3
        "The service manager of this user is not running.",
        "Log in to a session with systemd, or use Pegboard without a service: clients start it when they need it.";
    ServiceFileForeign "SERVICE_FILE_FOREIGN" InvalidInput final exit 2
        "A file of the service was written or changed by someone else.",
        "Move the file away, then run the command again.";
    ModelRefused "MODEL_REFUSED" InvalidInput final exit 2
        "The model provider rejected the request.",
        "Read the provider's message; check the model name and the account's limits.";
    ModelUnavailable "MODEL_UNAVAILABLE" Unavailable retry exit 3
        "The model provider is overloaded or its response was cut off, even after a retry.",
        "Try again later, or with another model.";
    BudgetSpent "BUDGET_SPENT" ExecutionFailed final exit 1
        "The agent reached a limit before it finished.",
        "Raise the limit that the message names, or give a smaller task.";
    Internal "INTERNAL" ExecutionFailed final exit 1
        "Internal error.",
        "Report it with the command and the message.";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_gate_05_no_remedy_for_models_names_a_command() {
        for reason in Reason::ALL {
            let remedy = reason.remedy_for_model();
            let is_command = crate::error::names_command(remedy) || remedy.contains("--");
            assert!(!is_command, "{reason}: {remedy}");
        }
    }

    #[test]
    fn r_reg_05_every_code_is_unique_and_has_a_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let mut seen = std::collections::BTreeSet::new();
        for reason in Reason::ALL {
            assert!(seen.insert(reason.code()), "duplicate code {reason}");
            let page = format!("{folder}/{reason}.md");
            let text =
                std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("{page} is missing"));
            assert!(
                text.starts_with(&format!("# {reason}\n")),
                "{page} has another title"
            );
        }
        for page in std::fs::read_dir(folder).unwrap() {
            let name = page.unwrap().file_name().into_string().unwrap();
            let code = name.trim_end_matches(".md");
            assert!(
                code == "README" || seen.contains(code),
                "{name} belongs to no code"
            );
        }
    }
}

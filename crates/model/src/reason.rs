//! The one table of error codes. Each has a page under `docs/errors/`.

use serde::{Deserialize, Serialize};

use crate::ErrorClass;

macro_rules! reasons {
    ($($variant:ident $code:literal $class:ident $retry:ident exit $exit:literal
        $title:literal, $remedy:literal $(, model $model:expr)?;)*) => {
        /// Why something did not work, finer than its [`ErrorClass`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $title] #[serde(rename = $code)] $variant,)*
        }

        impl Reason {
            /// Every reason there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable code, in capitals.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The class that programs act on.
            pub fn class(self) -> ErrorClass {
                match self { $(Self::$variant => ErrorClass::$class,)* }
            }

            /// Whether the same request may succeed later without any change.
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => reasons!(@ $retry),)* }
            }

            /// The exit code of a command that ends with this reason.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }

            /// What the code means, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// What to do about it when nothing more specific is known, for a person.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }

            /// The same for a model, which cannot run commands: it can call meta tools, or tell the user.
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
    "Do not retry; tell the user that Pegboard's configuration has to be corrected.";
const CORRECT_CLIENT: &str =
    "Do not retry; tell the user that the client's connection to Pegboard has to be corrected.";
const SERVER_FAILS: &str = "Use another tool, or tell the user that server `SERVER` does not work.";
const SERVER_FAILS_NOW: &str =
    "Try again once; if it fails again, tell the user that server `SERVER` does not work.";
const ALLOW_TOOL: &str =
    "Do not retry; ask the user to allow `TOOL` in Pegboard's dashboard or policy.";
const STATE_BROKEN: &str = "Tell the user that Pegboard's state folder has a problem.";

reasons! {
    ConfigParse "CONFIG_PARSE" InvalidInput final exit 2
        "A config file is not valid TOML, YAML or JSON.",
        "Mend the marked line; `pegboard config check` reads the file again.",
        model CORRECT_CONFIG;
    ConfigInvalid "CONFIG_INVALID" InvalidInput final exit 2
        "A value in a config file does not fit its key.",
        "Write the value as the message shows; `pegboard config schema` lists every key.",
        model CORRECT_CONFIG;
    ConfigUnknownKey "CONFIG_UNKNOWN_KEY" InvalidInput final exit 2
        "A key in a config file is not known.",
        "Correct or remove the key; `pegboard config schema` lists every key.",
        model CORRECT_CONFIG;
    ConfigName "CONFIG_NAME" InvalidInput final exit 2
        "A server's name is not snake_case, too long, or clashes with another.",
        "Rename the server as the message shows.";
    ConfigNameReserved "CONFIG_NAME_RESERVED" InvalidInput final exit 2
        "A server has a name that Pegboard keeps for itself.",
        "Rename the server as the message shows.";
    ConfigDuplicate "CONFIG_DUPLICATE" InvalidInput final exit 2
        "The same server or key stands twice in one file.",
        "Remove one of the two places that the message names.";
    ConfigSecretMissing "CONFIG_SECRET_MISSING" InvalidInput final exit 2
        "A variable or secret that the config names is not there.",
        "Set the variable, give a default as `${NAME:-value}`, or run `pegboard secret set NAME`.",
        model CORRECT_CONFIG;
    ConfigPermission "CONFIG_PERMISSION" InvalidInput final exit 2
        "A config file can be changed by other users.",
        "Run `chmod go-w` on the file, or take it over with `chown`.";
    ConfigChanged "CONFIG_CHANGED" Denied final exit 6
        "A server that was agreed to has another definition now.",
        "Look at the new command with `pegboard trust` and agree to it again.",
        model CORRECT_CONFIG;
    ConfigIo "CONFIG_IO" InvalidInput final exit 2
        "A config file could not be read or written.",
        "Check that the file is there and that you may read and write it.";
    ConfigTooLarge "CONFIG_TOO_LARGE" InvalidInput final exit 2
        "A config file or value is larger than allowed.",
        "Split the file, or move large values out of it.";
    SupplyUnpinned "SUPPLY_UNPINNED" InvalidInput final exit 0
        "A server is launched by a package runner without a fixed version.",
        "Name the version, as in `npx -y some-server@1.2.3`, `uvx some-server@1.2.3` or `docker run some/image:1.2.3`.";
    SecretWritten "SECRET_WRITTEN" InvalidInput final exit 0
        "A secret is written in the arguments of a server.",
        "Keep it with `pegboard secret set NAME` and write `${secret:NAME}` in its place.",
        model CORRECT_CONFIG;
    ServerUnknown "SERVER_UNKNOWN" InvalidInput final exit 7
        "No server of this name is configured.",
        "See the names with `pegboard list`.",
        model "See the servers with list_available_tools.";
    ServerDisabled "SERVER_DISABLED" Denied final exit 6
        "The server is disabled.",
        "Enable it with `pegboard enable SERVER`.",
        model "Do not retry; ask the user to enable server `SERVER`.";
    ServerPending "SERVER_PENDING" Denied final exit 6
        "A project file brings this server and nobody has agreed to it yet.",
        "Look at its command and agree with `pegboard trust SERVER`.",
        model "Do not retry; ask the user to review and trust server `SERVER` in Pegboard.";
    ToolUnknown "TOOL_UNKNOWN" InvalidInput final exit 7
        "No tool of this name is known.",
        "Find it with `pegboard search WORDS`, or refresh its server.",
        model "Find the tool with search_tools.";
    ToolAmbiguous "TOOL_AMBIGUOUS" InvalidInput final exit 2
        "Several servers have a tool of this name.",
        "Write the name as `server/tool`.";
    ToolNameInvalid "TOOL_NAME_INVALID" InvalidInput final exit 2
        "This is not a tool's name.",
        "Write `server/tool`, `server__tool` or a bare tool name.";
    PromptUnknown "PROMPT_UNKNOWN" InvalidInput final exit 7
        "No prompt of this name is known, or several servers have one.",
        "Write the name as `server__prompt`, as the list of prompts shows it.";
    ResourceUnknown "RESOURCE_UNKNOWN" InvalidInput final exit 7
        "No server is known to have this resource, or several are.",
        "Write the uri as the list of resources shows it: `pegboard://SERVER/URI`.";
    ToolDisabled "TOOL_DISABLED" Denied final exit 6
        "The tool is disabled by configuration.",
        "Remove the `disable` policy of the tool, or its `enabled = false`.",
        model "Do not retry; ask the user to enable `TOOL` in Pegboard's policy.";
    ToolNotReadOnly "TOOL_NOT_READ_ONLY" Denied final exit 6
        "The read-only call was asked to run a tool that its server does not mark as read-only.",
        "Run it with `call_tool`.";
    PolicyDenied "POLICY_DENIED" Denied final exit 6
        "A policy forbids this call.",
        "Change the policy that the message names, if the call is right.",
        model ALLOW_TOOL;
    ApprovalRefused "APPROVAL_REFUSED" Denied final exit 6
        "A person was asked and refused this call.",
        "Do not retry; ask the user.";
    ApprovalTimeout "APPROVAL_TIMEOUT" Denied retry exit 6
        "A person had to agree to this call and nobody answered in time.",
        "Watch `pegboard approvals`, then call again.",
        model "Ask the user to answer in Pegboard's dashboard or to allow `TOOL` in its policy, then call again.";
    ApprovalUnanswered "APPROVAL_UNANSWERED" Denied final exit 6
        "A user has to approve this call, and the client closed the question without an answer.",
        "Allow it with `pegboard policy set TOOL allow`, or answer in `pegboard approvals`.",
        model ALLOW_TOOL;
    ToolChanged "TOOL_CHANGED" Denied retry exit 6
        "The tool is not the version that was allowed.",
        "Call it again; the person is asked about the new version.";
    ApprovalTooLong "APPROVAL_TOO_LONG" Denied final exit 6
        "A person has to approve this call, and its arguments cannot be shown completely.",
        "Send shorter arguments, for example in several calls; only what is shown completely can be approved.";
    ApprovalUnknown "APPROVAL_UNKNOWN" InvalidInput final exit 7
        "No call of this number waits for an answer.",
        "See what waits with `pegboard approvals`; a call waits for a limited time.",
        model "Call the tool again.";
    ArgsInvalid "ARGS_INVALID" InvalidInput final exit 2
        "The arguments do not fit the tool's schema.",
        "Correct the named field; `pegboard describe TOOL` shows what the tool takes.",
        model "Correct the named field; get_tool_description shows what the tool takes.";
    SpawnNotFound "SPAWN_NOT_FOUND" Unavailable final exit 3
        "The server's command was not found.",
        "Install the program, or correct `command` of the server; it is looked for in the folders of PATH.";
    SpawnDenied "SPAWN_DENIED" Unavailable final exit 3
        "The server's command may not be executed.",
        "Make the file executable, or correct `command`.";
    SpawnResource "SPAWN_RESOURCE" Unavailable retry exit 3
        "The system could not start another process now.",
        "Close other programs or raise the limits on processes and open files, then try again.";
    SpawnFailed "SPAWN_FAILED" Unavailable final exit 3
        "The server's process could not be started.",
        "Check `command`, `args` and `cwd` of the server.";
    ConnectFailed "CONNECT_FAILED" Unavailable retry exit 3
        "No connection to the server's address.",
        "Check the url and the network, then try again.";
    ConnectTimeout "CONNECT_TIMEOUT" Unavailable retry exit 3
        "The server did not accept a connection in time.",
        "Check the url, or raise `connect_timeout`.";
    TlsFailed "TLS_FAILED" Unavailable final exit 3
        "The server's certificate was not accepted.",
        "Correct the certificate of the server, or the host name in the url.";
    LoginNeeded "LOGIN_NEEDED" Unavailable final exit 4
        "The server wants a login.",
        "Set a valid `bearer` or header, for example with `pegboard secret set`.",
        model "Do not retry; ask the user to log in to server `SERVER` or to set its key.";
    HttpStatus "HTTP_STATUS" Unavailable retry exit 3
        "The server answered with an HTTP error.",
        "Check the url; `pegboard doctor SERVER` shows the answer.",
        model SERVER_FAILS_NOW;
    HttpProtocol "HTTP_PROTOCOL" Unavailable final exit 3
        "The address answers, but not as an MCP server.",
        "Check that the url is the server's MCP endpoint.";
    HttpBodyTooLarge "HTTP_BODY_TOO_LARGE" Unavailable final exit 3
        "The server's answer is larger than allowed.",
        "Ask the server for less, or report it to its maker.";
    HttpRedirectRefused "HTTP_REDIRECT_REFUSED" Unavailable final exit 3
        "The server redirects to another place.",
        "Write the final address as `url`, if you trust it.";
    VersionUnsupported "VERSION_UNSUPPORTED" Unavailable final exit 3
        "The server speaks no protocol revision that Pegboard knows.",
        "Update the server, or Pegboard.";
    HandshakeFailed "HANDSHAKE_FAILED" Unavailable final exit 3
        "The server refused the opening of the conversation.",
        "See `pegboard logs SERVER`, and check its keys and arguments.",
        model SERVER_FAILS;
    DiscoveryTimeout "DISCOVERY_TIMEOUT" Unavailable retry exit 3
        "The server did not give its tools in time.",
        "Raise `discovery_timeout`, or look at `pegboard doctor SERVER`.",
        model SERVER_FAILS_NOW;
    DiscoveryFailed "DISCOVERY_FAILED" Unavailable retry exit 3
        "The server did not give a usable list of tools.",
        "Look at `pegboard doctor SERVER` and `pegboard logs SERVER`.",
        model SERVER_FAILS_NOW;
    PaginationLoop "PAGINATION_LOOP" Unavailable final exit 3
        "The server's pages of tools never end.",
        "Report it to the server's maker.";
    ListTooLarge "LIST_TOO_LARGE" Unavailable final exit 3
        "The server's list of tools is larger than allowed.",
        "Let the server expose fewer tools.";
    FrameTooLarge "FRAME_TOO_LARGE" Unavailable final exit 3
        "The server wrote a message larger than allowed.",
        "Ask the server for less, or report it to its maker.";
    FrameInvalid "FRAME_INVALID" Unavailable final exit 3
        "The server wrote a message that is not valid JSON-RPC.",
        "Report it to the server's maker.";
    StdoutPollution "STDOUT_POLLUTION" Unavailable final exit 3
        "The server writes text that is not protocol to its standard output.",
        "Make the server log to standard error.";
    ServerExited "SERVER_EXITED" Unavailable retry exit 3
        "The server's process ended.",
        "See why with `pegboard logs SERVER`.",
        model SERVER_FAILS_NOW;
    ServerBackoff "SERVER_BACKOFF" Unavailable retry exit 3
        "The server failed several times in a row and is left alone for a while.",
        "Wait, or see why with `pegboard logs SERVER`; `pegboard refresh SERVER --force` tries at once.",
        model "Wait before another try, use another tool, or tell the user that server `SERVER` does not work.";
    Overloaded "OVERLOADED" Unavailable retry exit 3
        "Too many calls wait for this server.",
        "Try again when some of them have ended.";
    InputExpired "INPUT_EXPIRED" InvalidInput final exit 2
        "The call that asked for this input is no longer waiting.",
        "Make the call again from the beginning, without `requestState`.";
    InputRefused "INPUT_REFUSED" Denied final exit 6
        "A server asked the client for something that Pegboard does not pass on.",
        "Ask the server's maker to request secrets by url mode; or see `elicitation` and `sampling` of SERVER in the configuration.";
    ResultGone "RESULT_GONE" InvalidInput final exit 2
        "The kept result is no longer there.",
        "Call the tool again; results are kept for half an hour, the newest ones first.";
    CallTimeout "CALL_TIMEOUT" Unavailable retry exit 3
        "The tool did not answer in time.",
        "Raise `call_timeout` of the server, or ask for less.";
    Cancelled "CANCELLED" ExecutionFailed retry exit 1
        "The work was cancelled before it ended.",
        "Start it again if it is still wanted.";
    ServerError "SERVER_ERROR" ExecutionFailed final exit 5
        "The server answered the call with a protocol error.",
        "Read the server's message; `pegboard logs SERVER` may tell more.",
        model "Read the server's message and correct the call.";
    ToolFailed "TOOL_FAILED" ExecutionFailed final exit 5
        "The tool ran and said that it failed.",
        "Read the tool's message and correct the call.";
    HandlerMissing "HANDLER_MISSING" NotImplemented final exit 1
        "The tool is described but nothing is there to run it.",
        "Register a handler for the tool in the host program.";
    ToolRejectedName "TOOL_REJECTED_NAME" InvalidInput final exit 1
        "A server offers a tool whose name is missing or too long.",
        "Report it to the server's maker; its other tools work.";
    ToolDuplicate "TOOL_DUPLICATE" InvalidInput final exit 1
        "A server offers two tools of the same name; the first one is kept.",
        "Report it to the server's maker; its other tools work.";
    ToolMalformed "TOOL_MALFORMED" InvalidInput final exit 1
        "A server offers a tool whose definition has fields of the wrong kind.",
        "Report it to the server's maker; its other tools work.";
    ToolTooLarge "TOOL_TOO_LARGE" InvalidInput final exit 1
        "A server offers a tool whose definition is larger than allowed.",
        "Report it to the server's maker; its other tools work.";
    NameReserved "NAME_RESERVED" InvalidInput final exit 1
        "A tool of the host program has the same name, and wins.",
        "Rename the server or the host program's tool.";
    SchemaInvalid "SCHEMA_INVALID" InvalidInput final exit 1
        "A tool's schema is not a JSON Schema of an object.",
        "Report it to the server's maker; its other tools work.";
    SchemaTooDeep "SCHEMA_TOO_DEEP" InvalidInput final exit 1
        "A tool's schema is nested deeper than allowed.",
        "Report it to the server's maker; its other tools work.";
    SchemaTooLarge "SCHEMA_TOO_LARGE" InvalidInput final exit 1
        "A tool's schema is larger than allowed.",
        "Report it to the server's maker; its other tools work.";
    SchemaExternalRef "SCHEMA_EXTERNAL_REF" InvalidInput final exit 1
        "A tool's schema refers to another document, which is never fetched.",
        "Report it to the server's maker; its other tools work.";
    SchemaHeader "SCHEMA_HEADER" InvalidInput final exit 1
        "A tool asks for an illegal HTTP header by `x-mcp-header`.",
        "Report it to the server's maker; its other tools work.";
    SchemaOutputMismatch "SCHEMA_OUTPUT_MISMATCH" ExecutionFailed final exit 0
        "A tool's result does not match its output schema; the result was delivered.",
        "Report it to the server's maker.";
    CacheCorrupt "CACHE_CORRUPT" ExecutionFailed final exit 1
        "The store was damaged; it was set aside and is built again.",
        "Run `pegboard refresh --all`; the old file can be deleted.",
        model STATE_BROKEN;
    CacheUntrusted "CACHE_UNTRUSTED" ExecutionFailed final exit 1
        "An entry of the store was changed by somebody else and is ignored.",
        "Run `pegboard refresh SERVER`.",
        model STATE_BROKEN;
    StoreTooNew "STORE_TOO_NEW" ExecutionFailed final exit 1
        "The store was written by a newer Pegboard.",
        "Update Pegboard, or point `PEGBOARD_STATE_DIR` elsewhere.";
    StoreIo "STORE_IO" ExecutionFailed retry exit 1
        "The store could not be read or written.",
        "Check space and permissions of the state folder (`pegboard config path`).",
        model STATE_BROKEN;
    ProfileUnknown "PROFILE_UNKNOWN" InvalidInput final exit 7
        "No profile of this name is configured.",
        "Use one of the names that the message lists, or add `[profiles.NAME]` to a config file.";
    AddressInUse "ADDRESS_IN_USE" InvalidInput final exit 2
        "Another program listens on this address already.",
        "Choose another port with `--port`, or end the other program.",
        model CORRECT_CONFIG;
    HostRefused "HOST_REFUSED" Denied final exit 6
        "The `Host` of a request is not a name of this Pegboard.",
        "Use the address that `pegboard up` printed, or allow the name with `--allow-host` or `allow_hosts`.",
        model CORRECT_CLIENT;
    OriginRefused "ORIGIN_REFUSED" Denied final exit 6
        "Pages of this `Origin` may not speak to this Pegboard.",
        "Allow the origin with `allow_origins` in the settings, if you trust it.";
    TokenWrong "TOKEN_WRONG" Denied final exit 6
        "The token is missing or wrong.",
        "Send `Authorization: Bearer TOKEN`; `pegboard token` prints the token.",
        model CORRECT_CLIENT;
    AdminNeeded "ADMIN_NEEDED" Denied final exit 6
        "This changes how Pegboard works and needs the admin token.",
        "Send the token that `pegboard token --admin` prints, or log in with `pegboard dashboard`.",
        model CORRECT_CLIENT;
    RequestForged "REQUEST_FORGED" Denied final exit 6
        "A browser is logged in, but it does not prove that one of Pegboard's own pages sent this request.",
        "Reload the page and try again; programs send a token in place of a cookie.";
    LoginExpired "LOGIN_EXPIRED" Denied final exit 6
        "The one-time login was used before, is too old, or is not of this Pegboard.",
        "Get a new one with `pegboard dashboard`.",
        model CORRECT_CLIENT;
    PathUnknown "PATH_UNKNOWN" InvalidInput final exit 7
        "Nothing is at this path.",
        "MCP clients connect to `/mcp` or `/mcp/PROFILE`; `/api/v1/openapi.json` lists the paths of the API.";
    MethodRefused "METHOD_REFUSED" InvalidInput final exit 2
        "The path does not take this HTTP method.",
        "Use a method that `/api/v1/openapi.json` lists for the path.";
    RequestInvalid "REQUEST_INVALID" InvalidInput final exit 2
        "A request to the API is not as it should be.",
        "Correct the named field; `/api/v1/openapi.json` describes every request.";
    RequestTooLarge "REQUEST_TOO_LARGE" InvalidInput final exit 2
        "The body of a request is larger than allowed.",
        "Send less at once.";
    RequestLate "REQUEST_LATE" Unavailable retry exit 3
        "The body of a request did not come in time.",
        "Send the request again, whole.";
    MediaTypeRefused "MEDIA_TYPE_REFUSED" InvalidInput final exit 2
        "The body of a request is not declared as JSON.",
        "Send `Content-Type: application/json`.";
    ProjectUnknown "PROJECT_UNKNOWN" InvalidInput final exit 7
        "No project of this id is known.",
        "See the ids with `GET /api/v1/projects`.";
    SessionUnknown "SESSION_UNKNOWN" InvalidInput final exit 7
        "No session of this id is connected.",
        "See the ids with `GET /api/v1/sessions`.";
    RuleUnknown "RULE_UNKNOWN" InvalidInput final exit 7
        "No such policy rule stands in the file.",
        "See the rules with `pegboard policy list` or `GET /api/v1/policies`.",
        model CORRECT_CONFIG;
    GrantUnknown "GRANT_UNKNOWN" InvalidInput final exit 7
        "This tool was not allowed for good.",
        "See what was with `pegboard policy grants` or `GET /api/v1/grants`.",
        model CORRECT_CONFIG;
    NotRunning "NOT_RUNNING" Unavailable final exit 3
        "No Pegboard runs that could be asked.",
        "Start one with `pegboard up`.",
        model "Tell the user that Pegboard does not run.";
    ModelRefused "MODEL_REFUSED" InvalidInput final exit 2
        "The model's provider does not take the request.",
        "Read the provider's message; check the model's name and the limits of the account.";
    ModelUnavailable "MODEL_UNAVAILABLE" Unavailable retry exit 3
        "The model's provider is overloaded or broke off its answer, also when asked again.",
        "Try again later, or with another model.";
    BudgetSpent "BUDGET_SPENT" ExecutionFailed final exit 1
        "The agent reached one of its limits before it had an answer.",
        "Raise the limit that the message names, or ask for less.";
    Internal "INTERNAL" ExecutionFailed final exit 1
        "Something happened that should not.",
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
            assert!(seen.insert(reason.code()), "{reason} stands twice");
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

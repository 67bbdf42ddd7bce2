//! The meaning classes of words. Rules are written over classes, not over wordings.

/// A set of meaning classes.
pub(super) type Classes = u128;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        classes!(@ 0; $($(#[$doc])* $name),+);
    };
    (@ $at:expr; $(#[$doc:meta])* $name:ident $(, $(#[$rest_doc:meta])* $rest:ident)*) => {
        $(#[$doc])*
        pub(super) const $name: Classes = 1 << ($at);
        classes!(@ $at + 1; $($(#[$rest_doc])* $rest),*);
    };
    (@ $at:expr;) => {};
}

classes! {
    /// `ignore`, `disregard`: setting aside what was said.
    IGNORE,
    /// `previous`, `above`, `all`: which instructions.
    PRIOR,
    /// `instructions`, `rules`, `guidelines`.
    INSTRUCTION,
    /// `obey`, `comply`.
    OBEY,
    /// Words that move data out: `send`, `forward`, `upload`.
    SEND,
    /// Words that only a theft uses: `exfiltrate`, `siphon`.
    EXFILTRATE,
    /// Words that read: `read`, `access`, `collect`.
    READ,
    /// Words that put data somewhere: `include`, `append`, `pass`.
    INCLUDE,
    /// Words that show data: `reveal`, `output`.
    REVEAL,
    /// Words that change or destroy: `replace`, `delete`.
    CHANGE,
    /// Words that run something: `call`, `execute`.
    RUN,
    /// `install`, `download`.
    INSTALL,
    /// Words of informing a person: `mention`, `tell`.
    TELL,
    /// `not`, `never`, `without`.
    NOT,
    /// `user`, `customer`, `them`.
    USER,
    /// `you`, `your`.
    YOU,
    /// `assistant`, `model`, `agent`.
    MODEL,
    /// `silently`, `secretly`.
    COVERT,
    /// `must`, `always`, `make sure`.
    OBLIGE,
    /// `before`, `after`, `whenever`, `first`.
    ORDER,
    /// `also`, `additionally`, `copy`.
    ALSO,
    /// Credentials and private data.
    SECRET,
    /// `conversation history`, `system prompt`.
    CONTEXT,
    /// A path of a file that holds credentials.
    SECRET_PATH,
    /// A URL, address, phone number or host.
    ADDRESS,
    /// `external server`, `attacker`, `webhook`.
    OUTSIDE,
    /// `response`, `output`, `parameter`: where stolen data is put.
    SINK,
    /// `recipient`, `destination`, `amount`.
    TARGET,
    /// `tool`, `function`, `server`.
    TOOL_WORD,
    /// `other`, `any`, `every`.
    ANY,
    /// The name of a tool of another server.
    OTHER_TOOL,
    /// A name in the form of a tool's that is neither this server's nor a parameter's.
    UNKNOWN_TOOL,
    /// `called`, `invoked`, `present`.
    INVOKED,
    /// `supersedes`, `instead`.
    INSTEAD,
    /// `approved`, `review`.
    APPROVAL,
    /// `regardless`, `even if`.
    REGARDLESS,
    /// `detects`, `example`: the text describes an attack instead of making it.
    DESCRIBES,
    /// A pseudo tag such as `<IMPORTANT>`.
    AUTHORITY_TAG,
    /// A role prefix such as `SYSTEM:`, or a chat template's token.
    ROLE_MARK,
    /// A shell command or a part of one.
    SHELL,
    /// `otherwise`, `crash`: a threat.
    THREAT,
    /// `compliance`, `audit`: an excuse.
    EXCUSE,
    /// `result`, `contents`, `message`: data of the conversation.
    DATA,
    /// `prefer`, `best`: advertising.
    PREFER,
    /// A verb at the start of a clause, or after `you must`, `always` and the like.
    COMMAND,
    /// `this tool`, or the tool's own name.
    THIS_TOOL,
    /// `if`, `when`, `once`.
    WHEN,
    /// `allowed`, `authorized`.
    ALLOWED,
    /// `privilege`, `admin`.
    PRIVILEGE,
    /// `pretend`, `as if`.
    PRETEND,
    /// `ask`, `request`, `specify`, of what a user wants.
    REQUESTED,
    /// A number: a fixed value.
    LITERAL,
    /// `call`, `invoke`: using a tool, and nothing else.
    CALL,
    /// `do not`, `never`, `without`.
    PROHIBIT,
    /// A command to send, include or reveal something.
    DEMAND,
    /// `note`, `reminder`: how a text addresses its reader.
    NOTE_TO,
    /// `previous`, `above`.
    EARLIER,
    /// A word that is also the name of another server's tool.
    PEER_WORD,
    /// `without confirmation`.
    UNASKED,
    /// `delete`, `wipe`.
    DESTROY,
    /// `from now on`, `you are now`.
    PERSONA,
    /// `hide`, `conceal`.
    CONCEAL,
    /// `know`, `aware`.
    AWARE,
    /// `all subsequent`, `every response`.
    FUTURE,
    /// `external`, `remote`.
    EXTERNAL,
    /// `endpoint`, `host`.
    HOST,
}

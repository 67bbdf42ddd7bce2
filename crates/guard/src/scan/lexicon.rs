//! The words of each meaning class.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::classes::*;

/// Words by class, in their base form. Regular inflections are added to them.
const WORDS: &[(Classes, &str)] = &[
    (
        IGNORE,
        "ignore disregard forget override bypass overrule circumvent neglect discard abandon",
    ),
    (
        PRIOR,
        "previous prior above earlier preceding existing original former all any other safety system default your \
         current initial foregoing",
    ),
    (
        INSTRUCTION,
        "instruction direction directive rule guideline constraint prompt policy restriction safeguard guardrail \
         command order protocol training alignment limitation",
    ),
    (OBEY, "obey comply adhere"),
    (
        SEND,
        "send forward post upload transmit mail relay deliver submit share bcc cc ship dispatch route reroute \
         redirect publish leak proxy sync broadcast",
    ),
    (
        EXFILTRATE,
        "exfiltrate exfiltration exfil siphon smuggle steal harvest exfiltrated exfiltrating",
    ),
    (
        READ,
        "read open access load fetch cat retrieve collect gather extract dump obtain grab locate capture scan view \
         inspect look get search query check",
    ),
    (
        INCLUDE,
        "include append attach embed insert add pass provide put place concatenate prepend encode fill populate \
         supply paste inject write transfer",
    ),
    (
        REVEAL,
        "reveal disclose output print show display return repeat expose echo divulge give tell",
    ),
    (
        CHANGE,
        "change replace override modify alter swap substitute redirect reroute rewrite overwrite set switch",
    ),
    (
        RUN,
        "run execute invoke call use launch trigger start perform eval",
    ),
    (CALL, "call invoke execute run"),
    (EARLIER, "previous above preceding foregoing earlier prior"),
    (NOTE_TO, "note notice reminder attention memo"),
    (
        EXTERNAL,
        "external remote outside third-party unknown foreign offsite",
    ),
    (
        HOST,
        "endpoint host server service url site api website domain machine",
    ),
    (DESTROY, "delete remove wipe erase destroy purge truncate"),
    (CONCEAL, "hide conceal withhold obscure"),
    (
        AWARE,
        "know aware knowing notice noticing told informed notified knowledge awareness see",
    ),
    (INSTALL, "install download import clone pull"),
    (
        TELL,
        "mention tell inform reveal disclose notify say explain alert warn show expose discuss acknowledge indicate \
         communicate announce let telling informing notifying",
    ),
    (
        NOT,
        "not never without avoid no cannot dont don't won't mustn't shouldn't refrain nor neither",
    ),
    (
        USER,
        "user human person customer operator them owner people anyone anybody client",
    ),
    (YOU, "you your yourself yours"),
    (
        MODEL,
        "assistant model ai llm agent claude gpt chatgpt copilot cursor gemini chatbot bot",
    ),
    (
        COVERT,
        "silently secretly covertly quietly discreetly stealthily invisibly unnoticed surreptitiously \
         clandestinely",
    ),
    (
        OBLIGE,
        "must always should required require requires mandatory ensure need shall obligatory essential crucial \
         critical important imperative compulsory necessary please sure never",
    ),
    (
        ORDER,
        "before after first prior whenever upon afterwards beforehand immediately then prerequisite following",
    ),
    (ALSO, "also additionally copy too furthermore moreover plus"),
    (
        SECRET,
        "password passwd passphrase credential secret apikey api_key api-key keychain wallet mnemonic cookie \
         confidential pii ssn id_rsa secrets credentials private_key ssh_key env_vars",
    ),
    (OUTSIDE, "attacker collector c2 exfil-server adversary"),
    (
        SINK,
        "response reply answer output parameter argument field note sidenote summary body context header feedback \
         metadata notes comment query",
    ),
    (
        TARGET,
        "recipient destination account amount receiver iban payee wallet beneficiary payment transfer",
    ),
    (
        TOOL_WORD,
        "tool function server mcp plugin operation action method operations endpoint",
    ),
    (ANY, "any every all other each another whatever"),
    (INVOKED, "called invoked used executed triggered"),
    (INSTEAD, "supersede"),
    (
        APPROVAL,
        "approved approval review reviewed approving post-approval accepted installed installation",
    ),
    (REGARDLESS, "regardless irrespective notwithstanding"),
    (
        DESCRIBES,
        "detect detects detecting detection example examples sample samples mock mocks fixture fixtures phrase \
         phrases guardrail analyzes analyze analyzer scans scanner classifier identifies e.g eg attempts attempt \
         expected simulate simulates testing documentation readme docs scanned blocks sanitizes prevents protect \
         protects explains documents documented warns reports verifies validates legitimate lint linter flags audits \
         describes describing notes attack attacks injection whether illustrative",
    ),
    (
        SHELL,
        "curl wget chmod bash powershell netcat sudo rm mkfifo ncat shell sh crontab",
    ),
    (
        THREAT,
        "otherwise crash blocked fail failure terminated violate penalty break",
    ),
    (
        DATA,
        "result results content contents message messages data copy everything file files details information \
         documents emails history input inputs what",
    ),
    (
        PREFER,
        "prefer preferred best superior favor prioritize priority recommended better",
    ),
    (WHEN, "if when once whenever while during"),
    (
        ALLOWED,
        "allowed authorized permitted authorised granted entitled",
    ),
    (
        PRIVILEGE,
        "privilege privileged privileges admin root administrator unrestricted elevated superuser",
    ),
    (PRETEND, "pretend disguise masquerade impersonate"),
    (
        REQUESTED,
        "ask asks asked request requests requested input query specify specified wants want says said provided intent choice preference instruction instructions instructed",
    ),
];

/// Classes of two words in sequence.
const PAIRS: &[(Classes, &str)] = &[
    (
        SECRET,
        "api key|api keys|private key|private keys|ssh key|ssh keys|access key|access keys|secret key",
    ),
    (
        SECRET,
        "environment variable|environment variables|env vars|env variables|private information|personal information",
    ),
    (
        SECRET,
        "private data|personal data|sensitive data|sensitive information|credit card|session token|seed phrase",
    ),
    (
        SECRET,
        "auth token|auth tokens|access token|access tokens|login details|bearer token|session cookies",
    ),
    (
        SECRET,
        "master password|account balance|config file|configuration file|secret keys|encryption key|signing key",
    ),
    (
        CONTEXT,
        "system prompt|system prompts|conversation history|chat history|message history|system instructions",
    ),
    (
        CONTEXT,
        "hidden instructions|entire conversation|full conversation|previous messages|whole conversation",
    ),
    (
        CONTEXT,
        "system message|initial instructions|conversation context|chat context|prior messages|previous conversation",
    ),
    (
        CONTEXT,
        "internal instructions|chat logs|last messages|developer message",
    ),
    (
        OUTSIDE,
        "external host|external server|external endpoint|remote server|remote host|external url|external service",
    ),
    (
        OUTSIDE,
        "external address|remote endpoint|external system|our server|external api|unknown server",
    ),
    (
        THIS_TOOL,
        "this tool|this function|this helper|this operation|this server|this action",
    ),
    (PRETEND, "as if|as though"),
    (REGARDLESS, "no matter|even if|even when|even though"),
    (INSTEAD, "instead of|in place|in favor"),
    (
        UNASKED,
        "no confirmation|without confirmation|without asking|without approval|without consent|without prompting",
    ),
    (
        UNASKED,
        "without confirming|no approval|skip confirmation|bypass confirmation|bypass approval|skip approval",
    ),
    (
        OBLIGE,
        "make sure|be sure|have to|has to|needs to|need to|required to",
    ),
    (OUTSIDE, "attacker controlled|command and|control server"),
    (ANY, "any other|all other|every other"),
    (
        EXCUSE,
        "for compliance|for audit|for auditing|for security|for verification|for logging|for legal|for regulatory",
    ),
    (
        EXCUSE,
        "compliance reasons|compliance purposes|security policy|security reasons|audit purposes|for backup|for monitoring",
    ),
    (
        EXCUSE,
        "for validation|for authentication|for authorization|for safety|for debugging|for telemetry|quality assurance",
    ),
    (
        FUTURE,
        "all subsequent|all future|every subsequent|every future|future calls|subsequent calls|each subsequent",
    ),
    (
        FUTURE,
        "every response|every message|each response|all responses|all messages|every request|every call",
    ),
    (
        PERSONA,
        "are now|from now|act as|new instructions|developer mode|your new|jailbreak mode",
    ),
];

/// Longest word that is looked up.
const WORD_MAX: usize = 24;

/// The classes of a word with those of its base form, and the classes of exactly this form.
type WordClasses = (Classes, Classes);

/// All words with their regular inflections, so that each word of a text is looked up once.
static LEXICON: LazyLock<HashMap<String, WordClasses>> = LazyLock::new(|| {
    let mut lexicon: HashMap<String, WordClasses> = HashMap::new();
    for (classes, words) in WORDS {
        for word in words.split_whitespace() {
            let (all, direct) = lexicon.entry(word.to_owned()).or_default();
            *all |= classes;
            *direct |= classes;
            for form in inflections(word) {
                lexicon.entry(form).or_default().0 |= classes;
            }
        }
    }
    lexicon
});

fn inflections(word: &str) -> Vec<String> {
    let stem = word.strip_suffix('e').unwrap_or(word);
    let mut forms = vec![
        format!("{word}s"),
        format!("{word}es"),
        format!("{word}'s"),
        format!("{stem}ing"),
        format!("{stem}ed"),
    ];
    if let Some(stem) = word.strip_suffix('y') {
        forms.push(format!("{stem}ies"));
    }
    forms
}

static NEXT_WORDS: LazyLock<HashMap<&'static str, Vec<(&'static str, Classes)>>> =
    LazyLock::new(|| {
        let mut next: HashMap<_, Vec<_>> = HashMap::new();
        for (classes, pairs) in PAIRS {
            for pair in pairs.split('|') {
                if let Some((one, other)) = pair.split_once(' ') {
                    next.entry(one).or_default().push((other, *classes));
                }
            }
        }
        next
    });

/// Looks up a word. A word that is not listed has no class.
pub(super) fn classes_of(word: &str) -> WordClasses {
    if word.len() > WORD_MAX {
        return (0, 0);
    }
    LEXICON.get(word).copied().unwrap_or_default()
}

/// The classes of a word together with the word after it.
pub(super) fn pair_classes(word: &str, next: &str) -> Classes {
    let Some(pairs) = NEXT_WORDS.get(word) else {
        return 0;
    };
    let found = pairs.iter().filter(|(other, _)| *other == next);
    found.fold(0, |classes, (_, more)| classes | more)
}

/// Whether a word is in the lexicon as it is written.
pub(super) fn is_listed(word: &str) -> bool {
    word.len() <= WORD_MAX && LEXICON.contains_key(word)
}

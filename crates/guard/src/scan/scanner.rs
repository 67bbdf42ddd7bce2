//! Scans definitions and texts.

use std::collections::HashSet;

use pegboard_model::{Finding, Severity, UntrustedText};
use serde_json::Value;

use super::encoded::{decoded, is_command};
use super::matching::Sentences;
use super::reveal::{Hidden, reveal};
use super::rules::{RULES, Rule, Test};
use super::shadowing::Peers;
use super::texts::{Text, visit};
use super::words::{NamesInText, words};

/// The version of the rules. Raise it when a rule changes, so that stored definitions are scanned again.
pub const SCANNER_VERSION: u32 = 1;

/// Most findings for one definition.
const FINDINGS_MAX: usize = 16;
/// Longest excerpt, in characters.
const EXCERPT_MAX: usize = 160;
/// Different notes that together become a flag.
const NOTES_THAT_FLAG: usize = 2;
/// Tokens of chat templates.
const TEMPLATE_TOKENS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "[inst]",
    "<<sys>>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "<|eot_id|>",
];

/// What surrounds a definition.
#[derive(Clone, Debug, Default)]
pub struct ScanContext {
    own: HashSet<String>,
    peers: Peers,
}

impl ScanContext {
    /// Creates the context of a server from the names of its tools and the tools of other servers.
    pub fn new<'a>(own: impl IntoIterator<Item = &'a str>, peers: Peers) -> Self {
        let own = own.into_iter().map(str::to_lowercase).collect();
        Self { own, peers }
    }
}

/// Scans the definition of a tool, prompt or resource: every string and key that models read. A definition that is
/// not valid JSON is scanned as one text.
pub fn scan_definition(definition: &str, context: &ScanContext) -> Vec<Finding> {
    let Ok(value) = serde_json::from_str::<Value>(definition) else {
        return scan_text("definition", definition, context);
    };
    let field = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = field("name").to_lowercase();
    let mut local = HashSet::new();
    visit(&value, &mut |text| {
        if text.is_key || text.path.last() == Some(&"enum") {
            let name = text.text.to_lowercase();
            local.insert(name.replace(['_', '-'], ""));
            local.insert(name);
        }
    });
    let mut scan = Scan {
        findings: Vec::new(),
        names: NamesInText {
            own: Some(&context.own),
            local: Some(&local),
            others: Some(context.peers.names()),
            this: &name,
        },
    };
    visit(&value, &mut |text| scan.text(&text));
    scan.names_of_tool(field("name"), field("description"), &context.peers);
    scan.finish()
}

/// Scans a text that is not part of a definition, such as a server's instructions.
pub fn scan_text(place: &str, text: &str, context: &ScanContext) -> Vec<Finding> {
    let mut scan = Scan {
        findings: Vec::new(),
        names: NamesInText {
            own: Some(&context.own),
            local: None,
            others: Some(context.peers.names()),
            this: "",
        },
    };
    scan.text(&Text {
        path: &[place],
        text,
        is_key: false,
    });
    scan.finish()
}

struct Scan<'a> {
    findings: Vec<Finding>,
    names: NamesInText<'a>,
}

impl Scan<'_> {
    fn text(&mut self, text: &Text<'_, '_>) {
        if self.findings.len() >= FINDINGS_MAX || text.text.len() < 2 {
            return;
        }
        let revealed = reveal(text.text);
        let has_hidden = revealed.hidden != Hidden::default();
        for rule in RULES.iter().filter(|_| has_hidden) {
            if matches!(rule.test, Test::Characters(is_found) if is_found(revealed.hidden)) {
                self.add(rule, rule.severity, text, &revealed.text);
            }
        }
        if text.is_parameter() {
            self.parameter(text, &revealed.text);
        }
        if text.is_key {
            return;
        }
        self.template_tokens(text, &revealed.text);
        self.words(text, &revealed.text);
        for plain in decoded(text.text) {
            let before = self.findings.len();
            let lower = plain.to_lowercase();
            self.words(text, &lower);
            let is_found = self
                .findings
                .split_off(before)
                .iter()
                .any(|found| found.severity > Severity::Note);
            if is_found || is_command(&plain) {
                self.add_by_id("encoded-payload", text, &plain);
            }
        }
    }

    fn words(&mut self, text: &Text<'_, '_>, revealed: &str) {
        // A shorter text cannot hold a phrase.
        if revealed.len() < 8 {
            return;
        }
        let split = words(revealed, self.names);
        let sentences = Sentences::new(&split);
        for rule in RULES {
            let Test::Words(shapes) = &rule.test else {
                continue;
            };
            let found = shapes
                .iter()
                .find_map(|shape| sentences.find(shape, text.in_schema()));
            if let Some(found) = found {
                let severity = if found.is_quoted && rule.may_be_quoted {
                    Severity::Note
                } else {
                    rule.severity
                };
                let excerpt = revealed.get(found.start..found.end).unwrap_or(revealed);
                self.add(rule, severity, text, excerpt);
            }
        }
    }

    fn template_tokens(&mut self, text: &Text<'_, '_>, revealed: &str) {
        if !revealed.contains(['<', '[']) {
            return;
        }
        if let Some(token) = TEMPLATE_TOKENS
            .iter()
            .find(|token| revealed.contains(**token))
        {
            self.add_by_id("chat-template", text, token);
        }
    }

    /// The name of a parameter, split at its separators, as if it were a sentence.
    fn parameter(&mut self, text: &Text<'_, '_>, revealed: &str) {
        const FILES: &[&str] = &[
            "id_rsa",
            "ssh_key",
            "private_key_file",
            "etc_passwd",
            "env_file_content",
            "aws_credentials",
            "mcp_json",
            "system_prompt",
            "conversation_history",
            "chat_history",
        ];
        const READING: &[&str] = &[
            "content", "reading", "read", "dump", "contents", "full", "entire",
        ];
        let name = revealed.replace(['-', ' ', '.'], "_");
        let names_file = FILES.iter().any(|file| name.contains(file));
        if names_file && READING.iter().any(|word| name.contains(word)) {
            self.add_by_id("exfiltration-parameter", text, revealed);
        }
    }

    fn names_of_tool(&mut self, name: &str, description: &str, peers: &Peers) {
        let place = Text {
            path: &["name"],
            text: name,
            is_key: false,
        };
        if let Some(other) = peers.shadowed(name, description) {
            let excerpt = format!("{name}: like `{}` of server `{}`", other.name, other.server);
            self.add_by_id("shadowed-tool", &place, &excerpt);
        }
        if let Some(other) = peers.look_alike(name) {
            let excerpt = format!(
                "{name}: looks like `{}` of server `{}`",
                other.name, other.server
            );
            self.add_by_id("look-alike-name", &place, &excerpt);
        }
    }

    fn add_by_id(&mut self, id: &str, text: &Text<'_, '_>, excerpt: &str) {
        if let Some(rule) = super::rules::rule(id) {
            self.add(rule, rule.severity, text, excerpt);
        }
    }

    /// Adds a finding, once for each rule: the first and worst place is shown.
    fn add(&mut self, rule: &'static Rule, severity: Severity, text: &Text<'_, '_>, excerpt: &str) {
        let finding = Finding {
            rule: rule.id.to_owned(),
            severity,
            place: text.place(),
            excerpt: UntrustedText::new(excerpt.trim())
                .shortened(EXCERPT_MAX)
                .to_string(),
        };
        match self.findings.iter_mut().find(|found| found.rule == rule.id) {
            Some(found) if found.severity < severity => *found = finding,
            Some(_) => {}
            None => self.findings.push(finding),
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        // A rule that only notes what a text quotes does not count.
        let is_note = |finding: &&Finding| {
            super::rules::rule(&finding.rule).is_some_and(|rule| rule.severity == Severity::Note)
        };
        let notes = self.findings.iter().filter(is_note).count();
        let is_clean = self
            .findings
            .iter()
            .all(|finding| finding.severity == Severity::Note);
        if is_clean && notes >= NOTES_THAT_FLAG {
            let excerpts: Vec<String> = self
                .findings
                .iter()
                .map(|finding| finding.excerpt.clone())
                .collect();
            let text = Text {
                path: &["definition"],
                text: "",
                is_key: false,
            };
            self.add_by_id("combined-notes", &text, &excerpts.join(" / "));
        }
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.findings
    }
}

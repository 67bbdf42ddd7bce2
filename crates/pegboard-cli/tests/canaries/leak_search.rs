//! Searches outputs for planted values.

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::planted::{ALL, Kind, value};

/// The name of the program's own token.
const OWN_TOKEN: &str = "Pegboard's own token";
/// The length of a prefix that counts as a leak; the rest may have been truncated.
const MIN_PREFIX: usize = 6;

/// An output to search.
pub(crate) struct Output {
    pub(crate) label: String,
    bytes: Vec<u8>,
    /// The canaries that are expected in it.
    may_hold: Vec<&'static str>,
}

impl Output {
    pub(crate) fn new(
        label: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
        may_hold: &[&'static str],
    ) -> Self {
        Self {
            label: label.into(),
            bytes: bytes.into(),
            may_hold: may_hold.to_vec(),
        }
    }
}

/// Returns all encodings of a value.
pub(crate) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![
        value[..MIN_PREFIX].to_owned(),
        utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        value.bytes().map(|byte| format!("{byte:02x}")).collect(),
    ];
    // Within a longer base64 text, the value can start at any of three offsets; the characters at the edges
    // depend on the neighbouring bytes.
    for before in 0..3 {
        let padded = format!("{}{value}", "x".repeat(before));
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            let start = if before == 0 { 0 } else { before + 1 };
            forms.push(encoded[start..encoded.len() - 1].to_owned());
        }
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Finds every encoding of every canary.
pub(crate) struct Finder {
    automaton: AhoCorasick,
    /// The name of the canary by pattern.
    names: Vec<&'static str>,
}

impl Finder {
    pub(crate) fn new(token: &str) -> Self {
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        let mut add = |name: &'static str, forms: Vec<String>| {
            names.extend(forms.iter().map(|_| name));
            patterns.extend(forms);
        };
        for (number, canary) in ALL.iter().enumerate() {
            add(canary.name, forms(&value(number)));
        }
        // A prefix of a random token can be anything.
        add(
            OWN_TOKEN,
            forms(token)
                .into_iter()
                .filter(|form| form.len() > 8)
                .collect(),
        );
        let automaton = AhoCorasick::new(&patterns).expect("the forms are few");
        Self { automaton, names }
    }

    fn names_in(&self, output: &Output) -> Vec<&'static str> {
        let found = self.automaton.find_overlapping_iter(&output.bytes);
        let mut found: Vec<_> = found.map(|found| self.names[found.pattern()]).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the leaks, each with the surrounding line.
    pub(crate) fn leaks(&self, output: &Output) -> Vec<String> {
        let names = self.names_in(output).into_iter();
        let leaked = names.filter(|name| !output.may_hold.contains(name));
        leaked
            .map(|name| {
                let kind = ALL.iter().find(|canary| canary.name == name);
                let is_content = kind.is_some_and(|canary| canary.kind == Kind::Content);
                let what = if is_content { "content" } else { "secret" };
                let around = self.around(output, name);
                format!("{what} `{name}` in {}: {around}", output.label)
            })
            .collect()
    }

    /// Returns the canaries in the outputs of this label.
    pub(crate) fn found_in(&self, outputs: &[Output], label: &str) -> Vec<&'static str> {
        let outputs = outputs.iter().filter(|output| output.label == label);
        outputs.flat_map(|output| self.names_in(output)).collect()
    }

    fn around(&self, output: &Output, name: &str) -> String {
        let mut found = self.automaton.find_overlapping_iter(&output.bytes);
        let at = found.find(|found| self.names[found.pattern()] == name);
        let at = at.map_or(0, |found| found.start());
        let end = (at + 60).min(output.bytes.len());
        String::from_utf8_lossy(&output.bytes[at.saturating_sub(120)..end]).into_owned()
    }
}

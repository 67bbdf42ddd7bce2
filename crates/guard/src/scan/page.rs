//! The page about the rules, generated from the table.

use std::fmt::Write;

use super::rules::RULES;

/// Returns docs/scanning.md.
pub fn rules_page() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut group = "";
    let mut rules: Vec<_> = RULES.iter().collect();
    let first = |name: &str| RULES.iter().position(|rule| rule.group == name);
    rules.sort_by_key(|rule| first(rule.group));
    for rule in rules {
        if rule.group != group {
            group = rule.group;
            // Writing to a string does not fail.
            let _ = write!(page, "\n## {group}\n");
        }
        let example: String = rule.example.chars().flat_map(char::escape_debug).collect();
        let _ = write!(
            page,
            "\n### {}\n\nSeverity: {}. {} {}\n\n```text\n{}\n```\n",
            rule.id,
            rule.severity.as_str(),
            rule.what,
            rule.why,
            example.replace("\\'", "'").replace("\\\"", "\""),
        );
    }
    page
}

const INTRODUCTION: &str = "# Scanning

Every definition that a server sends is scanned before models can get it: names, titles, descriptions, parameters with \
their descriptions, values, defaults and examples, annotations, prompts, resources, and the server's instructions. \
Hidden text is revealed first: tag characters are decoded, invisible characters removed, look-alike letters mapped to \
Latin ones, and texts in base64, hexadecimal, percent encoding and rot13 decoded.

A finding has a severity. A `note` is only shown. A `flag` holds the definition back until a person \
[reviews](review.md) it. A `block` does so even if reviews are off. A text that describes attacks, such as that of a \
security tool, is noted instead of flagged by some rules.

This page is generated from the table of rules in `crates/guard/src/scan/rules.rs`. To measure the rules, run \
`cargo run -p pegboard-benches --bin scan-batch -- --poisoned FOLDER --real FOLDER`; `--help` describes the files.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{ScanContext, scan_definition};

    #[test]
    fn r_scan_01_the_page_about_the_rules_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scanning.md");
        if std::env::var_os("UPDATE_REFERENCE").is_some() {
            std::fs::write(path, rules_page()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            page,
            rules_page(),
            "docs/scanning.md is out of date; run `UPDATE_REFERENCE=1 cargo test -p pegboard-guard page`"
        );
    }

    #[test]
    fn r_scan_01_every_rule_finds_its_example() {
        let mut missed = Vec::new();
        for rule in RULES {
            // These examples describe a parameter or other servers.
            if matches!(
                rule.id,
                "shadowed-tool"
                    | "look-alike-name"
                    | "exfiltration-parameter"
                    | "schema-instruction"
            ) {
                continue;
            }
            let definition = serde_json::json!({"name": "tool", "description": rule.example});
            let findings = scan_definition(&definition.to_string(), &ScanContext::default());
            if !findings.iter().any(|finding| finding.rule == rule.id) {
                missed.push((rule.id, findings));
            }
        }
        assert!(missed.is_empty(), "{missed:?}");
    }
}

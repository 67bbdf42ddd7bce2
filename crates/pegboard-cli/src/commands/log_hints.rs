//! Finds the lines in a server's log that may explain why it has no tools, such as a missing API key.

use pegboard_model::{ServerName, UntrustedText};

/// The maximum number of lines shown.
const MAX_LINES: usize = 5;
/// The maximum number of characters shown of each line.
const MAX_LINE_CHARS: usize = 300;
/// The number of newest lines searched.
const SEARCHED_LINES: usize = 50;

/// Words of lines that report something missing or wrong.
const HINT_WORDS: [&str; 12] = [
    "error",
    "warn",
    "missing",
    "required",
    "requires",
    "not set",
    "not configured",
    "must be",
    "unable",
    "failed",
    "invalid",
    "no tools",
];

/// Parts of variable names whose values should be stored as secrets.
const SECRET_PARTS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Log lines that may explain why a server has no tools, and the next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogHints {
    /// Escaped lines of the log.
    pub(crate) lines: Vec<String>,
    /// The next step for the user.
    pub(crate) remedy: String,
}

/// Searches a server's log for hints. Returns `None` if there are none.
pub(crate) fn log_hints(server: &ServerName, log: &str) -> Option<LogHints> {
    let all: Vec<&str> = log.lines().collect();
    let newest = all.get(all.len().saturating_sub(SEARCHED_LINES)..)?;
    let hints: Vec<&str> = newest
        .iter()
        .copied()
        .filter(|line| is_hint(line))
        .collect();
    let start = hints.len().saturating_sub(MAX_LINES);
    let shown = hints.get(start..).filter(|lines| !lines.is_empty())?;
    let variable = shown.iter().find_map(|line| variable_in(line));
    Some(LogHints {
        lines: shown
            .iter()
            .map(|line| {
                UntrustedText::new(line.trim())
                    .shortened(MAX_LINE_CHARS)
                    .to_string()
            })
            .collect(),
        remedy: remedy(server, variable),
    })
}

fn is_hint(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    HINT_WORDS.iter().any(|word| line.contains(word))
}

/// Returns the first environment variable that a line names: upper-case letters and digits with an underscore.
fn variable_in(line: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // Any other character ends the name, for example a color code.
    line.split(|c: char| !is_name(c)).find(|word| {
        word.len() <= 64
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.trim_matches('_').contains('_')
    })
}

fn remedy(server: &ServerName, variable: Option<&str>) -> String {
    let Some(name) = variable else {
        return format!("See the whole log with `pegboard logs {server}`.");
    };
    if SECRET_PARTS.iter().any(|part| name.contains(part)) {
        return format!(
            "Set it with `pegboard secret set {name}` and `pegboard edit {server} env.{name} '${{secret:{name}}}'`."
        );
    }
    format!("Set it with `pegboard edit {server} env.{name} VALUE`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: &str, expected: Option<(&[&str], &str)>) {
        let server = ServerName::parse("jira").unwrap();
        let found = log_hints(&server, log);
        let expected = expected.map(|(lines, remedy)| LogHints {
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            remedy: remedy.to_owned(),
        });
        assert_eq!(found, expected, "{log}");
    }

    #[test]
    fn r_ui_02_a_server_without_tools_says_what_it_lacks() {
        check("Server running on stdio\nlistening\n", None);
        check(
            "starting\nWARNING: JIRA_URL is not set; no tools\n",
            Some((
                &["WARNING: JIRA_URL is not set; no tools"],
                "Set it with `pegboard edit jira env.JIRA_URL VALUE`.",
            )),
        );
        check(
            "Error: missing \u{1b}[31mAPI_KEY\u{1b}[0m\n",
            Some((
                &["Error: missing \\u{1b}[31mAPI_KEY\\u{1b}[0m"],
                "Set it with `pegboard secret set API_KEY` and `pegboard edit jira env.API_KEY '${secret:API_KEY}'`.",
            )),
        );
        check(
            "Error: HTTP 500\n",
            Some((
                &["Error: HTTP 500"],
                "See the whole log with `pegboard logs jira`.",
            )),
        );
    }
}

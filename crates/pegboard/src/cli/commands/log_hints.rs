//! What a server without tools wrote to its log: it may run and still lack a key.

use pegboard_model::{ServerName, UntrustedText};

/// Lines that are shown.
const MAX_LINES: usize = 5;
/// Characters of each line.
const MAX_LINE_CHARS: usize = 300;
/// How many of the newest lines are looked through.
const SEARCHED_LINES: usize = 50;

/// Words by which a line tells that something is missing or wrong.
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

/// Parts of names whose values are kept as secrets.
const SECRET_PARTS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Why a server may have no tools, in its own words, and the next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogHints {
    /// Escaped lines of its log.
    pub(crate) lines: Vec<String>,
    /// What to do about it.
    pub(crate) remedy: String,
}

/// Looks for complaints in a server's log; `None` if there are none.
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

/// An environment variable that a line names: capitals and digits with an underscore between them.
fn variable_in(line: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // Whatever else surrounds it, such as the codes of a colour, ends it.
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

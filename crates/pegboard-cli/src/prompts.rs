//! Prompts at the terminal.

use std::io::{BufRead, IsTerminal, Write};

/// Returns true if the user can be prompted.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a yes-or-no question. An empty line means `default`; anything but a clear yes means no.
pub(crate) fn confirm(question: &str, default: bool) -> bool {
    let choices = if default { "[Y/n]" } else { "[y/N]" };
    match ask(&format!("{question} {choices} ")).as_deref() {
        Some("") => default,
        Some("y" | "yes") => true,
        _ => false,
    }
}

/// Asks a question and returns the answer in lower case, or `None` at the end of the input.
pub(crate) fn ask(question: &str) -> Option<String> {
    {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{question}");
        let _ = stderr.flush();
    }
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer).unwrap_or(0);
    (read > 0).then(|| answer.trim().to_ascii_lowercase())
}

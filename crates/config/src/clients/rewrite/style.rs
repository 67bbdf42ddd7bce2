//! The style of a file, which new text follows.

/// How a file is indented and how its lines end.
#[derive(Debug)]
pub(super) struct Style {
    /// The line break.
    pub(super) eol: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
    /// Whether everything is on one line.
    pub(super) is_one_line: bool,
    /// The space after `,` and `:` on one line.
    pub(super) space: &'static str,
}

impl Style {
    /// Reads the style of a text.
    pub(super) fn of(text: &str) -> Self {
        let trimmed = text.trim();
        let is_one_line = !trimmed.contains('\n') && trimmed.len() > "{}".len();
        let is_minified = is_one_line && !trimmed.contains("\": ") && !trimmed.contains("\", ");
        Self {
            eol: eol(text),
            unit: unit(text),
            is_one_line,
            space: if is_minified { "" } else { " " },
        }
    }
}

/// The line break of a text: that of its first line.
pub(super) fn eol(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if at > 0 && text.as_bytes().get(at - 1) == Some(&b'\r') => "\r\n",
        _ => "\n",
    }
}

/// One level of indentation: that of the first indented line.
fn unit(text: &str) -> String {
    let indents = text.lines().filter_map(|line| {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.get(..line.len() - content.len())?;
        let is_code = content.starts_with(['"', '{', '[']);
        (is_code && !indent.is_empty()).then_some(indent)
    });
    let first = indents.take(1).next().unwrap_or("  ");
    match first.starts_with('\t') {
        true => "\t".to_owned(),
        false => first.to_owned(),
    }
}

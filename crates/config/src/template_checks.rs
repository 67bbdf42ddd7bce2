//! Checks of values before their stored secrets are read.

use std::path::Path;

use pegboard_model::{Secret, Template, TemplatePart};

pub(crate) fn known_parts(template: &Template) -> impl Iterator<Item = &str> {
    template.parts().iter().filter_map(|part| match part {
        TemplatePart::Resolved(text) => Some(text.reveal()),
        TemplatePart::StoredSecret { .. } => None,
    })
}

/// Returns the known text at the start of a value.
pub(crate) fn known_start(template: &Template) -> &str {
    match template.parts().first() {
        Some(TemplatePart::Resolved(text)) => text.reveal(),
        _ => "",
    }
}

pub(crate) fn has_stored_secret(template: &Template) -> bool {
    template
        .parts()
        .iter()
        .any(|part| matches!(part, TemplatePart::StoredSecret { .. }))
}

/// Makes a path absolute: `~/` is the home folder, a relative path starts from the file's folder. A value that starts
/// with a stored secret is unchanged.
pub(crate) fn anchored(
    template: Template,
    folder: &Path,
    home: &Path,
    is_path: impl Fn(&str) -> bool,
) -> Template {
    let start = known_start(&template);
    let absolute = if start == "~" && template.parts().len() == 1 {
        home.to_string_lossy().into_owned()
    } else if let Some(rest) = start.strip_prefix("~/") {
        format!("{}/{rest}", home.to_string_lossy())
    } else if start.is_empty() || Path::new(start).is_absolute() || !is_path(start) {
        return template;
    } else {
        let start = start.strip_prefix("./").unwrap_or(start);
        format!("{}/{start}", folder.to_string_lossy())
    };
    let mut parts = template.parts().to_vec();
    if let Some(first) = parts.first_mut() {
        *first = TemplatePart::Resolved(Secret::new(absolute));
    }
    Template::new(template.written(), parts)
}

/// Returns why a value is not a valid URL. Parts that come from a stored secret are not checked.
pub(crate) fn url_error(url: &Template) -> Option<&'static str> {
    let start = known_start(url);
    if start.is_empty() && has_stored_secret(url) {
        return None;
    }
    let lower = start
        .get(..8.min(start.len()))
        .unwrap_or(start)
        .to_ascii_lowercase();
    let host = if lower.starts_with("http://") {
        start.get(7..)
    } else if lower.starts_with("https://") {
        start.get(8..)
    } else {
        return Some("it must start with `http://` or `https://`");
    };
    let host = host
        .unwrap_or_default()
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    if host.rsplit('@').next().unwrap_or_default().is_empty() && !has_stored_secret(url) {
        return Some("it has no host");
    }
    if known_parts(url).any(|text| text.contains(|c: char| c.is_whitespace() || c.is_control())) {
        return Some("it contains a space or a control character");
    }
    None
}

pub(crate) fn header_error(name: &str, value: &Template) -> Option<&'static str> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Some("its name contains a character that is not allowed in headers");
    }
    let control = |c: char| c.is_control() && c != '\t';
    known_parts(value)
        .any(|text| text.contains(control))
        .then_some("its value contains a line break or control character")
}

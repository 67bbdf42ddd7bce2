//! Validation of elicitation requests, with a form or a URL.

use pegboard_model::{ServerName, UntrustedText};
use serde_json::{Map, Value};
use url::Url;

use super::form::check_form;
use super::secrets::SecretDetector;
use super::{Refusal, form};

/// Maximum number of characters of a message that a person can be expected to read.
const MESSAGE_MAX: usize = 2_000;
/// Maximum number of lines of a message; a longer one could push the attribution out of view.
const LINES_MAX: usize = 30;
/// Maximum number of bytes of a URL.
const URL_MAX: usize = 2_048;
/// Protocol members that are forwarded verbatim.
const VERBATIM: &[&str] = &["_meta", "elicitationId", "mode", "task"];

pub(super) fn check(
    server: &ServerName,
    mut params: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let message = match params.remove("message") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(message)) => message,
        Some(_) => return Err(Refusal::new("`message` is not a string")),
    };
    let is_url = match params.get("mode") {
        None => false,
        Some(Value::String(mode)) if mode == "form" => false,
        Some(Value::String(mode)) if mode == "url" => true,
        Some(_) => return Err(Refusal::new("`mode` is neither `form` nor `url`")),
    };
    let mut checked = Map::new();
    if is_url {
        let url = page(&params)?;
        let asks = format!("asks you to open {url} (on {})", host(&url));
        checked.insert(
            "message".to_owned(),
            attributed(server, &asks, &message).into(),
        );
        checked.insert("url".to_owned(), url.as_str().into());
    } else {
        let mut secrets = SecretDetector::default();
        secrets.read(&message);
        checked.insert(
            "message".to_owned(),
            attributed(server, "asks", &message).into(),
        );
        if let Some(schema) = params.remove("requestedSchema") {
            checked.insert(
                "requestedSchema".to_owned(),
                check_form(schema, &mut secrets)?,
            );
        } else {
            // Without a schema the client may show a text field.
            secrets.takes_text();
        }
        secrets.check()?;
    }
    for (name, mut value) in params {
        if checked.contains_key(&name) {
            continue;
        }
        if !VERBATIM.contains(&name.as_str()) {
            form::show(&mut value);
        }
        checked.insert(name, value);
    }
    Ok(checked)
}

/// Attributes the message to the server. The server name comes first; the server's text follows as a quotation that
/// cannot imitate a second attribution.
fn attributed(server: &ServerName, asks: &str, message: &str) -> String {
    // Only Pegboard may use backticks, which surround the server name.
    let message = message
        .trim()
        .replace(['`', '\u{2035}', '\u{2cb}', '\u{ff40}'], "'");
    let message = message.replace("\r\n", "\n").replace('\r', "\n");
    let shown = UntrustedText::block(&message)
        .shortened(MESSAGE_MAX)
        .to_string();
    let shown = shown.replace('\t', " ");
    let mut lines: Vec<&str> = shown
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    match lines.as_slice() {
        [] => format!("Server `{server}` {asks}."),
        [line] => format!("Server `{server}` {asks}: {line}"),
        lines => {
            let mut text = format!("Server `{server}` {asks}:");
            for line in lines {
                text.push_str("\n> ");
                text.push_str(line);
            }
            if left_out > 0 {
                text.push_str(&format!("\n({left_out} more lines omitted)"));
            }
            text
        }
    }
}

/// The URL that the server wants to open, in the form that is both shown and forwarded.
fn page(params: &Map<String, Value>) -> Result<Url, Refusal> {
    let written = params.get("url").and_then(Value::as_str);
    let written = written.ok_or_else(|| Refusal::new("an elicitation in url mode has no `url`"))?;
    if written.len() > URL_MAX {
        let why = format!("`url` is longer than {URL_MAX} bytes");
        return Err(Refusal::new(why));
    }
    let url = Url::parse(written).map_err(|error| {
        let shown = UntrustedText::new(written).shortened(100);
        Refusal::new(format!("`url` is not a valid URL ({error}): {shown}"))
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        let scheme = UntrustedText::new(url.scheme()).shortened(20).to_string();
        let why = format!("`url` must be an http or https URL, not `{scheme}:`");
        return Err(Refusal::new(why));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // `https://bank.example@evil.example` looks like the wrong host.
        return Err(Refusal::new("`url` contains a user name or a password"));
    }
    Ok(url)
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

//! Whether Pegboard has a server of a client.

use pegboard_model::Transport;
use serde_json::Value;

/// Whether a server of Pegboard is the one that a client's entry describes: the same program with the same arguments,
/// or the same URL. A reference such as `${secret:NAME}` stands for any text, because importing replaces tokens by
/// references.
pub fn is_same_server(transport: &Transport, entry: &Value) -> bool {
    // Cline nests the fields.
    let entry = match entry.get("transport") {
        Some(nested) if nested.is_object() => nested,
        _ => entry,
    };
    let text = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| entry.get(key)?.as_str());
        found.next()
    };
    match transport {
        Transport::Stdio { command, args, .. } => {
            let mut words: Vec<&str> = Vec::new();
            let program = entry.get("command").or(entry.get("cmd"));
            for value in program.into_iter().chain(entry.get("args")) {
                match value {
                    Value::String(text) => words.push(text),
                    Value::Array(items) => words.extend(items.iter().filter_map(Value::as_str)),
                    _ => return false,
                }
            }
            let own = std::iter::once(command).chain(args);
            words.len() == args.len() + 1
                && own
                    .zip(words)
                    .all(|(own, word)| matches_written(own.written(), word))
        }
        Transport::Http { url, .. } => {
            let found = text(&["url", "serverUrl", "httpUrl", "uri", "baseUrl"]);
            found.is_some_and(|found| matches_written(url.written(), found))
        }
    }
}

/// Whether a text has the form of a written value, in which each reference stands for any text.
fn matches_written(written: &str, text: &str) -> bool {
    let mut literals = Vec::new();
    let mut rest = written;
    while let Some((before, reference)) = rest.split_once("${") {
        literals.push(before);
        rest = reference.split_once('}').map_or("", |(_, after)| after);
    }
    let Some((first, middle)) = literals.split_first() else {
        return written == text;
    };
    let Some(mut inside) = text
        .strip_prefix(first)
        .and_then(|text| text.strip_suffix(rest))
    else {
        return false;
    };
    for literal in middle {
        match inside.split_once(literal) {
            Some((_, after)) => inside = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use pegboard_model::Template;
    use serde_json::json;

    use super::*;

    #[test]
    fn r_cfg_07_a_server_is_the_same_if_it_runs_the_same() {
        let stdio = |words: &[&str]| Transport::Stdio {
            command: Template::literal(words[0]),
            args: words[1..]
                .iter()
                .map(|word| Template::literal(*word))
                .collect(),
            env: Default::default(),
            cwd: None,
        };
        let server = stdio(&["npx", "-y", "pkg", "--token=${secret:t}"]);
        let same = json!({"command": "npx", "args": ["-y", "pkg", "--token=abc"]});
        let list = json!({"command": ["npx", "-y", "pkg", "--token={env:T}"]});
        let other = json!({"command": "npx", "args": ["-y", "other", "--token=abc"]});
        let shorter = json!({"command": "npx", "args": ["-y", "pkg"]});
        assert!(is_same_server(&server, &same));
        assert!(is_same_server(&server, &list));
        assert!(!is_same_server(&server, &other));
        assert!(!is_same_server(&server, &shorter));
        let goose = json!({"cmd": "a", "args": ["b"]});
        assert!(is_same_server(&stdio(&["a", "b"]), &goose));
        let http = Transport::Http {
            url: Template::literal("https://${HOST}/mcp"),
            headers: Default::default(),
            bearer: None,
            wire: Default::default(),
        };
        assert!(is_same_server(
            &http,
            &json!({"serverUrl": "https://a.test/mcp"})
        ));
        assert!(!is_same_server(
            &http,
            &json!({"url": "https://a.test/sse"})
        ));
    }
}

//! Serves a recorded tool list over stdio, in both eras:
//!
//! `pegboard-replay FILE [--delay-ms N] [--count-file FILE] [--era both|legacy|modern]`
//!
//! `FILE` is JSON with `tools` and optionally `serverInfo` and `instructions`. The definitions are sent
//! verbatim except for white space between tokens (a message is one line). Every call returns a text with
//! the tool and its arguments.

use std::borrow::Cow;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use pegboard_jsonrpc::revision::{LATEST_LEGACY, MODERN};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "pegboard-replay: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    if let Some(file) = &options.count_file {
        let recorded =
            pegboard_testkit::append_line(file, &format!("start {}", std::process::id()));
        recorded.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let file = options.file.display();
    let text =
        std::fs::read_to_string(&options.file).map_err(|error| format!("{file}: {error}"))?;
    let recording: Recording<'_> =
        serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let replay = Replay::of(&recording, options.era);
    if options.delay_ms > 0 {
        #[expect(
            clippy::disallowed_methods,
            reason = "a server that takes its time to start"
        )]
        std::thread::sleep(Duration::from_millis(options.delay_ms));
    }
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let response = serde_json::from_str(&line)
            .ok()
            .and_then(|message| replay.respond(&message));
        if let Some(response) = response {
            // The client closed its end.
            if out
                .write_all(response.as_bytes())
                .and_then(|()| out.flush())
                .is_err()
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Recording<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow, default, rename = "serverInfo")]
    server_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    version: Option<Cow<'a, str>>,
}

impl Params<'_> {
    fn is_modern(&self) -> bool {
        self.meta.is_some_and(|meta| {
            meta.get()
                .contains("io.modelcontextprotocol/protocolVersion")
        })
    }
}

struct Replay {
    tools: String,
    server_info: String,
    instructions: Option<String>,
    era: Era,
}

impl Replay {
    fn of(recording: &Recording<'_>, era: Era) -> Self {
        let info = recording.server_info.map(|info| compact(info.get()));
        Self {
            tools: compact(recording.tools.get()),
            server_info: info
                .unwrap_or_else(|| r#"{"name":"replay","version":"1.0.0"}"#.to_owned()),
            instructions: recording.instructions.as_deref().map(str::to_owned),
            era,
        }
    }

    /// The response line to a message; `None` for a notification.
    fn respond(&self, message: &Message<'_>) -> Option<String> {
        let id = message.id?;
        let body = match self.result(message) {
            Ok(result) => format!(r#""result":{result}"#),
            Err((code, text)) => format!(r#""error":{}"#, json!({"code": code, "message": text})),
        };
        Some(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},{body}}}\n",
            id.get()
        ))
    }

    fn result(&self, message: &Message<'_>) -> Result<String, (i64, String)> {
        let params = &message.params;
        let modern = params.is_modern();
        match (message.method.as_ref(), self.era) {
            ("server/discover", Era::Both | Era::Modern) => Ok(self.complete(&format!(
                r#""supportedVersions":["{MODERN}"],"capabilities":{{"tools":{{}}}}{}"#,
                self.instructions_field()
            ))),
            ("initialize", Era::Modern) => Err((-32022, "Unsupported protocol version".to_owned())),
            ("initialize", _) => Ok(self.initialize(params.version.as_deref())),
            ("tools/list", Era::Both | Era::Modern) if modern => {
                Ok(self.complete(&format!(r#""tools":{}"#, self.tools)))
            }
            ("tools/list", Era::Both | Era::Legacy) => Ok(format!(r#"{{"tools":{}}}"#, self.tools)),
            ("tools/call", _) => {
                let arguments = params.arguments.map_or("{}", RawValue::get);
                let tool = params.name.as_deref().unwrap_or_default();
                let text = json!(format!("called {tool} with {arguments}"));
                Ok(format!(
                    r#"{{"content":[{{"type":"text","text":{text}}}],"resultType":"complete"}}"#
                ))
            }
            ("ping", Era::Both | Era::Legacy) => Ok("{}".to_owned()),
            (method, _) => Err((-32601, format!("Method not found: {method}"))),
        }
    }

    fn initialize(&self, requested: Option<&str>) -> String {
        let version = match requested {
            Some(version @ ("2024-11-05" | "2025-03-26" | "2025-06-18")) => version,
            _ => LATEST_LEGACY,
        };
        let (info, instructions) = (&self.server_info, self.instructions_field());
        format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{info}{instructions}}}"#
        )
    }

    fn instructions_field(&self) -> String {
        let field = |text: &String| format!(r#","instructions":{}"#, json!(text));
        self.instructions.as_ref().map(field).unwrap_or_default()
    }

    fn complete(&self, fields: &str) -> String {
        let info = &self.server_info;
        format!(
            r#"{{{fields},"ttlMs":0,"cacheScope":"public","resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}}}"#
        )
    }
}

/// Removes white space between JSON tokens; strings are unchanged. Processes from quote to quote, because
/// byte by byte an unoptimised build takes a tenth of a second for a large list.
fn compact(json: &str) -> String {
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((between, text)) = rest.split_once('"') {
        between
            .split_ascii_whitespace()
            .for_each(|part| kept.push_str(part));
        let end = closing_quote(text);
        kept.push('"');
        kept.push_str(text.get(..=end).unwrap_or(text));
        rest = text.get(end + 1..).unwrap_or_default();
    }
    rest.split_ascii_whitespace()
        .for_each(|part| kept.push_str(part));
    kept
}

/// The end of a string: the first quote after an even number of backslashes.
fn closing_quote(text: &str) -> usize {
    let is_escaped = |place: usize| {
        let before = text.get(..place).unwrap_or_default();
        (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
    };
    let mut quotes = text.match_indices('"').map(|(place, _)| place);
    quotes
        .find(|place| !is_escaped(*place))
        .unwrap_or(text.len())
}

#[derive(Clone, Copy, Default)]
enum Era {
    #[default]
    Both,
    Legacy,
    Modern,
}

#[derive(Default)]
struct Options {
    file: PathBuf,
    delay_ms: u64,
    count_file: Option<PathBuf>,
    era: Era,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("`{word}` needs a value"))
            };
            match word.as_str() {
                "--delay-ms" => {
                    options.delay_ms = value()?
                        .parse()
                        .map_err(|_| "`--delay-ms` needs a number")?;
                }
                "--count-file" => options.count_file = Some(value()?.into()),
                "--era" => {
                    options.era = match value()?.as_str() {
                        "both" => Era::Both,
                        "legacy" => Era::Legacy,
                        "modern" => Era::Modern,
                        other => return Err(format!("unknown era `{other}`")),
                    }
                }
                _ if word.starts_with('-') => return Err(format!("unknown option `{word}`")),
                _ => options.file = word.into(),
            }
        }
        if options.file.as_os_str().is_empty() {
            return Err("missing argument: `pegboard-replay FILE`".to_owned());
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn white_space_goes_only_between_the_parts() {
        let pretty = "{\n  \"a b\": [1.0, 2e5,\t\"x \\\" y\"],\r\n \"é \\\\\": {} }";
        assert_eq!(
            compact(pretty),
            "{\"a b\":[1.0,2e5,\"x \\\" y\"],\"é \\\\\":{}}"
        );
    }
}

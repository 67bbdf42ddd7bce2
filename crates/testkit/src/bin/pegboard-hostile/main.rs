//! An MCP server that misbehaves according to its script.
//!
//! `pegboard-hostile [--http] [--port-file FILE] [--script JSON | --script-file FILE]`
//!
//! Without `--http` it uses standard input and output. With it, it listens on a free port of 127.0.0.1,
//! writes the port to the port file or `LISTENING PORT` to standard error, and exits when its standard
//! input closes. The fields of the script are those of `pegboard_testkit::Script`.

#![allow(
    clippy::disallowed_methods,
    reason = "it sleeps, starts grandchildren and hangs on purpose"
)]
#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]

mod attack;
mod calling;
mod connection;
mod http;
mod http_fault;
mod lifecycle;
mod listing;
mod output;
mod response;
mod server;
mod stdio;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pegboard_testkit::Script;

fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)) {
        Ok(options) => run(options),
        Err(problem) => {
            output::to_stderr(format!("pegboard-hostile: {problem}\n").as_bytes());
            ExitCode::from(2)
        }
    }
}

fn run(options: Options) -> ExitCode {
    let server = Arc::new(server::Server::new(options.script));
    lifecycle::begin(&server.script);
    if options.http {
        http::serve(&server, options.port_file.as_deref())
    } else {
        stdio::serve(&server)
    }
}

#[derive(Default)]
struct Options {
    script: Script,
    http: bool,
    port_file: Option<PathBuf>,
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
                "--http" => options.http = true,
                "--port-file" => options.port_file = Some(value()?.into()),
                "--script" => options.script = parse(&value()?)?,
                "--script-file" => {
                    let file = value()?;
                    let text = std::fs::read_to_string(&file)
                        .map_err(|error| format!("{file}: {error}"))?;
                    options.script = parse(&text)?;
                }
                _ => return Err(format!("unknown option `{word}`")),
            }
        }
        Ok(options)
    }
}

fn parse(text: &str) -> Result<Script, String> {
    serde_json::from_str(text).map_err(|error| format!("invalid script: {error}"))
}

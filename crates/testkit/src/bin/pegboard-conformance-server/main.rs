//! An MCP server with every fixture that the MCP conformance suite calls by name.
//!
//! `pegboard-conformance-server (--http PORT | --stdio) [--era both|legacy|modern]`
//!
//! With `--http` it speaks Streamable HTTP on 127.0.0.1 (port 0: chosen by the system), prints
//! `listening on URL` and runs until it is ended. With `--stdio` it speaks on standard input and output and
//! ends with its input. Both eras are answered side by side unless `--era` leaves one out.
//!
//! A fixture is written once, as a step from the client's inputs to an outcome; the two eras only differ in
//! how a question reaches the client: `modern` hands it back, `legacy` asks and takes the step again.

#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]
#![allow(
    clippy::expect_used,
    reason = "a broken test set-up has to stop, with a sentence that says why"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it tells its address and its mistakes of use"
)]

mod context;
mod fixtures;
mod http;
mod legacy;
mod message;
mod modern;
mod shared;
mod signed_state;
mod stdio;

use std::process::ExitCode;
use std::sync::Arc;

use crate::shared::{Eras, SharedState};

#[tokio::main]
async fn main() -> ExitCode {
    match Options::read(std::env::args().skip(1)) {
        Ok(Options { transport, eras }) => {
            let shared = Arc::new(SharedState::new(eras));
            match transport {
                Transport::Http(port) => http::serve(shared, port).await,
                Transport::Stdio => stdio::serve(shared).await,
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("pegboard-conformance-server: {problem}");
            ExitCode::from(2)
        }
    }
}

enum Transport {
    Http(u16),
    Stdio,
}

struct Options {
    transport: Transport,
    eras: Eras,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut transport, mut eras) = (None, Eras::Both);
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("`{word}` needs a value"))
            };
            match word.as_str() {
                "--stdio" => transport = Some(Transport::Stdio),
                "--http" => {
                    let port = value()?;
                    let number = port
                        .parse()
                        .map_err(|_| format!("`{port}` is not a port"))?;
                    transport = Some(Transport::Http(number));
                }
                "--era" => eras = Eras::read(&value()?)?,
                _ => return Err(format!("`{word}` is not an option")),
            }
        }
        let transport = transport.ok_or("say `--http PORT` or `--stdio`")?;
        Ok(Self { transport, eras })
    }
}

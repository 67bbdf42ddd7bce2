//! An MCP server with every fixture that the MCP conformance suite calls by name.
//!
//! `pegboard-conformance-server (--http PORT | --stdio) [--era both|legacy|modern]`
//!
//! With `--http` it serves Streamable HTTP on 127.0.0.1 (port 0: chosen by the system), prints
//! `listening on URL` and runs until it is killed. With `--stdio` it uses standard input and output and exits
//! when its input closes. Both eras are supported unless `--era` excludes one.
//!
//! A fixture is a step from the client's inputs to an outcome. The eras differ only in how a request for input
//! reaches the client: `modern` returns it as the result, `legacy` sends it and repeats the step.

#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]
#![allow(
    clippy::expect_used,
    reason = "an invalid test setup must stop with a message"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints its address and usage errors"
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
                    let number = port.parse().map_err(|_| format!("invalid port `{port}`"))?;
                    transport = Some(Transport::Http(number));
                }
                "--era" => eras = Eras::read(&value()?)?,
                _ => return Err(format!("unknown option `{word}`")),
            }
        }
        let transport = transport.ok_or("specify `--http PORT` or `--stdio`")?;
        Ok(Self { transport, eras })
    }
}

//! A small built-in MCP server for trying Pegboard without installing anything else.
//!
//! It supports both protocol eras over stdio, stores nothing on disk and uses no network.

mod arguments;
mod protocol;
mod tools;

use std::io::{self, BufRead, Read, Write};

use pegboard_model::Limits;

use self::protocol::Server;

/// Serves requests until the input ends. Each line is one message of the stdio transport.
///
/// # Errors
/// Fails if the input cannot be read or the output cannot be written.
pub(crate) fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    let limit = Limits::default().frame_bytes;
    loop {
        let mut line = Vec::new();
        let room = u64::try_from(limit).unwrap_or(u64::MAX);
        input.by_ref().take(room).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let answer = if line.len() == limit && !line.ends_with(b"\n") {
            skip_line(&mut input)?;
            Some(protocol::too_large(limit))
        } else {
            server.handle_line(&line)
        };
        if let Some(answer) = answer {
            serde_json::to_writer(&mut output, &answer)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;

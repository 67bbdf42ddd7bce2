//! A minimal MCP server over stdio or HTTP, of either era.
//!
//! `mock-server LIST [--http] [--era legacy|modern] [--delay-ms N] [--hang-if|--crash-if|--flood-if FILE]`
//!
//! `LIST` is a JSON file with `tools`. Every call returns a text of 100 characters. If the file of a fault exists
//! at the start, the server is silent, exits at the first message, or writes lines endlessly.

mod responses;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use pegboard_benches::{Reply, serve_http};
use responses::Responses;

fn main() -> io::Result<()> {
    let options = Options::read(std::env::args().skip(1));
    if options.delay_ms > 0 {
        #[expect(clippy::disallowed_methods, reason = "a server that starts slowly")]
        std::thread::sleep(Duration::from_millis(options.delay_ms));
    }
    let present = options.fault.filter(|(_, file)| file.exists());
    let fault = present.map(|(fault, _)| fault);
    let responses = Responses::new(&options.list, options.is_modern)?;
    match fault {
        _ if options.http => http(responses, fault.is_some()),
        Some(Fault::Flood) => flood(),
        Some(Fault::Crash) => crash(),
        Some(Fault::Hang) => stdio(&responses, true),
        None => stdio(&responses, false),
    }
}

/// Ends when the reader closes the pipe.
fn flood() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let line = format!("{}\n", "noise ".repeat(200));
    while out.write_all(line.as_bytes()).is_ok() {}
    Ok(())
}

fn crash() -> io::Result<()> {
    io::stdin().lock().read_until(b'\n', &mut Vec::new())?;
    Err(io::Error::other("ended on purpose"))
}

fn stdio(responses: &Responses, is_silent: bool) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let mut line = Vec::with_capacity(4096);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Reply::Message(message, _) = responses.reply(&line)
            && !is_silent
        {
            let mut message = Vec::from(message);
            message.push(b'\n');
            out.write_all(&message)?;
            out.flush()?;
        }
    }
}

#[tokio::main(worker_threads = 2)]
async fn http(responses: Responses, is_silent: bool) -> io::Result<()> {
    serve_http(move |message| match responses.reply(message) {
        Reply::Message(..) if is_silent => Reply::NoResponse,
        reply => reply,
    })
    .await
}

/// An intentional fault.
#[derive(Clone, Copy)]
enum Fault {
    Hang,
    Crash,
    Flood,
}

#[derive(Default)]
struct Options {
    list: PathBuf,
    http: bool,
    is_modern: bool,
    delay_ms: u64,
    fault: Option<(Fault, PathBuf)>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word.as_str() {
                "--http" => options.http = true,
                "--era" => options.is_modern = value() == "modern",
                "--delay-ms" => options.delay_ms = value().parse().unwrap_or_default(),
                "--hang-if" => options.fault = Some((Fault::Hang, value().into())),
                "--crash-if" => options.fault = Some((Fault::Crash, value().into())),
                "--flood-if" => options.fault = Some((Fault::Flood, value().into())),
                _ => options.list = word.into(),
            }
        }
        options
    }
}

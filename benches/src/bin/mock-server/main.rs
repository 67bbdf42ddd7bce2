//! A server to call: as little as a server of the protocol can do, over stdio or HTTP, of either era.
//!
//! `mock-server LIST [--http] [--era legacy|modern] [--delay-ms N] [--hang-if FILE]`
//!
//! `LIST` is a JSON file with `tools`. Every call answers a text of 100 letters. With `--hang-if` it is silent
//! while that file is there.

mod answers;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use answers::Answers;
use pegboard_benches::{Reply, serve_http};

fn main() -> io::Result<()> {
    let options = Options::read(std::env::args().skip(1));
    if options.delay_ms > 0 {
        #[expect(
            clippy::disallowed_methods,
            reason = "a server that takes its time to start"
        )]
        std::thread::sleep(Duration::from_millis(options.delay_ms));
    }
    let is_silent = options.hang_if.as_ref().is_some_and(|file| file.exists());
    let answers = Answers::new(&options.list, options.is_modern)?;
    if options.http {
        return http(answers, is_silent);
    }
    stdio(&answers, is_silent)
}

fn stdio(answers: &Answers, is_silent: bool) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let mut line = Vec::with_capacity(4096);
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Reply::Message(message, _) = answers.reply(&line)
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
async fn http(answers: Answers, is_silent: bool) -> io::Result<()> {
    serve_http(move |message| match answers.reply(message) {
        Reply::Message(..) if is_silent => Reply::Silence,
        reply => reply,
    })
    .await
}

#[derive(Default)]
struct Options {
    list: PathBuf,
    http: bool,
    is_modern: bool,
    delay_ms: u64,
    hang_if: Option<PathBuf>,
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
                "--hang-if" => options.hang_if = Some(value().into()),
                _ => options.list = word.into(),
            }
        }
        options
    }
}

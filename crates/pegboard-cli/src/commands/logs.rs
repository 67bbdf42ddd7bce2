//! `pegboard logs`: prints what servers wrote to their standard error, merged in the order of time.

use std::time::Duration;

use clap::Args;
use pegboard::Configuration;
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, ServerName, Timestamp, UntrustedText};
use pegboard_store::{LogPosition, ServerLogs};
use serde::Serialize;

use super::{
    CommandResult, Global, Output, interrupted, load_config, note_if_empty, reading, server_name,
};
use crate::failure::Failure;
use crate::output::Paint;

/// The interval at which the files are read while following.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The number of lines shown before following, without `-n` and `--since`.
const LINES_BEFORE: usize = 10;

#[derive(Args)]
pub(crate) struct LogsArgs {
    /// The servers [default: all]
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Print new lines as they are written, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only the last lines
    #[arg(long, short = 'n', value_name = "LINES")]
    pub(crate) tail: Option<usize>,
    /// Only lines of the last time, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = pegboard_config::parse_duration)]
    pub(crate) since: Option<Duration>,
}

/// A line of one of the logs.
#[derive(Serialize)]
struct Line {
    server: ServerName,
    /// Milliseconds since 1970; `None` if an older version wrote the line.
    at: Option<Timestamp>,
    text: String,
}

#[derive(Serialize)]
struct Document {
    lines: Vec<Line>,
}

pub(crate) fn run(args: &LogsArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let servers = servers(args, &configuration)?;
    if servers.is_empty() && note_if_empty(&configuration, output) && !output.json {
        return Ok(());
    }
    let mut reader = Reader::new(configuration.logs(), servers);
    let lines = wanted(reader.read(output)?, args);
    if args.follow {
        reader.print(lines, output)?;
        return reading(follow(reader, output));
    }
    if output.json {
        return output.document(&Document { lines });
    }
    if lines.is_empty() {
        output.note(&nothing(&reader, args));
    }
    reader.print(lines, output)
}

fn servers(args: &LogsArgs, configuration: &Configuration) -> Result<Vec<ServerName>, Failure> {
    if args.servers.is_empty() {
        return Ok(configuration.loaded.servers.keys().cloned().collect());
    }
    let mut servers = Vec::new();
    for name in &args.servers {
        let name = server_name(name, configuration)?;
        if !servers.contains(&name) {
            servers.push(name);
        }
    }
    Ok(servers)
}

/// Selects the lines of `--since` and `-n`.
fn wanted(mut lines: Vec<Line>, args: &LogsArgs) -> Vec<Line> {
    if let Some(since) = args.since {
        let now = SystemClock.now();
        lines.retain(|line| line.at.is_some_and(|at| now.since(at) <= since));
    }
    let before = (args.follow && args.since.is_none()).then_some(LINES_BEFORE);
    if let Some(tail) = args.tail.or(before) {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    lines
}

fn nothing(reader: &Reader, args: &LogsArgs) -> String {
    match (reader.logs.as_slice(), args.since) {
        (_, Some(_)) => "nothing was written in this time".to_owned(),
        ([(server, _)], None) => format!("server `{server}` has written nothing yet"),
        _ => "no server has written anything yet".to_owned(),
    }
}

/// Prints new lines until interrupted, which is not a failure.
async fn follow(mut reader: Reader, output: &Output) -> CommandResult {
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let lines = reader.read(output)?;
        reader.print(lines, output)?;
    }
}

/// Reads the logs of several servers.
struct Reader {
    files: ServerLogs,
    logs: Vec<(ServerName, LogPosition)>,
}

impl Reader {
    fn new(files: ServerLogs, servers: Vec<ServerName>) -> Self {
        let logs = servers.into_iter();
        Self {
            files,
            logs: logs
                .map(|server| (server, LogPosition::default()))
                .collect(),
        }
    }

    /// Returns the lines that were not read yet, in the order of time. A line without a time belongs after the line
    /// before it in the same log. One of several logs that cannot be read is reported and left out.
    fn read(&mut self, output: &Output) -> Result<Vec<Line>, Failure> {
        let mut lines = Vec::new();
        let mut unreadable = Vec::new();
        let is_only = self.logs.len() == 1;
        for (server, position) in &mut self.logs {
            let mut order = Timestamp(0);
            let read = match self.files.read_from(server, position) {
                Ok(read) => read,
                Err(error) if is_only => return Err(error.into()),
                Err(error) => {
                    let text = format!("warning: {error}");
                    output.always_note(&output.paint(Paint::Warn, &text));
                    unreadable.push(server.clone());
                    continue;
                }
            };
            for line in read {
                order = line.at.unwrap_or(order);
                let line = Line {
                    server: server.clone(),
                    at: line.at,
                    text: line.text,
                };
                lines.push((order, line));
            }
        }
        self.logs.retain(|(server, _)| !unreadable.contains(server));
        lines.sort_by_key(|(order, _)| order.0);
        Ok(lines.into_iter().map(|(_, line)| line).collect())
    }

    fn print(&self, lines: Vec<Line>, output: &Output) -> CommandResult {
        let names = self.logs.iter().map(|(server, _)| server.as_str().len());
        let width = names.max().unwrap_or(0);
        for line in lines {
            if output.json {
                output.json_line(&serde_json::to_string(&line).unwrap_or_default())?;
                continue;
            }
            let time = line.at.map_or(String::new(), local_time);
            let time = output.paint(Paint::Dim, &format!("{time:<19}"));
            let text = UntrustedText::new(&line.text).to_string();
            if self.logs.len() == 1 {
                output.line(&format!("{time}  {text}"))?;
                continue;
            }
            let name = format!("{:<width$}", line.server.as_str());
            let number = self.logs.iter().position(|(name, _)| *name == line.server);
            let name = output.paint_name(number.unwrap_or(0), &name);
            output.line(&format!("{time}  {name}  {text}"))?;
        }
        Ok(())
    }
}

/// Formats a time in the zone of the user.
fn local_time(at: Timestamp) -> String {
    let at = i64::try_from(at.0).ok();
    let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map_or(String::new(), |at| {
        let local = at.to_zoned(jiff::tz::TimeZone::system());
        local.strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}

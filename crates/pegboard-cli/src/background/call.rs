//! One call of a command through the running process, whose servers are running already.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pegboard::Configuration;
use pegboard_background::{
    CALLS_PROTOCOL, CallCommand, CallMessage, CallStart, PromptAnswer, Reply, Request, connect,
    find_process, read_message, write_message,
};
use pegboard_hub::PromptResponse;
use pegboard_model::{Reason, ToolError};

use super::bridge::{hello, wanted};
use super::reason_to_stay_alone;
use super::views::wanted_variables;
use crate::args::Global;
use crate::commands::call::{CallArgs, prompt_for_approval};
use crate::commands::{interrupted, serving};
use crate::failure::Failure;
use crate::output::Output;
use crate::prompts::can_ask;

/// How long the process may take to accept the command. A frozen one is not waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// How many replies precede the acceptance.
const REPLIES_MAX: usize = 4;

/// A call that the process has completed.
pub(crate) struct SharedCall {
    /// The server's result, as JSON text.
    pub(crate) result: String,
    pub(crate) is_error: bool,
    /// Notes that follow the result.
    pub(crate) notes: Vec<String>,
}

/// Runs the call in the running process. Returns `None` if there is no process that can do it; nothing was called then.
///
/// # Errors
/// Fails if the call fails, or if the process ends meanwhile.
pub(crate) fn call(
    args: &CallArgs,
    global: &Global,
    configuration: &Configuration,
    output: &Output,
) -> Result<Option<SharedCall>, Failure> {
    let environment = &configuration.environment;
    if reason_to_stay_alone(environment).is_some() {
        return Ok(None);
    }
    let state = configuration.state.path();
    let process = find_process(state);
    if process.is_none_or(|process| !process.protocols.contains(&CALLS_PROTOCOL)) {
        return Ok(None);
    }
    let Ok(Some(mut stream)) = connect(state) else {
        return Ok(None);
    };
    let command = CallCommand {
        hello: hello(global, environment, ""),
        tool: args.tool.clone(),
        arguments: args.arguments.clone(),
        object: args.args.clone(),
        can_ask: args.yes || can_ask(),
    };
    let is_accepted = is_accepted(&mut stream, command, configuration);
    crate::hide_memory();
    if !is_accepted.unwrap_or(false) {
        return Ok(None);
    }
    let (yes, output) = (args.yes, output.clone());
    serving(async move {
        let (sender, done) = tokio::sync::oneshot::channel();
        // On its own thread, because prompts and the socket block.
        let following = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(follow(&mut stream, yes, &output));
        });
        if following.is_err() {
            return Err(ended().into());
        }
        tokio::select! {
            done = done => done.unwrap_or_else(|_| Err(ended().into())).map(Some),
            // The process cancels the call when the connection ends with this program.
            () = interrupted() => Err(ToolError::new(Reason::Cancelled, "interrupted").into()),
        }
    })
}

/// Sends the call. Returns whether the process runs it.
fn is_accepted(
    stream: &mut UnixStream,
    command: CallCommand,
    configuration: &Configuration,
) -> io::Result<bool> {
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
    write_message(stream, &Request::Call(Box::new(command)))?;
    for _ in 0..REPLIES_MAX {
        match read_message(stream)? {
            // The notes are those of the configuration, which this program has read and reported itself.
            Reply::Serving { .. } => {
                stream.set_read_timeout(None)?;
                // From here on the process may have called, so this program must not.
                write_message(stream, &CallStart {})?;
                return Ok(true);
            }
            Reply::Variables {
                names,
                prefixes,
                suffixes,
            } => {
                let wanted = wanted(&names, &prefixes, &suffixes);
                let values = wanted_variables(&configuration.environment, wanted);
                write_message(stream, &values)?;
            }
            _ => break,
        }
    }
    Ok(false)
}

/// Shows prompts and notes until the call is complete.
fn follow(stream: &mut UnixStream, yes: bool, output: &Output) -> Result<SharedCall, Failure> {
    loop {
        match read_message(stream).map_err(|_| ended())? {
            CallMessage::Note { text } => output.note(&text),
            CallMessage::Ask { text, tool } => {
                let answer = match yes {
                    true => PromptResponse::Allow,
                    false => prompt_for_approval(&text, &tool),
                };
                let answer = match answer {
                    PromptResponse::Allow => PromptAnswer::Allow,
                    PromptResponse::AllowAlways => PromptAnswer::AllowAlways,
                    PromptResponse::Refuse => PromptAnswer::Refuse,
                    _ => PromptAnswer::Unavailable,
                };
                write_message(stream, &answer).map_err(|_| ended())?;
            }
            CallMessage::Result {
                bytes,
                is_error,
                notes,
            } => {
                let result = read_result(stream, bytes).map_err(|_| ended())?;
                return Ok(SharedCall {
                    result,
                    is_error,
                    notes,
                });
            }
            CallMessage::Failed { error } => {
                let error = serde_json::from_value::<ToolError>(error);
                return Err(error.unwrap_or_else(|_| ended()).into());
            }
            CallMessage::Unknown => {}
        }
    }
}

fn read_result(stream: &mut UnixStream, bytes: u64) -> io::Result<String> {
    let mut result = String::new();
    let read = stream.take(bytes).read_to_string(&mut result)?;
    match u64::try_from(read) {
        Ok(read) if read == bytes => Ok(result),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The error if the process ended, or replied with something else, after the call was sent.
fn ended() -> ToolError {
    ToolError::new(Reason::ProcessEnded, Reason::ProcessEnded.title())
}

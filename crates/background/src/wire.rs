//! The messages between a bridge and the background process.
//!
//! Each message is a length in four bytes, little-endian, followed by JSON. A bridge's first message carries two
//! descriptors: the end of a pipe from which the process reads the client's messages, and the end of a pipe into which
//! it writes its own. Members may be added to messages; their meaning never changes, so that an old bridge works with a
//! new process and the reverse.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::status::ProcessStatus;

/// The protocol numbers that this program speaks, the preferred one first. A number that was released stays here, so
/// that a running bridge works with a newer process and the reverse.
pub const PROTOCOLS: &[u32] = &[CALLS_PROTOCOL, 1];

/// The protocol number since which the process runs single calls of commands.
pub const CALLS_PROTOCOL: u32 = 2;

/// Maximum size of a message. Environment variables may be long.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The first message on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Serve a client. Two descriptors follow.
    Serve(Box<Hello>),
    /// Call one tool for a command. The process replies with [`Reply::Serving`], the command confirms with
    /// [`CallStart`], and [`CallMessage`]s follow.
    Call(Box<CallCommand>),
    /// Report the clients and servers of the process.
    Status,
    /// End the process: open requests get a short time, clients serve themselves or start another process.
    Stop,
    /// Make room for another process, to which the clients move.
    Retire,
}

/// What a bridge reports about its client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol numbers that the bridge speaks.
    pub protocols: Vec<u32>,
    /// The version and commit of the bridge's program.
    #[serde(default)]
    pub build: String,
    /// The folder that the bridge was started in.
    pub folder: PathBuf,
    /// The home folder of the bridge.
    #[serde(default)]
    pub home: PathBuf,
    /// The folder of the user's config file.
    #[serde(default)]
    pub config_dir: PathBuf,
    /// `--config`.
    #[serde(default)]
    pub config: Option<PathBuf>,
    /// `--project`.
    #[serde(default)]
    pub project: Option<PathBuf>,
    /// `--strict`.
    #[serde(default)]
    pub strict: bool,
    /// `--profile`; empty for the default profile.
    #[serde(default)]
    pub profile: String,
    /// The session to continue after the former process ended.
    #[serde(default)]
    pub resume: Option<Resume>,
}

/// A session that a bridge continues with another process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The sealed session id, which contains the result of the client's handshake.
    pub token: String,
    /// The client's last `logging/setLevel`.
    #[serde(default)]
    pub level: Option<String>,
    /// The resources that the client has subscribed to.
    #[serde(default)]
    pub subscriptions: Vec<String>,
}

/// One call of a tool by a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCommand {
    /// Who calls. The profile is not used: a command sees every server.
    pub hello: Hello,
    /// The tool, as the user wrote it.
    pub tool: String,
    /// The arguments as `key=value`, `key:=json` or JSON objects.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// All arguments as one JSON object.
    #[serde(default)]
    pub object: Option<String>,
    /// Whether the command can ask a person for approval.
    #[serde(default)]
    pub can_ask: bool,
}

/// What the process sends while it runs a [`CallCommand`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum CallMessage {
    /// A note for the user.
    Note {
        /// The text.
        text: String,
    },
    /// A person must approve the call. The command sends a [`PromptAnswer`].
    Ask {
        /// What to ask, with deceptive characters escaped.
        text: String,
        /// The tool's exposed name.
        tool: String,
    },
    /// The call is complete. The server's result follows the message: JSON text, byte for byte.
    Result {
        /// The number of bytes that follow.
        bytes: u64,
        /// Whether the tool reported an error.
        is_error: bool,
        /// Notes that follow the result.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// The call failed.
    Failed {
        /// The error, as the program's error type.
        error: serde_json::Value,
    },
    /// A message of a later protocol, which is ignored.
    #[serde(other)]
    Unknown,
}

/// The command's confirmation that the process may run the call. Without it the command runs the call itself, so a
/// reply that arrives too late never leads to two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStart {}

/// A person's answer to [`CallMessage::Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PromptAnswer {
    /// Run this call.
    Allow,
    /// Run this call and those of this version of the tool from now on.
    AllowAlways,
    /// Do not run the call.
    Refuse,
    /// There was no way to ask.
    #[serde(other)]
    Unavailable,
}

/// The response of the process to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The process needs these environment variables of the bridge first.
    Variables {
        /// Their names.
        names: Vec<String>,
        /// Prefixes of further names, for example `UV_`.
        #[serde(default)]
        prefixes: Vec<String>,
        /// Suffixes of further names, for example `_MCP_URL`.
        #[serde(default)]
        suffixes: Vec<String>,
    },
    /// The process serves the client.
    Serving {
        /// The protocol number in use.
        protocol: u32,
        /// Notes for the user, for example problems in config files.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// Another process takes over; the bridge connects again.
    Retry,
    /// The bridge must serve its client by itself.
    Alone {
        /// Why, for the log.
        reason: String,
    },
    /// The clients and servers of the process.
    Status {
        /// The report.
        status: Box<ProcessStatus>,
    },
    /// The process is ending.
    Stopping,
}

/// The environment variables that the process asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    /// The values of those that are set.
    pub values: BTreeMap<String, String>,
}

/// What the process sends while it serves a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "snake_case")]
pub enum ControlMessage {
    /// The handshake is complete. With this token another process can continue the session.
    Session {
        /// The sealed session id.
        token: String,
    },
    /// The process retires: as soon as no request is open, the bridge closes its pipe and connects to the successor.
    Move,
    /// A message of a later protocol, which is ignored.
    #[serde(other)]
    Unknown,
}

/// Returns the preferred protocol number that this program and the other side speak.
pub fn common_protocol(others: &[u32]) -> Option<u32> {
    let mut own = PROTOCOLS.iter().copied();
    own.find(|number| others.contains(number))
}

/// Sends a bridge's first message together with the two descriptors.
///
/// # Errors
/// Fails if the message cannot be sent.
pub fn send_hello(
    stream: &mut UnixStream,
    hello: Hello,
    descriptors: [BorrowedFd<'_>; 2],
) -> io::Result<()> {
    let frame = encode(&Request::Serve(Box::new(hello)))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(
        &*stream,
        &[IoSlice::new(&frame)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    // The descriptors have been sent with the first byte.
    stream.write_all(frame.get(sent..).unwrap_or_default())
}

/// Receives the first message on a connection, and its descriptors if there are two.
///
/// # Errors
/// Fails if the other side ends or sends something else.
pub fn receive_request(stream: &mut UnixStream) -> io::Result<(Request, Option<[OwnedFd; 2]>)> {
    let mut length = [0; 4];
    // More than two descriptors are received and closed, not left in the socket.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut parts = [IoSliceMut::new(&mut length)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        recvmsg(stream.as_fd(), &mut parts, &mut ancillary, flags)?.bytes
    };
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    stream.read_exact(length.get_mut(received..).unwrap_or_default())?;
    let request = read_body(stream, length)?;
    Ok((request, <[OwnedFd; 2]>::try_from(descriptors).ok()))
}

/// Sends a message.
///
/// # Errors
/// Fails if the message cannot be sent.
pub fn write_message(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&encode(message)?)
}

/// Receives a message.
///
/// # Errors
/// Fails if the other side ends or sends something else.
pub fn read_message<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    read_body(stream, length)
}

/// Returns the bytes of a message: its length and its JSON.
///
/// # Errors
/// Fails if the message is too large.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok();
    let length = length.filter(|_| body.len() <= MESSAGE_BYTES);
    let length = length.ok_or_else(|| invalid("the message is too large"))?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&body);
    Ok(frame)
}

fn read_body<T: DeserializeOwned>(stream: &mut impl Read, length: [u8; 4]) -> io::Result<T> {
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MESSAGE_BYTES {
        return Err(invalid("the message is too large"));
    }
    let mut body = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut body)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&body)?)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn hello() -> Hello {
        Hello {
            protocols: PROTOCOLS.to_vec(),
            folder: "/code".into(),
            ..Hello::default()
        }
    }

    #[test]
    fn r_share_01_a_hello_passes_the_pipes() {
        let (mut bridge, mut process) = UnixStream::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        send_hello(&mut bridge, hello(), [read.as_fd(), write.as_fd()]).unwrap();
        let (received, descriptors) = receive_request(&mut process).unwrap();
        assert_eq!(received, Request::Serve(Box::new(hello())));
        let [input, output] = descriptors.unwrap();
        drop((read, write));
        File::from(output).write_all(b"through the pipe").unwrap();
        let mut text = String::new();
        File::from(input).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through the pipe");
    }

    #[test]
    fn r_share_01_messages_of_a_wrong_size_are_refused() {
        let (mut bridge, mut process) = UnixStream::pair().unwrap();
        write_message(&mut bridge, &Request::Status).unwrap();
        let (request, descriptors) = receive_request(&mut process).unwrap();
        assert_eq!(request, Request::Status);
        assert!(descriptors.is_none());
        bridge.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(receive_request(&mut process).is_err());
        let (mut bridge, mut process) = UnixStream::pair().unwrap();
        bridge.write_all(&[9, 0, 0, 0, b'{']).unwrap();
        drop(bridge);
        assert!(read_message::<Hello>(&mut process).is_err());
    }

    #[test]
    fn r_share_04_the_preferred_number_that_both_sides_speak_is_used() {
        assert_eq!(common_protocol(&[1]), Some(1), "an old bridge");
        assert_eq!(common_protocol(&[3, 2, 1]), Some(2), "a newer bridge");
        assert_eq!(common_protocol(PROTOCOLS), PROTOCOLS.first().copied());
        assert_eq!(common_protocol(&[9]), None);
        assert_eq!(common_protocol(&[]), None);
    }

    #[test]
    fn r_share_04_later_members_and_messages_are_accepted() {
        let text = r#"{"protocols":[1,2],"folder":"/x","new_member":{"a":1}}"#;
        let hello: Hello = serde_json::from_str(text).unwrap();
        assert_eq!(hello.protocols, [1, 2]);
        let text = r#"{"control":"of a later version","data":5}"#;
        let message: ControlMessage = serde_json::from_str(text).unwrap();
        assert_eq!(message, ControlMessage::Unknown);
        let text = r#"{"reply":"variables","names":["PATH"]}"#;
        let reply: Reply = serde_json::from_str(text).unwrap();
        let expected = Reply::Variables {
            names: vec!["PATH".to_owned()],
            prefixes: Vec::new(),
            suffixes: Vec::new(),
        };
        assert_eq!(reply, expected);
    }
}

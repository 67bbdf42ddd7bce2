//! The program while it runs: hot reload, signals, servers that misbehave or die.

mod escapes;
mod every_path;
mod hot_reload;
mod misbehaving;
mod old_sse;
mod restart;
mod serving;
mod shared;
mod signals;
mod status;
mod stdio;

pub(crate) use restart::{call, pid_of};

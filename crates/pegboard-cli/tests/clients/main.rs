//! The gateway with real clients: the official SDKs and the inspector, of both eras, over stdio and HTTP,
//! and real servers of both eras. Each test runs a small client program as a child process and checks what
//! it received. `scripts/install-test-env` installs what they need into the directory that `PEGBOARD_TEST_ENV` names;
//! without it each test is skipped with a message.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

mod changes;
mod inspector;
mod machine;
mod one_process;
mod program;
mod restart;
mod tour;
